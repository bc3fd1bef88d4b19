"""Contraction: ``dot_general``, and the products that are cases of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from taenite._core import Tensor
from taenite.ops.shape import transpose
from taenite.primitive import Record

Axes = tuple[int, ...]


def _free(ndim: int, *used: Axes) -> Axes:
    return tuple(axis for axis in range(ndim) if not any(axis in group for group in used))


def _to_operand(product: Tensor, labels: Sequence[int]) -> Tensor:
    """Axis i of the product belongs at axis labels[i] of the operand."""
    perm = tuple(labels.index(axis) for axis in range(len(labels)))
    return product if perm == tuple(range(len(perm))) else transpose(product, perm=perm)


class _Axes(NamedTuple):
    """The attributes of dot_general, seen from one operand."""

    contract: Axes
    batch: Axes
    conj: bool


def _cotangent(g: Tensor, g_free: Axes, mine: _Axes, other: Tensor, its: _Axes) -> Tensor:
    """The cotangent of one operand: g contracted with the other operand over that one's free axes.

    ``g_free`` are the axes of g that come from the other operand.
    """
    g_batch = tuple(range(len(mine.batch)))
    g_side = _Axes(g_free, g_batch, g.dtype.kind == "c" and mine.conj)
    free = _free(other.ndim, its.contract, its.batch)
    other_side = _Axes(free, its.batch, g.dtype.kind == "c" and mine.conj == its.conj)
    contracted = [mine.contract[its.contract.index(axis)] for axis in sorted(its.contract)]
    rest = _free(g.ndim - len(free) + len(contracted), mine.batch, mine.contract)
    if rest and contracted and min(contracted) < min(rest):
        return _to_operand(_dot(other, other_side, g, g_side), [*mine.batch, *contracted, *rest])
    return _to_operand(_dot(g, g_side, other, other_side), [*mine.batch, *rest, *contracted])


def _dot(a: Tensor, of_a: _Axes, b: Tensor, of_b: _Axes) -> Tensor:
    return dot_general(
        a,
        b,
        contract_a=of_a.contract,
        contract_b=of_b.contract,
        batch_a=of_a.batch,
        batch_b=of_b.batch,
        conj_a=int(of_a.conj),
        conj_b=int(of_b.conj),
    )


def _cotangent_a(g: Tensor, a: Tensor, b: Tensor, *, sizes: Any, **attrs: Any) -> Tensor:
    mine, its = _sides(**attrs)
    free = b.ndim - len(its.contract) - len(its.batch)
    return _cotangent(g, tuple(range(g.ndim - free, g.ndim)), mine, b, its)


def _cotangent_b(g: Tensor, a: Tensor, b: Tensor, *, sizes: Any, **attrs: Any) -> Tensor:
    its, mine = _sides(**attrs)
    free = a.ndim - len(its.contract) - len(its.batch)
    first = len(its.batch)
    return _cotangent(g, tuple(range(first, first + free)), mine, a, its)


def _sides(
    contract_a: Axes, contract_b: Axes, batch_a: Axes, batch_b: Axes, conj_a: int, conj_b: int
) -> tuple[_Axes, _Axes]:
    return _Axes(contract_a, batch_a, bool(conj_a)), _Axes(contract_b, batch_b, bool(conj_b))


dot_general = Record(
    "dot_general",
    attrs=("contract_a", "contract_b", "batch_a", "batch_b", "conj_a", "conj_b"),
    adjoint=(_cotangent_a, _cotangent_b),
)
