"""Common subexpressions: equal calls are made once.

Calls that differ only in what they demand become one that demands it all, which shares factorizations.
Constants that are equal to the bit become one too, if they are small.
"""

from __future__ import annotations

from typing import Any

from taenite._core import Tensor
from taenite.graph.ir import Graph, Instruction, SizeExpr
from taenite.graph.rewrite import (
    RenumberedSizes,
    has_effect,
    is_symbolic,
    rebuild,
    resolve,
    with_mask,
    with_sizes,
)

_SMALL = 8  # elements
_COMMUTATIVE = ("add", "multiply")


def run(graph: Graph) -> Graph:
    renamed = _equal_constants(graph)
    sizes = _SizesByStructure(graph, renamed)
    kept: list[Instruction] = []
    written: dict[Any, int] = {}
    for i in graph.instructions:
        i = resolve(i, renamed)
        if i.sizes:
            i = with_sizes(i, sizes.numbers(i.sizes))
        at = written.setdefault(_key(graph, i), len(kept))
        if at == len(kept):
            kept.append(i)
            continue
        first = kept[at]
        renamed.update(zip(i.outputs, first.outputs, strict=True))
        if i.mask & ~first.mask:
            kept[at] = with_mask(first, first.mask | i.mask)
    return sizes.rebuild(kept)


def _key(graph: Graph, i: Instruction) -> Any:
    """What equal calls agree in; those of effects, in everything."""
    if i.primitive in _COMMUTATIVE and i.inputs[0] > i.inputs[1] and _is_real(graph, i):
        return i.primitive, i.attrs, i.inputs[::-1], i.sizes
    call = (i.primitive, i.attrs, i.inputs, i.sizes)
    return (call, i.source) if has_effect(i) else call


def _is_real(graph: Graph, i: Instruction) -> bool:
    """Complex products round differently in the other order."""
    return graph.types[i.outputs[0]].dtype.kind != "c"


def _equal_constants(graph: Graph) -> dict[int, int]:
    """Constants that an earlier one stands for."""
    first: dict[Any, int] = {}
    renamed = {}
    for r, value in graph.constants.items():
        if (other := first.setdefault(_identity(value), r)) != r:
            renamed[r] = other
    return renamed


def _identity(value: Tensor) -> Any:
    if is_symbolic(value) or value.size > _SMALL:
        return id(value)
    return value.dtype, value.shape, value.numpy().tobytes()


class _SizesByStructure(RenumberedSizes):
    """Renumbered so that equal expressions are one."""

    def __init__(self, graph: Graph, renamed: dict[int, int]) -> None:
        super().__init__(graph)
        self.renamed = renamed

    def dim(self, e: SizeExpr) -> int:
        return self.sizes.add("dim", self.renamed.get(e.a, e.a), e.b, e.value)

    def rebuild(self, instructions: list[Instruction]) -> Graph:
        guards = self.guards()
        constants = {r: t for r, t in self.graph.constants.items() if r not in self.renamed}
        table = tuple(self.sizes.table)
        return rebuild(
            self.graph, instructions, self.renamed, constants=constants, sizes=table, guards=guards
        )
