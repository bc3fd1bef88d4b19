"""Shapes by what they are computed from: sizes in terms of inputs, and what changes no shape is dropped.

A dimension of a register becomes that of an input wherever the primitives in between say so; no instruction
has to run to know it. Guards that say nothing go. A sum to a shape becomes a sum over axes.

A scalar that was spread over a shape only to meet a tensor of that shape elementwise is used as the scalar
that it is, and what is computed from such scalars alone is computed once.
"""

from __future__ import annotations

from taenite.graph.ir import Graph, Instruction, Type
from taenite.graph.primitives import ELEMENTWISE
from taenite.graph.rewrite import exposed, rebuild, resolve, with_inputs, with_sizes
from taenite.graph.symbolic import Shape, SymbolicShapes, without

_CHANGING = ("reshape", "broadcast_in_dim", "sum_to", "slice", "slice_scatter")
_SPREADING = ("broadcast_in_dim", "full")
_REARRANGING = ("broadcast_in_dim", "reshape", "transpose")


def run(graph: Graph) -> Graph:
    sweep = _Sweep(graph)
    for i in graph.instructions:
        sweep.take(resolve(i, sweep.renamed))
    return sweep.finish()


class _Sweep:
    """The instructions so far."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.types = graph, list(graph.types)
        self.exposed = exposed(graph)
        self.renamed: dict[int, int] = {}
        self.shapes = SymbolicShapes(graph, self.types, self.renamed)
        self.scalar: dict[int, int] = {}  # what is spread over the shape of a register
        self.sums: dict[int, Instruction] = {}  # to a shape
        self.kept: list[Instruction] = []

    def take(self, i: Instruction) -> None:
        if i.sizes:
            i = with_sizes(i, self.shapes.numbers(i.sizes))
        shape = self.shapes.note(i)
        if i.primitive in ELEMENTWISE:
            i = i if self.scalar.keys().isdisjoint(i.inputs) else self._of_scalars(i)
        elif shape is not None:
            if i.primitive in _CHANGING and self._changes_nothing(i, shape):
                self.renamed[i.outputs[0]] = i.inputs[0]
                return
            i = self._as_sum(self._spread(i, shape), shape)
        self.kept.append(i)

    def _changes_nothing(self, i: Instruction, shape: Shape) -> bool:
        copies = i.primitive == "slice_scatter" and i.outputs[0] in self.exposed
        if shape != self.shapes.of(i.inputs[0]) or copies:
            return False
        cuts = {"slice": i.sizes, "slice_scatter": i.sizes[len(shape) :]}.get(i.primitive, ())
        is_number = self.shapes.is_number
        return all(is_number(s, 0) for s in cuts[::3]) and all(is_number(s, 1) for s in cuts[2::3])

    def finish(self) -> Graph:
        guards = self.shapes.guards()
        canonical = self.shapes.canonical
        kept = [with_sizes(i, canonical(i.sizes)) if i.sizes else i for i in self.kept]
        sizes = tuple(self.shapes.sizes.table)
        return rebuild(self.graph, kept, self.renamed, types=tuple(self.types), sizes=sizes, guards=guards)

    # ---- scalars that are spread

    def _spread(self, i: Instruction, shape: Shape) -> Instruction:
        """Notes what is a scalar everywhere; what rearranges that spreads the scalar itself."""
        y = i.outputs[0]
        if i.primitive in _SPREADING and not self.types[i.inputs[0]].shape:
            self.scalar[y] = i.inputs[0]
        elif i.primitive in _REARRANGING and i.inputs[0] in self.scalar:
            self.scalar[y] = self.scalar[i.inputs[0]]
            return self._spreading(i, shape)
        return i

    def _spreading(self, i: Instruction, shape: Shape) -> Instruction:
        """What writes the output of i, a scalar everywhere: a view, but dense where the caller gets it."""
        y = i.outputs[0]
        name, attrs = ("full", ()) if y in self.exposed else ("broadcast_in_dim", ((),))
        return Instruction(name, attrs, (self.scalar[y],), shape, i.outputs, 1, i.source)

    def _of_scalars(self, i: Instruction) -> Instruction:
        """An elementwise call on the scalars, if another operand has the shape or all are scalars."""
        y = i.outputs[0]
        scalars = with_inputs(i, tuple([self.scalar.get(r, r) for r in i.inputs]))
        remaining = [self.types[r].shape for r in scalars.inputs]
        if self.types[y].shape in remaining:
            return scalars
        return i if any(remaining) else self._computed_once(scalars)

    def _computed_once(self, i: Instruction) -> Instruction:
        """Computes a scalar, and spreads it."""
        z, y = len(self.types), i.outputs[0]
        self.types.append(Type(self.types[y].dtype, ()))
        self.kept.append(Instruction(i.primitive, i.attrs, i.inputs, (), (z,), 1, i.source))
        self.scalar[y] = z
        return self._spreading(i, self.shapes.of(y))

    # ---- sums

    def _as_sum(self, i: Instruction, shape: Shape) -> Instruction:
        """What sums to a shape, and then perhaps drops the axes of length 1, as a sum over axes."""
        if i.primitive == "sum_to":
            self.sums[i.outputs[0]] = maker = i
        elif i.primitive == "reshape" and i.inputs[0] in self.sums:
            maker = self.sums[i.inputs[0]]
        else:
            return i
        axes = self._summed_axes(maker)
        if without(self.shapes.of(maker.inputs[0]), axes) != shape:
            return i
        return Instruction("sum", (axes,), maker.inputs, (), i.outputs, 1, i.source)

    def _summed_axes(self, maker: Instruction) -> tuple[int, ...]:
        shape, to = self.shapes.of(maker.inputs[0]), self.shapes.canonical(maker.sizes)
        lead, is_number = len(shape) - len(to), self.shapes.is_number
        return tuple(
            [k for k, s in enumerate(shape) if k < lead or (is_number(to[k - lead], 1) and to[k - lead] != s)]
        )
