"""Shapes by what they are computed from: sizes in terms of inputs, and what changes no shape is dropped.

A dimension of a register becomes that of an input wherever the primitives in between say so; no instruction
has to run to know it. A scalar that was spread over a shape only to meet a tensor of that shape elementwise
is used as the scalar that it is, and what is computed from such scalars alone is computed once.
"""

from __future__ import annotations

from collections.abc import Callable

from taenite.graph.ir import Graph, Guard, Instruction, Type
from taenite.graph.primitives import ELEMENTWISE
from taenite.graph.rewrite import Sizes, rebuild, resolve, with_inputs, with_sizes

Shape = tuple[int, ...]  # numbers of sizes
_SPREADING = ("broadcast_in_dim", "full")
_RESHAPING = ("broadcast_in_dim", "reshape", "transpose")


def run(graph: Graph) -> Graph:
    sweep = _Sweep(graph)
    for i in graph.instructions:
        sweep.take(resolve(i, sweep.renamed))
    return sweep.finish()


class _Sweep:
    """The instructions so far, and the shapes of their registers as numbers of sizes."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.types = graph, list(graph.types)
        self.outputs = frozenset(graph.outputs)
        self.sizes = Sizes()
        self.number: list[int] = []  # of each size of the graph
        self.shapes: dict[int, Shape] = {}
        self.scalar: dict[int, int] = {}  # what is spread over the shape of a register
        self.renamed: dict[int, int] = {}
        self.kept: list[Instruction] = []

    def shape(self, r: int) -> Shape:
        known = self.shapes.get(r)
        if known is None:
            dims, constant = enumerate(self.types[r].shape), r in self.graph.constants
            add = self.sizes.add
            known = tuple([add("const", d, 0, d) if constant else add("dim", r, k, d) for k, d in dims])
            self.shapes[r] = known
        return known

    def numbers(self, sizes: Shape) -> Shape:
        self._advance(max(sizes) + 1)
        return tuple([self.number[s] for s in sizes])

    def _advance(self, end: int) -> None:
        for e in self.graph.sizes[len(self.number) : end]:
            if e.op == "dim":
                found = self.shape(self.renamed.get(e.a, e.a))[e.b]
            elif e.op == "const":
                found = self.sizes.add("const", e.a, 0, e.value)
            else:
                found = self.sizes.add(e.op, self.number[e.a], self.number[e.b], e.value)
            self.number.append(found)

    # ---- one instruction

    def take(self, i: Instruction) -> None:
        if i.sizes:
            i = with_sizes(i, self.numbers(i.sizes))
        if i.primitive in ELEMENTWISE:
            self._elementwise(i)
            return
        shapes = _SHAPES.get(i.primitive)
        if shapes and (known := shapes(self, i)) is not None:
            self.shapes[i.outputs[0]] = known
            if i.primitive in _CHANGING and self._changes_nothing(i, known):
                return
            i = self._spread(i, known)
        self.kept.append(i)

    def _changes_nothing(self, i: Instruction, known: Shape) -> bool:
        x, y = i.inputs[0], i.outputs[0]
        if known == self.shape(x):
            self.renamed[y] = x
        return y in self.renamed

    def _spread(self, i: Instruction, known: Shape) -> Instruction:
        """Notes what is a scalar everywhere; what rearranges that spreads the scalar itself."""
        y = i.outputs[0]
        if i.primitive in _SPREADING and not self.types[i.inputs[0]].shape:
            self.scalar[y] = i.inputs[0]
        elif i.primitive in _RESHAPING and i.inputs[0] in self.scalar:
            self.scalar[y] = self.scalar[i.inputs[0]]
            return self._spreading(i, self.scalar[y], known)
        return i

    def _spreading(self, i: Instruction, scalar: int, shape: Shape) -> Instruction:
        """What writes the output of i: a view, but dense where the caller gets it."""
        y = i.outputs
        if y[0] in self.outputs:
            return Instruction("full", (), (scalar,), shape, y, 1, i.source)
        return Instruction("broadcast_in_dim", ((),), (scalar,), shape, y, 1, i.source)

    # ---- elementwise

    def _elementwise(self, i: Instruction) -> None:
        y = i.outputs[0]
        full = {self.shape(r) for r in i.inputs if self.types[r].shape}
        if len(full) <= 1:
            self.shapes[y] = next(iter(full), ())
            if full and not self.scalar.keys().isdisjoint(i.inputs):
                i = self._of_scalars(i, self.shapes[y])
        else:
            self._broadcast(i)
        self.kept.append(i)

    def _broadcast(self, i: Instruction) -> None:
        """The dimensions of the result on which all operands that have them agree."""
        y = i.outputs[0]
        ndim = self.types[y].ndim
        shapes = [self.shape(r) for r in i.inputs]
        found = []
        for k, d in enumerate(self.types[y].shape):
            of_operands = {s[k - ndim + len(s)] for s in shapes if k - ndim + len(s) >= 0}
            agreed = of_operands.pop()
            found.append(self.sizes.add("dim", y, k, d) if of_operands else agreed)
        self.shapes[y] = tuple(found)

    def _of_scalars(self, i: Instruction, shape: Shape) -> Instruction:
        """Operands that are scalars everywhere, as scalars: all of them if another one has the shape."""
        inputs = tuple([self.scalar.get(r, r) for r in i.inputs])
        if any(self.types[r].shape for r in inputs):
            return with_inputs(i, inputs)
        z, y = len(self.types), i.outputs[0]
        self.types.append(Type(self.types[y].dtype, ()))
        self.kept.append(Instruction(i.primitive, i.attrs, inputs, (), (z,), 1, i.source))
        self.scalar[y] = z
        return self._spreading(i, z, shape)

    def finish(self) -> Graph:
        self._advance(len(self.graph.sizes))
        guards = tuple(
            Guard(g.relation, self.number[g.lhs], self.number[g.rhs], g.holds) for g in self.graph.guards
        )
        table = tuple(self.sizes.table)
        types = tuple(self.types)
        return rebuild(self.graph, self.kept, self.renamed, types=types, sizes=table, guards=guards)


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
