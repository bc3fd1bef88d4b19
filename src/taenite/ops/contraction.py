"""Contraction: ``dot_general``, and the products that are cases of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import update_wrapper
from typing import Any, NamedTuple

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.ops.convert import asarray, inverse_permutation, normal_axes, promoted, whole
from taenite.ops.parts import diagonal
from taenite.ops.reductions import sum
from taenite.ops.shape import broadcast, broadcast_shapes, flatten, moveaxis, transpose
from taenite.primitive import ErrorInput, Record, Sample

Axes = tuple[int, ...]


def _free(ndim: int, *used: Axes) -> Axes:
    return tuple(axis for axis in range(ndim) if not any(axis in group for group in used))


def _to_operand(product: Tensor, labels: Sequence[int]) -> Tensor:
    """Axis i of the product belongs at axis labels[i] of the operand."""
    perm = inverse_permutation(labels)
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


def _einsum(
    a: Any,
    b: Any,
    *,
    contract_a: Axes,
    contract_b: Axes,
    batch_a: Axes,
    batch_b: Axes,
    conj_a: int,
    conj_b: int,
) -> Any:
    labels_a, labels_b = list(range(a.ndim)), list(range(a.ndim, a.ndim + b.ndim))
    for i, j in zip(contract_a + batch_a, contract_b + batch_b, strict=True):
        labels_b[j] = labels_a[i]
    free = [labels_a[i] for i in _free(a.ndim, contract_a, batch_a)]
    free += [labels_b[i] for i in _free(b.ndim, contract_b, batch_b)]
    out = [labels_a[i] for i in batch_a] + free
    return numpy.einsum(a.conj() if conj_a else a, labels_a, b.conj() if conj_b else b, labels_b, out)


def _samples() -> Iterator[Sample]:
    rng = numpy.random.default_rng(5)

    def numbers(kind: str, *shape: int) -> Any:
        x = rng.normal(size=shape)
        return x + 1j * rng.normal(size=shape) if kind == "c" else x

    matrices: dict[str, Any] = {"contract_a": (1,), "contract_b": (0,), "batch_a": (), "batch_b": ()}
    general: dict[str, Any] = {"contract_a": (3, 0), "contract_b": (1, 2), "batch_a": (1,), "batch_b": (3,)}
    for kind in "fc":
        for conj_a, conj_b in [(0, 0), (1, 0), (0, 1), (1, 1)] if kind == "c" else [(0, 0)]:
            conj: dict[str, Any] = {"conj_a": conj_a, "conj_b": conj_b}
            yield Sample([numbers(kind, 3, 4), numbers(kind, 4, 2)], **matrices, **conj)
            yield Sample([numbers(kind, 4, 3, 2, 5), numbers(kind, 2, 5, 4, 3)], **general, **conj)
        yield Sample([numbers(kind, 3, 0), numbers(kind, 0, 2)], **matrices, conj_a=0, conj_b=0)
        yield Sample(
            [numbers(kind, 20, 30).T[:, ::-1], numbers(kind, 20, 25)], **matrices, conj_a=0, conj_b=0
        )


dot_general = Record(
    "dot_general",
    attrs=("contract_a", "contract_b", "batch_a", "batch_b", "conj_a", "conj_b"),
    adjoint=(_cotangent_a, _cotangent_b),
    reference=_einsum,
    samples=_samples,
    errors=lambda: [
        ErrorInput(
            lambda: matmul(numpy.ones((2, 3)), numpy.ones((2, 3))), ValueError, "matmul: the last axis of x1"
        ),
        ErrorInput(
            lambda: tensordot(numpy.ones(2), numpy.ones(3), axes=1), ValueError, "must have the same sizes"
        ),
        ErrorInput(lambda: matmul(numpy.ones(2), 3.0), ValueError, "must have at least 1 axis"),
    ],
)


def contract(
    a: Tensor,
    b: Tensor,
    contract_a: Axes,
    contract_b: Axes,
    batch_a: Axes = (),
    batch_b: Axes = (),
    conj_a: bool = False,
    conj_b: bool = False,
) -> Tensor:
    """dot_general of operands of any dtypes. The axes of the result: batch, free of a, free of b."""
    a, b = promoted(a, b)
    return _dot(a, _Axes(contract_a, batch_a, conj_a), b, _Axes(contract_b, batch_b, conj_b))


# ---- products


def _product(definition: Any) -> Any:
    return update_wrapper(_core.make_matmul(definition), definition)


@_product
def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product, batched over leading axes; a vector is a row on the left, a column on the right.

    >>> tn.matmul(tn.eye(2), tn.asarray([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return asarray(x1) @ asarray(x2)


def tensordot(x1: Any, x2: Any, /, *, axes: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """The sum of products over pairs of axes: the last of ``x1`` with the first of ``x2``, or as named.

    >>> tn.tensordot(tn.ones((2, 3)), tn.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    a, b = asarray(x1), asarray(x2)
    if not isinstance(axes, Iterable):
        n = whole(axes, "tensordot", "axes")
        if not 0 <= n <= min(a.ndim, b.ndim):
            raise ValueError(f"tensordot: axes={axes} does not fit the shapes {a.shape} and {b.shape}.")
        return contract(a, b, tuple(range(a.ndim - n, a.ndim)), tuple(range(n)))
    of_a, of_b = (normal_axes(named, x.ndim, "tensordot") for named, x in zip(axes, (a, b), strict=True))
    return contract(a, b, of_a, of_b)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The sum of conj(x1) * x2 along an axis; the others broadcast.

    >>> tn.vecdot(tn.asarray([1j, 2.0]), tn.asarray([1j, 1.0])).tolist()
    (3+0j)
    """
    a, b = asarray(x1), asarray(x2)
    moved = [moveaxis(x, axis, -1) for x in (a, b)]
    if a.ndim == b.ndim == 1:
        return contract(a, b, (0,), (0,), conj_a=True)
    shape = broadcast_shapes(*(x.shape[:-1] for x in moved))
    a, b = (broadcast(x, (*shape, x.shape[-1])) for x in moved)
    n = len(shape)
    batch = tuple(range(n))
    return contract(a, b, (n,), (n,), batch, batch, conj_a=True)


def inner(x1: Any, x2: Any, /) -> Tensor:
    """The sum of products over the last axes.

    >>> tn.inner(tn.asarray([1.0, 2.0]), tn.asarray([3.0, 4.0])).item()
    11.0
    """
    a, b = asarray(x1), asarray(x2)
    return contract(a, b, (a.ndim - 1,), (b.ndim - 1,)) if a.ndim and b.ndim else contract(a, b, (), ())


def outer(x1: Any, x2: Any, /) -> Tensor:
    """The products of every element of one with every element of the other, as a matrix.

    >>> tn.outer(tn.asarray([1.0, 2.0]), tn.asarray([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    return contract(flatten(x1), flatten(x2), (), ())


def dot(x1: Any, x2: Any, /) -> Tensor:
    """NumPy's dot: over the last axis of ``x1`` and the last but one of ``x2``.

    >>> tn.dot(tn.asarray([1.0, 2.0]), tn.asarray([3.0, 4.0])).item()
    11.0
    """
    a, b = asarray(x1), asarray(x2)
    if not a.ndim or not b.ndim:
        return contract(a, b, (), ())
    return contract(a, b, (a.ndim - 1,), (max(b.ndim - 2, 0),))


def trace(x: Any, /, *, offset: int = 0) -> Tensor:
    """The sum of the diagonals of the last two axes.

    >>> tn.trace(tn.eye(3)).item()
    3.0
    """
    return sum(diagonal(x, offset=offset), axis=-1)
