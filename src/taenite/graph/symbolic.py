"""Shapes by what they are computed from: the dimensions of every register in terms of those of the inputs.

Dimensions that must be equal are one: a program serves only sizes at which every elementwise call broadcasts
the axes that it broadcast while tracing, contracted axes match, and guards hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from taenite.graph.ir import Graph, Guard, Instruction, SizeExpr, Type
from taenite.graph.primitives import ELEMENTWISE
from taenite.graph.rewrite import RenumberedSizes

Shape = tuple[int, ...]  # positions in a table of sizes


class SymbolicShapes(RenumberedSizes):
    """The shapes of the registers that a sweep over the instructions has come to."""

    def __init__(self, graph: Graph, types: list[Type], renamed: dict[int, int]) -> None:
        super().__init__(graph)
        self.types, self.renamed = types, renamed
        self.known: dict[int, Shape] = {}
        self._equal: dict[int, int] = {}  # a size and another one, earlier or a number, that is equal to it
        self._guarded = deque(sorted(_equalities(graph), key=max))

    def of(self, r: int) -> Shape:
        """The shape of a register."""
        known = self.known.get(r)
        if known is None:
            dims, sizes = enumerate(self.types[r].shape), self.sizes
            constant = r in self.graph.constants
            known = tuple([sizes.number(d) if constant else sizes.add("dim", r, k, d) for k, d in dims])
            self.known[r] = known
        return self.canonical(known)

    def note(self, i: Instruction) -> Shape | None:
        """The shape of the first output, which is noted, unless only running the instruction tells it."""
        shape = self._elementwise(i) if i.primitive in ELEMENTWISE else None
        if shape is None and (rule := _RULES.get(i.primitive)):
            shape = rule(self, i)
        if shape is not None:
            self.known[i.outputs[0]] = shape
        if j := _LIKE_THE_MATRIX.get(i.primitive):
            self.known[i.outputs[j]] = self.of(i.inputs[0])
        return shape

    def _elementwise(self, i: Instruction) -> Shape:
        shapes = {self.of(r) for r in i.inputs if self.types[r].shape}
        return shapes.pop() if len(shapes) == 1 else self._broadcast(i)

    def _broadcast(self, i: Instruction) -> Shape:
        """That of all operands along axes on which they are not broadcast."""
        found = []
        shape = self.types[i.outputs[0]].shape
        for k, d in enumerate(shape, -len(shape)):
            having = [r for r in i.inputs if -k <= self.types[r].ndim and self.types[r].shape[k] == d]
            first, *others = [self.of(r)[k] for r in having]
            for s in others:
                self.equate(first, s)
            found.append(self.find(first))
        return tuple(found)

    # ---- sizes

    def dim(self, e: SizeExpr) -> int:
        return self.of(self.renamed.get(e.a, e.a))[e.b]

    def place_next(self) -> None:
        super().place_next()
        while self._guarded and max(self._guarded[0]) < len(self._position):
            a, b = self._guarded.popleft()
            self.equate(self._position[a], self._position[b])

    def canonical(self, shape: Shape) -> Shape:
        """Sizes by those that stand for them."""
        return shape if self._equal.keys().isdisjoint(shape) else tuple(map(self.find, shape))

    def find(self, s: int) -> int:
        root = s
        while root in self._equal:
            root = self._equal[root]
        if root != s:
            self._equal[s] = root
        return root

    def equate(self, a: int, b: int) -> None:
        """From now on both are the one that is a number, or was there first, when its registers were."""
        a, b = self.find(a), self.find(b)
        if a != b:
            later, first = (a, b) if self._comes_after(a, b) else (b, a)
            self._equal[later] = first

    def _comes_after(self, a: int, b: int) -> bool:
        return (not self.is_number(a), a) > (not self.is_number(b), b)

    def is_number(self, s: int, *of: int) -> bool:
        """Whether a size is known, and one of these."""
        e = self.sizes.table[s]
        return e.op == "const" and (not of or e.a in of)

    def guards(self) -> tuple[Guard, ...]:
        """Those of the graph that could turn out otherwise, each once."""
        return tuple(dict.fromkeys(g for g in super().guards() if self._is_open(g)))

    def _is_open(self, g: Guard) -> bool:
        return g.lhs != g.rhs and not (self.is_number(g.lhs) and self.is_number(g.rhs))


def _equalities(graph: Graph) -> list[tuple[int, int]]:
    """Sizes of the graph that its guards say are equal."""
    return [(g.lhs, g.rhs) for g in graph.guards if g.relation == "eq" and g.holds]


# ---- the shape of the first output


def _same(operand: int) -> Callable[[SymbolicShapes, Instruction], Shape | None]:
    return lambda shapes, i: shapes.of(i.inputs[operand])


def _given(shapes: SymbolicShapes, i: Instruction) -> Shape | None:
    """The sizes of the call, unless one of them is to be found out."""
    return None if any(shapes.is_number(s, -1) for s in i.sizes) else i.sizes


def _transposed(shapes: SymbolicShapes, i: Instruction) -> Shape | None:
    shape = shapes.of(i.inputs[0])
    return tuple([shape[p] for p in i.attrs[0]])


def _reduced(shapes: SymbolicShapes, i: Instruction) -> Shape | None:
    return without(shapes.of(i.inputs[0]), i.attrs[0])


def without(shape: Shape, axes: Sequence[int]) -> Shape:
    """The sizes of the other axes."""
    return tuple([s for k, s in enumerate(shape) if k not in axes])


def _sliced(shapes: SymbolicShapes, i: Instruction) -> Shape | None:
    return without(i.sizes[1::3], i.attrs[0])


def _scattered(shapes: SymbolicShapes, i: Instruction) -> Shape | None:
    return i.sizes[: len(i.sizes) // 4]


def _contracted(shapes: SymbolicShapes, i: Instruction) -> Shape | None:
    a, b = (shapes.of(r) for r in i.inputs)
    contract_a, contract_b, batch_a, batch_b = i.attrs[:4]
    for k, m in zip(contract_a + batch_a, contract_b + batch_b, strict=True):
        shapes.equate(a[k], b[m])
    batch = tuple([a[k] for k in batch_a])
    return batch + without(a, contract_a + batch_a) + without(b, contract_b + batch_b)


def _leading(dropped: int) -> Callable[[SymbolicShapes, Instruction], Shape | None]:
    """All axes of the operand but the last ones."""
    return lambda shapes, i: shapes.of(i.inputs[0])[:-dropped]


# The output, not the first, that has the shape of the first operand: factors, eigenvectors.
_LIKE_THE_MATRIX = {"eigh": 1, "solve": 1, "solve_pos": 1, "det": 1, "slogdet": 2}

_RULES: dict[str, Callable[[SymbolicShapes, Instruction], Shape | None]] = {
    **dict.fromkeys(
        ("reshape", "broadcast_in_dim", "sum_to", "full", "empty", "eye", "diagonal_scatter"), _given
    ),
    **dict.fromkeys(("sum", "prod", "max", "min", "any", "all", "argmax", "argmin"), _reduced),
    **dict.fromkeys(
        ("cholesky", "inv", "inv_with", "hermitian_part", "half_triangle", "stop_gradient"), _same(0)
    ),
    **dict.fromkeys(("tril", "triu", "shift", "slice_update", "cofactor", "cofactor_derivative"), _same(0)),
    **dict.fromkeys(("solve", "solve_triangular", "solve_pos", "linear_scan"), _same(1)),
    **dict.fromkeys(("solve_pos_with",), _same(2)),
    **dict.fromkeys(("solve_with",), _same(3)),
    **dict.fromkeys(("det", "slogdet"), _leading(2)),
    "eigh": _leading(1),
    "lu_factor": _same(0),
    "transpose": _transposed,
    "slice": _sliced,
    "slice_scatter": _scattered,
    "dot_general": _contracted,
}
