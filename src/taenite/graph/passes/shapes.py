"""Shapes by what they are computed from: sizes in terms of inputs, and what changes no shape is dropped.

A dimension of a register becomes that of an input wherever the primitives in between say so; no instruction
has to run to know it. Dimensions that must be equal are one: a program serves only sizes at which every
elementwise call broadcasts the axes that it broadcast while tracing, contracted axes match, and guards hold.

A scalar that was spread over a shape only to meet a tensor of that shape elementwise is used as the scalar
that it is, and what is computed from such scalars alone is computed once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from taenite.graph.ir import Graph, Guard, Instruction, Type
from taenite.graph.primitives import ELEMENTWISE
from taenite.graph.rewrite import Sizes, rebuild, resolve, with_inputs, with_sizes

Shape = tuple[int, ...]  # numbers of sizes
_SPREADING = ("broadcast_in_dim", "full")
_REARRANGING = ("broadcast_in_dim", "reshape", "transpose")


def run(graph: Graph) -> Graph:
    sweep = _Sweep(graph)
    for i in graph.instructions:
        sweep.take(resolve(i, sweep.renamed))
    return sweep.finish()


class _Sweep:
    """The instructions so far, and the shapes of their registers."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.types = graph, list(graph.types)
        self.outputs = frozenset(graph.outputs)
        self.sizes = Sizes()
        self.equal: dict[int, int] = {}  # a size and another, earlier one, or a number, that is equal to it
        self.number: list[int] = []  # of each size of the graph, as far as the sweep has come
        self.guarded = deque(sorted(_equalities(graph), key=max))
        self.shapes: dict[int, Shape] = {}
        self.scalar: dict[int, int] = {}  # what is spread over the shape of a register
        self.renamed: dict[int, int] = {}
        self.kept: list[Instruction] = []

    # ---- sizes

    def shape(self, r: int) -> Shape:
        known = self.shapes.get(r)
        if known is None:
            dims, constant = enumerate(self.types[r].shape), r in self.graph.constants
            add = self.sizes.add
            known = tuple([add("const", d, 0, d) if constant else add("dim", r, k, d) for k, d in dims])
            self.shapes[r] = known
        return self.canonical(known)

    def numbers(self, sizes: Shape) -> Shape:
        """Sizes of the graph as sizes of the sweep."""
        self._advance(max(sizes) + 1)
        return self.canonical(tuple([self.number[s] for s in sizes]))

    def _advance(self, end: int) -> None:
        for e in self.graph.sizes[len(self.number) : end]:
            if e.op == "dim":
                found = self.shape(self.renamed.get(e.a, e.a))[e.b]
            elif e.op == "const":
                found = self.sizes.add("const", e.a, 0, e.value)
            else:
                found = self.sizes.add(
                    e.op, self.find(self.number[e.a]), self.find(self.number[e.b]), e.value
                )
            self.number.append(found)
        while self.guarded and max(self.guarded[0]) < len(self.number):
            a, b = self.guarded.popleft()
            self.equate(self.number[a], self.number[b])

    def find(self, s: int) -> int:
        while s in self.equal:
            s = self.equal[s]
        return s

    def canonical(self, shape: Shape) -> Shape:
        return shape if self.equal.keys().isdisjoint(shape) else tuple(map(self.find, shape))

    def equate(self, a: int, b: int) -> None:
        """From now on both are the one that is a number, or was there first, when its registers were."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return
        later, first = (a, b) if self._comes_after(a, b) else (b, a)
        self.equal[later] = first

    def _comes_after(self, a: int, b: int) -> bool:
        return (self.sizes.table[a].op != "const", a) > (self.sizes.table[b].op != "const", b)

    # ---- one instruction

    def take(self, i: Instruction) -> None:
        if i.sizes:
            i = with_sizes(i, self.numbers(i.sizes))
        if i.primitive in ELEMENTWISE:
            self.kept.append(self._elementwise(i))
            return
        shapes = _SHAPES.get(i.primitive)
        if shapes and (known := shapes(self, i)) is not None:
            self.shapes[i.outputs[0]] = known
            if i.primitive in _CHANGING and known == self.shape(i.inputs[0]):
                self.renamed[i.outputs[0]] = i.inputs[0]
                return
            i = self._spread(i, known)
        self.kept.append(i)

    def _spread(self, i: Instruction, known: Shape) -> Instruction:
        """Notes what is a scalar everywhere; what rearranges that spreads the scalar itself."""
        y = i.outputs[0]
        if i.primitive in _SPREADING and not self.types[i.inputs[0]].shape:
            self.scalar[y] = i.inputs[0]
        elif i.primitive in _REARRANGING and i.inputs[0] in self.scalar:
            self.scalar[y] = self.scalar[i.inputs[0]]
            return self._spreading(i, known)
        return i

    def _spreading(self, i: Instruction, shape: Shape) -> Instruction:
        """What writes the output of i, a scalar everywhere: a view, but dense where the caller gets it."""
        y = i.outputs[0]
        name, attrs = ("full", ()) if y in self.outputs else ("broadcast_in_dim", ((),))
        return Instruction(name, attrs, (self.scalar[y],), shape, i.outputs, 1, i.source)

    # ---- elementwise

    def _elementwise(self, i: Instruction) -> Instruction:
        y = i.outputs[0]
        shapes = {self.shape(r) for r in i.inputs if self.types[r].shape}
        self.shapes[y] = shapes.pop() if len(shapes) == 1 else self._broadcast(i)
        if self.scalar.keys().isdisjoint(i.inputs):
            return i
        scalars = with_inputs(i, tuple([self.scalar.get(r, r) for r in i.inputs]))
        remaining = [self.types[r].shape for r in scalars.inputs]
        if not any(remaining):
            return self._of_scalars(scalars)
        return scalars if self.types[y].shape in remaining else i

    def _broadcast(self, i: Instruction) -> Shape:
        """The shape of the result: that of all operands along axes on which they are not broadcast."""
        found = []
        shape = self.types[i.outputs[0]].shape
        for k, d in enumerate(shape, -len(shape)):
            having = [r for r in i.inputs if -k <= self.types[r].ndim and self.types[r].shape[k] == d]
            first, *others = [self.shape(r)[k] for r in having]
            for s in others:
                self.equate(first, s)
            found.append(self.find(first))
        return tuple(found)

    def _of_scalars(self, i: Instruction) -> Instruction:
        """Computes a scalar, and spreads it."""
        z, y = len(self.types), i.outputs[0]
        if not self.types[y].shape:
            return i
        self.types.append(Type(self.types[y].dtype, ()))
        self.kept.append(Instruction(i.primitive, i.attrs, i.inputs, (), (z,), 1, i.source))
        self.scalar[y] = z
        return self._spreading(i, self.shapes[y])

    def finish(self) -> Graph:
        self._advance(len(self.graph.sizes))
        kept = [with_sizes(i, self.canonical(i.sizes)) if i.sizes else i for i in self.kept]
        number = self.number
        guards = [Guard(g.relation, number[g.lhs], number[g.rhs], g.holds) for g in self.graph.guards]
        changes = {"types": tuple(self.types), "sizes": tuple(self.sizes.table), "guards": tuple(guards)}
        return rebuild(self.graph, kept, self.renamed, **changes)


def _equalities(graph: Graph) -> list[tuple[int, int]]:
    """Sizes of the graph that its guards say are equal."""
    return [(g.lhs, g.rhs) for g in graph.guards if g.relation == "eq" and g.holds]


# ---- the shape of the first output


def _same(operand: int) -> Callable[[_Sweep, Instruction], Shape | None]:
    return lambda sweep, i: sweep.shape(i.inputs[operand])


def _given(sweep: _Sweep, i: Instruction) -> Shape | None:
    """The sizes of the call, unless one of them is to be found out."""
    return i.sizes if all(sweep.sizes.table[s].value >= 0 for s in i.sizes) else None


def _transposed(sweep: _Sweep, i: Instruction) -> Shape | None:
    shape = sweep.shape(i.inputs[0])
    return tuple([shape[p] for p in i.attrs[0]])


def _reduced(sweep: _Sweep, i: Instruction) -> Shape | None:
    return _without(sweep.shape(i.inputs[0]), i.attrs[0])


def _without(shape: Shape, axes: Shape) -> Shape:
    return tuple([s for k, s in enumerate(shape) if k not in axes])


def _sliced(sweep: _Sweep, i: Instruction) -> Shape | None:
    return _without(i.sizes[1::3], i.attrs[0])


def _scattered(sweep: _Sweep, i: Instruction) -> Shape | None:
    return i.sizes[: len(i.sizes) // 4]


def _contracted(sweep: _Sweep, i: Instruction) -> Shape | None:
    a, b = (sweep.shape(r) for r in i.inputs)
    contract_a, contract_b, batch_a, batch_b = i.attrs[:4]
    for k, m in zip(contract_a + batch_a, contract_b + batch_b, strict=True):
        sweep.equate(a[k], b[m])
    batch = tuple([a[k] for k in batch_a])
    return batch + _without(a, contract_a + batch_a) + _without(b, contract_b + batch_b)


_CHANGING = ("reshape", "broadcast_in_dim", "sum_to")
_SHAPES: dict[str, Callable[[_Sweep, Instruction], Shape | None]] = {
    **dict.fromkeys(
        ("reshape", "broadcast_in_dim", "sum_to", "full", "empty", "eye", "diagonal_scatter"), _given
    ),
    **dict.fromkeys(("sum", "prod", "max", "min", "any", "all", "argmax", "argmin"), _reduced),
    **dict.fromkeys(("cholesky", "inv", "inv_with", "hermitian_part", "half_triangle"), _same(0)),
    **dict.fromkeys(("tril", "triu", "shift", "slice_update", "cofactor", "cofactor_derivative"), _same(0)),
    **dict.fromkeys(("solve", "solve_triangular", "solve_pos", "linear_scan"), _same(1)),
    **dict.fromkeys(("solve_pos_with",), _same(2)),
    **dict.fromkeys(("solve_with",), _same(3)),
    "transpose": _transposed,
    "slice": _sliced,
    "slice_scatter": _scattered,
    "dot_general": _contracted,
}
