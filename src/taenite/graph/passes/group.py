"""Groups: elementwise instructions that follow each other, to be run tile by tile.

Members have one shape, and what they read from outside has it too or is a scalar, at all sizes that the
program serves: they are linked by operands that they share. A group may end in reductions of its values to
scalars.

To bring members together, an elementwise instruction moves past others, but past a few only: what it reads
and what it makes would live longer. All other instructions keep their order, effects among them. A group is a
permission: native code looks for neighbours that it can tile itself, and runs them one by one where layouts
do not fit.
"""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heappop, heappush
from itertools import accumulate

from taenite.dtypes import bool_, complex64, complex128, float32, float64
from taenite.graph.ir import Graph, Instruction
from taenite.graph.primitives import ELEMENTWISE
from taenite.graph.rewrite import dims_of_sizes

_DTYPES = frozenset((float32, float64, complex64, complex128, bool_))
_REDUCTIONS = frozenset(("sum", "sum_to", "prod", "max", "min", "any", "all"))
SCALAR = -1  # the key of members without axes
_PATIENCE = 8  # instructions that do not move which a member may pass, either way


def run(graph: Graph) -> Graph:
    schedule = _Schedule(graph)
    for k, key in enumerate(schedule.keys):
        if key is None and k not in schedule.endings:
            schedule.place_fixed(k)
    schedule.place_rest()
    instructions = tuple([graph.instructions[k] for k in schedule.order])
    return graph.with_instructions(instructions, groups=tuple(schedule.groups))


class _Schedule:
    """A new order of the instructions. A member waits until a fixed one needs it, or out of patience; then it
    runs with all others of its shape that can."""

    def __init__(self, graph: Graph) -> None:
        self.keys = _keys(graph)
        self.needs, self.readers = _dependences(graph)
        self.endings = _endings(graph, self.keys, self.needs)
        self.position = self._positions()
        self.waiting = [len(needed) for needed in self.needs]
        self.ready: dict[int, list[int]] = defaultdict(list)
        self.placed = [False] * len(self.keys)
        self.order: list[int] = []
        self.groups: list[tuple[int, int]] = []
        self.unplaced = deque(k for k, key in enumerate(self.keys) if key is not None)
        self.horizon = _PATIENCE
        for k in self.unplaced:
            if not self.waiting[k]:
                self._note_ready(k)

    def _positions(self) -> list[int]:
        """How many fixed instructions are before each."""
        fixed = (key is None and k not in self.endings for k, key in enumerate(self.keys))
        return list(accumulate(fixed, initial=0))

    def place_fixed(self, k: int) -> None:
        self.horizon = self.position[k] + _PATIENCE
        while self.unplaced and self.position[self.unplaced[0]] <= self.position[k] - _PATIENCE:
            self._place_with_needs(self.unplaced.popleft())
        self._place_with_needs(k)

    def place_rest(self) -> None:
        self.horizon = len(self.keys)
        for k in self.unplaced:
            self._place_with_needs(k)

    def _place_with_needs(self, k: int) -> None:
        """Depth first, without recursion: chains are long."""
        stack = [] if self.placed[k] else [(k, iter(self.needs[k]))]
        while stack:
            top, needs = stack[-1]
            for j in needs:
                if not self.placed[j]:
                    stack.append((j, iter(self.needs[j])))
                    break
            else:
                stack.pop()
                if not self.placed[top]:
                    self._place(top)

    def _place(self, k: int) -> None:
        key = self.keys[k]
        if key is None:
            self._append(k)
            self._release(k)
        else:
            self._place_group(key)

    def _append(self, k: int) -> None:
        self.placed[k] = True
        self.order.append(k)

    def _place_group(self, key: int) -> None:
        """Everything of that shape that is ready, or becomes so, and the reductions of it."""
        first, ready, endings = len(self.order), self.ready[key], []
        while ready and self.position[ready[0]] <= self.horizon:
            k = heappop(ready)
            self._append(k)
            endings += self._release(k)
        for k in endings:
            self._append(k)
        if len(self.order) - first >= 2:
            self.groups.append((first, len(self.order)))
        for k in endings:
            self._release(k)

    def _release(self, k: int) -> list[int]:
        """Tells the readers of k that it is placed. The endings among them."""
        endings = []
        for j in self.readers[k]:
            self.waiting[j] -= 1
            if self.waiting[j] == 0:
                if j in self.endings:
                    endings.append(j)
                else:
                    self._note_ready(j)
        return endings

    def _note_ready(self, k: int) -> None:
        if (key := self.keys[k]) is not None:
            heappush(self.ready[key], k)


def _keys(graph: Graph) -> list[int | None]:
    """For each possible member a register, the same one for those whose shapes are always the same."""
    like: dict[int, int] = {}

    def find(r: int) -> int:
        root = r
        while root in like:
            root = like[root]
        if root != r:
            like[r] = root
        return root

    found: list[int | None] = []
    for i in graph.instructions:
        key = None
        if _is_member(graph, i):
            key, *others = {find(r) for r in i.inputs if graph.types[r].shape} or (SCALAR,)
            like.update(dict.fromkeys(others, key))
            if key != SCALAR:
                like[i.outputs[0]] = key
        found.append(key)
    return [None if key is None else find(key) for key in found]


def _is_member(graph: Graph, i: Instruction) -> bool:
    if i.primitive not in ELEMENTWISE:
        return False
    types = graph.types
    out = types[i.outputs[0]]
    if out.dtype not in _DTYPES:
        return False
    for r in i.inputs:
        shape = types[r].shape
        if (shape and shape != out.shape) or types[r].dtype not in _DTYPES:
            return False
    return True


def _dependences(graph: Graph) -> tuple[list[set[int]], list[list[int]]]:
    """For each instruction those that it needs and those that read it; a shape that is read counts."""
    dims = dims_of_sizes(graph)
    makers: dict[int, int] = {}
    needs: list[set[int]] = []
    readers: list[list[int]] = [[] for _ in graph.instructions]
    for k, i in enumerate(graph.instructions):
        read = set(i.inputs).union(*[dims[s] for s in i.sizes]) if i.sizes else i.inputs
        needed = {makers[r] for r in read if r in makers}
        needs.append(needed)
        for j in needed:
            readers[j].append(k)
        makers.update(dict.fromkeys(i.outputs, k))
    return needs, readers


def _endings(graph: Graph, keys: list[int | None], needs: list[set[int]]) -> set[int]:
    """The reductions of a member's value to a scalar of its dtype."""
    found = set()
    for k, i in enumerate(graph.instructions):
        if i.primitive in _REDUCTIONS and len(needs[k]) == 1 and keys[next(iter(needs[k]))] is not None:
            x, y = graph.types[i.inputs[0]], graph.types[i.outputs[0]]
            if x.shape and not y.shape and x.dtype is y.dtype:
                found.add(k)
    return found
