"""Constant folding: what depends on constants alone is computed now, and operations that change no bit are
dropped: x * 1, x / 1, x - 0, the negative of the negative, the conjugate of the conjugate, the real part of
real numbers, a cast to the dtype that is there. Not where that would hand out the storage of an operand or of
a constant: what the caller gets is new.

x + 0 and x * 0 stay, for the sake of -0.0, infinities and NaN; so does z * 1 of a complex z, whose product
has terms with 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from taenite import _core
from taenite.graph.ir import Graph, Instruction
from taenite.graph.primitives import PRIMITIVES
from taenite.graph.rewrite import dims_of_sizes, exposed, has_effect, is_symbolic, rebuild, resolve

_LARGEST = 1 << 20  # bytes of a folded result


def run(graph: Graph) -> Graph:
    folding = _Folding(graph)
    kept = []
    for i in graph.instructions:
        i = resolve(i, folding.renamed)
        if not (folding.evaluates(i) or folding.is_identity(i)):
            kept.append(i)
    return rebuild(graph, kept, folding.renamed, constants=folding.constants)


class _Folding:
    """What the sweep has found: constants, and registers that stand for others."""

    def __init__(self, graph: Graph) -> None:
        self.types, self.sizes = graph.types, graph.sizes
        self.dims = dims_of_sizes(graph)
        self.sized = {e.a for e in graph.sizes if e.op == "dim"}
        self.exposed = exposed(graph)
        self.constants = dict(graph.constants)
        self.renamed: dict[int, int] = {}
        self.undone: dict[tuple[str, int], int] = {}  # involution and its result: its operand

    # ---- what depends on constants alone

    def evaluates(self, i: Instruction) -> bool:
        """Whether the results are constants now."""
        if not self.constants.keys() >= set(i.inputs) or not self._may_evaluate(i):
            return False
        operands = tuple(self.constants[r] for r in i.inputs)
        sizes = tuple(self.sizes[s].value for s in i.sizes)
        try:
            results = _core.bind(PRIMITIVES[i.primitive], operands, i.attrs, sizes, i.mask)
        except (ArithmeticError, ValueError, TypeError, IndexError):
            return False  # the error belongs to the run, with the line of the user
        results = (results,) if len(i.outputs) == 1 else results
        self.constants.update((r, t) for r, t in zip(i.outputs, results, strict=True) if t is not None)
        return True

    def _may_evaluate(self, i: Instruction) -> bool:
        demanded = i.demanded
        return (
            not has_effect(i)
            and i.primitive != "empty"
            and all(self.constants.keys() >= self.dims[s] for s in i.sizes)
            and not any(is_symbolic(self.constants[r]) for r in i.inputs)
            and sum(self.types[r].size * self.types[r].dtype.itemsize for r in demanded) <= _LARGEST
            and self.sized.isdisjoint(set(i.outputs).difference(demanded))
            and self.exposed.isdisjoint(demanded)
        )

    # ---- operations that change nothing

    def is_identity(self, i: Instruction) -> bool:
        """Whether the result is another register, to the bit."""
        rule = _IDENTITIES.get(i.primitive)
        same = rule(self, i) if rule else None
        if same is None or (i.outputs[0] in self.exposed and not self._is_view(i)):
            return False
        self.renamed[i.outputs[0]] = same
        return True

    def _is_view(self, i: Instruction) -> bool:
        """Whether the result is the operand itself when the instruction runs."""
        return i.primitive in ("real", "conj") and self.types[i.inputs[0]].dtype.kind != "c"

    def _is_scalar(self, r: int, number: float) -> bool:
        """Whether the register is that constant, without axes and with that sign."""
        value = self.constants.get(r)
        if value is None or self.types[r].shape or is_symbolic(value):
            return False
        item: Any = value.item()
        parts = ((item.real, number), (item.imag, 0.0))
        return all(a == b and math.copysign(1, a) == math.copysign(1, b) for a, b in parts)

    def _unless_cast(self, i: Instruction, r: int, kinds: str) -> int | None:
        """The operand, if it is of one of these kinds and the result has its dtype."""
        dtype = self.types[r].dtype
        return r if dtype is self.types[i.outputs[0]].dtype and dtype.kind in kinds else None

    def by_one(self, i: Instruction) -> int | None:
        x, y = i.inputs
        if self._is_scalar(y, 1):
            return self._unless_cast(i, x, "iuf")
        return self._unless_cast(i, y, "iuf") if i.primitive == "multiply" and self._is_scalar(x, 1) else None

    def minus_zero(self, i: Instruction) -> int | None:
        x, y = i.inputs
        return self._unless_cast(i, x, "iufc") if self._is_scalar(y, 0) else None

    def involution(self, i: Instruction) -> int | None:
        (x,), (y,) = i.inputs, i.outputs
        self.undone[i.primitive, y] = x
        return self.undone.get((i.primitive, x))

    def part(self, i: Instruction) -> int | None:
        """The real part and the conjugate of real numbers."""
        (x,) = i.inputs
        real = self._unless_cast(i, x, "biuf")
        return self.involution(i) if real is None and i.primitive == "conj" else real

    def cast(self, i: Instruction) -> int | None:
        return self._unless_cast(i, i.inputs[0], "biufc")


_IDENTITIES: dict[str, Callable[[_Folding, Instruction], int | None]] = {
    "multiply": _Folding.by_one,
    "divide": _Folding.by_one,
    "subtract": _Folding.minus_zero,
    "negative": _Folding.involution,
    "conj": _Folding.part,
    "real": _Folding.part,
    "astype": _Folding.cast,
}
