"""What passes share: sizes by structure, registers that stand for others, changed instructions."""

from __future__ import annotations

from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.graph.ir import Graph, Guard, Instruction, SizeExpr
from taenite.graph.primitives import EFFECTS

VIEWS = frozenset(
    ("transpose", "broadcast_in_dim", "slice", "reshape", "diagonal", "sum_to", "real", "imag", "conj",
     "floor", "ceil", "trunc", "round", "stop_gradient", "cond")
)  # fmt: skip
"""What may give a view of its operand."""


def has_effect(i: Instruction) -> bool:
    """Whether it must run even if nobody reads what it computes."""
    return i.primitive in EFFECTS or any(
        has_effect(inside) for _, graph in i.branches for inside in graph.instructions
    )


def exposed(graph: Graph) -> set[int]:
    """Outputs, and what they are views of: storage that the caller gets, and may write to."""
    found = set(graph.outputs)
    for i in reversed(graph.instructions):
        if i.primitive in VIEWS and not found.isdisjoint(i.outputs):
            found.update(i.inputs)
    return found


def is_symbolic(value: Tensor) -> bool:
    """Whether a transform sees this constant: tracked, dual or traced."""
    return _core.is_wrapped(value) or _core.is_traced(value)


class Sizes:
    """A table of sizes in which equal expressions are one, and those of numbers are numbers."""

    def __init__(self) -> None:
        self.table: list[SizeExpr] = []
        self._known: dict[tuple[str, int, int], int] = {}

    def number(self, n: int) -> int:
        return self.add("const", n, 0, n)

    def compute(self, op: str, a: int, b: int, value: int) -> int:
        """The sum, product and so on of two sizes of the table."""
        x, y = self.table[a], self.table[b]
        if x.op == y.op == "const":
            return self.number(value)
        neutral = 1 if op == "mul" else 0
        if op in ("add", "sub", "mul") and y.op == "const" and y.a == neutral:
            return a
        return b if op in ("add", "mul") and x.op == "const" and x.a == neutral else self.add(op, a, b, value)

    def add(self, op: str, a: int, b: int, value: int) -> int:
        """The position of an expression."""
        known = self._known.setdefault((op, a, b), len(self.table))
        if known == len(self.table):
            self.table.append(SizeExpr(op, a, b, value))
        return known


class RenumberedSizes:
    """The sizes of a graph as positions in a table of `Sizes`, as far as a sweep over it has come."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sizes = Sizes()
        self._position: list[int] = []

    def dim(self, e: SizeExpr) -> int:
        """The position of a dimension of a register."""
        raise NotImplementedError

    def find(self, s: int) -> int:
        """The position that stands for this one."""
        return s

    def place_next(self) -> None:
        e = self.graph.sizes[len(self._position)]
        if e.op == "dim":
            found = self.dim(e)
        elif e.op == "const":
            found = self.sizes.number(e.a)
        else:
            a, b = self.find(self._position[e.a]), self.find(self._position[e.b])
            found = self.sizes.compute(e.op, a, b, e.value)
        self._position.append(found)

    def advance(self, end: int) -> None:
        while len(self._position) < end:
            self.place_next()

    def numbers(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Sizes of the graph as those of the table."""
        self.advance(max(sizes) + 1)
        return tuple([self.find(self._position[s]) for s in sizes])

    def guards(self) -> tuple[Guard, ...]:
        """Those of the graph."""
        self.advance(len(self.graph.sizes))
        at = self._position
        return tuple([Guard(g.relation, at[g.lhs], at[g.rhs], g.holds) for g in self.graph.guards])


def dims_of_sizes(graph: Graph) -> list[frozenset[int]]:
    """For each size, the registers whose dimensions it reads."""
    found: list[frozenset[int]] = []
    for e in graph.sizes:
        if e.op == "dim":
            found.append(frozenset((e.a,)))
        else:
            found.append(frozenset() if e.op == "const" else found[e.a] | found[e.b])
    return found


def with_inputs(i: Instruction, inputs: tuple[int, ...]) -> Instruction:
    return Instruction(i.primitive, i.attrs, inputs, i.sizes, i.outputs, i.mask, i.source, i.branches)


def with_mask(i: Instruction, mask: int) -> Instruction:
    return Instruction(i.primitive, i.attrs, i.inputs, i.sizes, i.outputs, mask, i.source, i.branches)


def with_sizes(i: Instruction, sizes: tuple[int, ...]) -> Instruction:
    return Instruction(i.primitive, i.attrs, i.inputs, sizes, i.outputs, i.mask, i.source, i.branches)


def resolve(i: Instruction, renamed: dict[int, int]) -> Instruction:
    """The instruction with registers that others stand for replaced among its operands."""
    if renamed.keys().isdisjoint(i.inputs):
        return i
    return with_inputs(i, tuple([renamed.get(r, r) for r in i.inputs]))


def rebuild(graph: Graph, instructions: list[Instruction], renamed: dict[int, int], **changes: Any) -> Graph:
    """The graph with other instructions, without groups; sizes and outputs name what stands for them."""
    if renamed:
        changes["outputs"] = tuple([renamed.get(r, r) for r in graph.outputs])
        sizes = changes.get("sizes", graph.sizes)
        changes["sizes"] = tuple([_renamed_size(e, renamed) for e in sizes])
    return graph.with_instructions(tuple(instructions), groups=(), **changes)


def _renamed_size(e: SizeExpr, renamed: dict[int, int]) -> SizeExpr:
    return SizeExpr("dim", renamed[e.a], e.b, e.value) if e.op == "dim" and e.a in renamed else e


def keep_sizes(
    instructions: list[Instruction], guards: tuple[Guard, ...], table: tuple[SizeExpr, ...]
) -> Any:
    """Instructions, guards and table without the sizes that nobody reads."""
    wanted = {s for i in instructions for s in i.sizes} | {s for g in guards for s in (g.lhs, g.rhs)}
    for s in range(len(table) - 1, -1, -1):
        if s in wanted and table[s].op not in ("const", "dim"):
            wanted.update((table[s].a, table[s].b))
    if len(wanted) == len(table):
        return instructions, guards, table
    number = {s: k for k, s in enumerate(sorted(wanted))}
    kept = tuple(_renumbered(table[s], number) for s in number)
    instructions = [
        with_sizes(i, tuple([number[s] for s in i.sizes])) if i.sizes else i for i in instructions
    ]
    guards = tuple(Guard(g.relation, number[g.lhs], number[g.rhs], g.holds) for g in guards)
    return instructions, guards, kept


def _renumbered(e: SizeExpr, number: dict[int, int]) -> SizeExpr:
    return e if e.op in ("const", "dim") else SizeExpr(e.op, number[e.a], number[e.b], e.value)
