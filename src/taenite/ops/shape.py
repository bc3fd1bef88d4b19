"""Views and rearrangements: whatever strides can say costs no copy.

Sizes are operands of these primitives (``sizes=``), axes are attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.ops.convert import as_tuple, asarray, inverse_permutation, normal_axes, normal_axis
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Sample

_X = numpy.linspace(-1.0, 2.0, 24).reshape(2, 3, 4)
_EMPTY = numpy.zeros((0, 3))

# ---- reshape, transpose

reshape_ = Record(
    "reshape",
    adjoint=lambda g, x, *, sizes: reshape_(g, sizes=x.shape),
    reference=lambda x, *, sizes: x.reshape(sizes),
    samples=lambda: [
        Sample([_X], sizes=(4, 6)),
        Sample([_X.T], sizes=(6, -1)),
        Sample([_X[:, ::-1, :1]], sizes=(2, 1, 3)),
        Sample([_EMPTY], sizes=(3, 0)),
    ],
    errors=lambda: [ErrorInput(lambda: reshape(_X, (5, -1)), ValueError, "cannot have the shape (5, -1)")],
)


def reshape(x: Any, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Tensor:
    """The elements of ``x`` in row-major order, in another shape; one size may be -1.

    >>> tn.reshape(tn.arange(4), (2, -1)).tolist()
    [[0, 1], [2, 3]]
    """
    if copy is not None:
        raise ValueError(f"reshape: copy must be None (a view where strides allow it), got {copy}.")
    return reshape_(asarray(x), sizes=as_tuple(shape))


transpose = Record(
    "transpose",
    attrs=("perm",),
    adjoint=lambda g, x, *, sizes, perm: transpose(g, perm=inverse_permutation(perm)),
    reference=lambda x, *, perm: x.transpose(perm),
    samples=lambda: [Sample([_X], perm=(2, 0, 1)), Sample([numpy.array(1.5)], perm=())],
    errors=lambda: [
        ErrorInput(lambda: transpose(asarray(_X), perm=(0, 1)), ValueError, "a permutation of 3 axes")
    ],
)


def permute_dims(x: Any, /, axes: Sequence[int]) -> Tensor:
    """A view with the axes of ``x`` in another order.

    >>> tn.permute_dims(tn.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    x = asarray(x)
    if len(axes) != x.ndim:
        raise ValueError(f"permute_dims: axes must name each of {x.ndim} axes once, got {tuple(axes)}.")
    return transpose(x, perm=normal_axes(axes, x.ndim, "permute_dims"))


def matrix_transpose(x: Any, /) -> Tensor:
    """A view with the last two axes exchanged.

    >>> tn.matrix_transpose(tn.zeros((5, 2, 3))).shape
    (5, 3, 2)
    """
    x = asarray(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x must have at least 2 axes, got shape {x.shape}.")
    return transpose(x, perm=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def moveaxis(x: Any, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """A view with some axes moved; the others keep their order.

    >>> tn.moveaxis(tn.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = asarray(x)
    source = normal_axes(source, x.ndim, "moveaxis")
    destination = normal_axes(destination, x.ndim, "moveaxis")
    if len(source) != len(destination):
        raise ValueError(
            f"moveaxis: as many destinations as sources are needed, got {source} and {destination}."
        )
    perm = [axis for axis in range(x.ndim) if axis not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        perm.insert(to, axis)
    return transpose(x, perm=tuple(perm))


def swapaxes(x: Any, axis1: int, axis2: int, /) -> Tensor:
    """A view with two axes exchanged.

    >>> tn.swapaxes(tn.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = asarray(x)
    perm = list(range(x.ndim))
    a, b = normal_axis(axis1, x.ndim, "swapaxes"), normal_axis(axis2, x.ndim, "swapaxes")
    perm[a], perm[b] = b, a
    return transpose(x, perm=tuple(perm))


# ---- broadcasting and its adjoint


def _sum_to(x: Any, *, sizes: tuple[int, ...]) -> Any:
    lead = x.ndim - len(sizes)
    kept = tuple(i for i, n in enumerate(sizes) if n == 1 and x.shape[lead + i] != 1)
    return x.sum(axis=tuple(range(lead))).sum(axis=kept, keepdims=True)


stop_gradient_ = Record(
    "stop_gradient",
    derivative=NotDifferentiable("its purpose is to have none"),
    reference=lambda x: x,
    samples=lambda: [Sample([_X])],
    errors=lambda: [ErrorInput(lambda: stop_gradient_(), TypeError, "takes 1 operands, got 0")],
)

sum_to = Record(
    "sum_to",
    adjoint=lambda g, x, *, sizes: broadcast(g, x.shape),
    reference=_sum_to,
    samples=lambda: [
        Sample([_X], sizes=(3, 1)),
        Sample([_X], sizes=()),
        Sample([_X.T], sizes=(4, 3, 2)),
        Sample([_EMPTY], sizes=(1, 3)),
    ],
    errors=lambda: [
        ErrorInput(lambda: sum_to(asarray(_X), sizes=(2,)), ValueError, "does not reduce to (2,)")
    ],
)


def _unbroadcast(g: Tensor, x: Tensor, *, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Tensor:
    kept: list[Any] = [1] * len(sizes)
    for axis, size in zip(axes, x.shape, strict=True):
        kept[axis] = size
    return reshape_(sum_to(g, sizes=tuple(kept)), sizes=x.shape)


def _broadcast_in_dim(x: Any, *, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    kept = [1] * len(sizes)
    for axis, n in zip(axes, x.shape, strict=True):
        kept[axis] = n
    return numpy.broadcast_to(x.reshape(kept), sizes)


broadcast_in_dim = Record(
    "broadcast_in_dim",
    attrs=("axes",),
    adjoint=_unbroadcast,
    reference=_broadcast_in_dim,
    samples=lambda: [
        Sample([_X[:, :1]], sizes=(2, 5, 3, 4), axes=(0, 2, 3)),
        Sample([numpy.array(2.0)], sizes=(2, 3), axes=()),
    ],
    errors=lambda: [
        ErrorInput(lambda: broadcast_to(_X, (2, 3, 5)), ValueError, "does not broadcast to (2, 3, 5)"),
    ],
)


def broadcast(x: Tensor, shape: Sequence[int]) -> Tensor:
    """``x`` seen in that shape, aligned at the last axis."""
    return broadcast_in_dim(x, axes=tuple(range(len(shape) - x.ndim, len(shape))), sizes=tuple(shape))


def expand(x: Tensor, shape: Sequence[int], axes: Sequence[int]) -> Tensor:
    """``x`` seen in that shape, where it lacks ``axes``: the adjoint of a sum over them."""
    kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return broadcast_in_dim(x, axes=kept, sizes=tuple(shape))


def broadcast_to(x: Any, /, shape: int | Sequence[int]) -> Tensor:
    """A read-only view of ``x`` in a shape that it broadcasts to.

    >>> tn.broadcast_to(tn.asarray([1.0, 2.0]), (2, 2)).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    x, shape = asarray(x), as_tuple(shape)
    if len(shape) < x.ndim:
        raise ValueError(f"broadcast_to: shape {x.shape} does not broadcast to {shape}.")
    return broadcast(x, shape)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all of them broadcast to.

    >>> tn.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    result: tuple[int, ...] = ()
    for shape in shapes:
        result = _broadcast_pair(result, tuple(shape))
    return result


def _broadcast_pair(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    out = []
    for m, n in pairs:
        if m != n and m != 1 and n != 1:
            raise ValueError(f"broadcast_shapes: shapes {a} and {b} do not broadcast together.")
        out.append(n if m == 1 else m)
    return tuple(out)


def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """Views of all arrays in their common shape.

    >>> [x.shape for x in tn.broadcast_arrays(tn.zeros((2, 1)), tn.zeros(3))]
    [(2, 3), (2, 3)]
    """
    tensors = [asarray(a) for a in arrays]
    shape = broadcast_shapes(*(x.shape for x in tensors))
    return [broadcast(x, shape) for x in tensors]


def expand_dims(x: Any, /, axis: int | Sequence[int] = 0) -> Tensor:
    """A view with axes of size 1 at those places of the result.

    >>> tn.expand_dims(tn.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    x = asarray(x)
    rank = x.ndim + len(as_tuple(axis))
    new = normal_axes(axis, rank, "expand_dims")
    sizes = iter(x.shape)
    return reshape_(x, sizes=tuple(1 if i in new else next(sizes) for i in range(rank)))


def squeeze(x: Any, /, axis: int | Sequence[int]) -> Tensor:
    """A view without those axes, which must have size 1.

    >>> tn.squeeze(tn.zeros((2, 1, 3)), axis=1).shape
    (2, 3)
    """
    x = asarray(x)
    gone = normal_axes(axis, x.ndim, "squeeze")
    for i in gone:
        if x.shape[i] != 1:
            raise ValueError(f"squeeze: axis {i} must have size 1, got shape {x.shape}.")
    return reshape_(x, sizes=tuple(size for i, size in enumerate(x.shape) if i not in gone))


def flatten(x: Any, /) -> Tensor:
    """The elements of ``x`` in row-major order, in one axis.

    >>> tn.flatten(tn.zeros((2, 3))).shape
    (6,)
    """
    return reshape_(asarray(x), sizes=(-1,))


# ---- repetition


def tile(x: Any, repetitions: int | Sequence[int], /) -> Tensor:
    """``x`` repeated as a whole along each axis.

    >>> tn.tile(tn.arange(2), 2).tolist()
    [0, 1, 0, 1]
    """
    x, times = asarray(x), as_tuple(repetitions)
    rank = max(x.ndim, len(times))
    times = (1,) * (rank - len(times)) + times
    shape = (1,) * (rank - x.ndim) + tuple(x.shape)
    pairs = tuple(n for pair in zip(times, shape, strict=True) for n in pair)
    axes = tuple(range(2 * (rank - x.ndim) + 1, 2 * rank, 2))
    tiled = broadcast_in_dim(x, axes=axes, sizes=pairs)
    return reshape_(tiled, sizes=tuple(t * n for t, n in zip(times, shape, strict=True)))


def repeat(x: Any, repeats: int, /, *, axis: int | None = None) -> Tensor:
    """Each element ``repeats`` times, one after the other, along an axis (default: of the flattened array).

    >>> tn.repeat(tn.arange(2), 2).tolist()
    [0, 0, 1, 1]
    """
    x = asarray(x)
    if axis is None:
        x, axis = flatten(x), 0
    axis = normal_axis(axis, x.ndim, "repeat")
    shape = tuple(x.shape)
    each = (*shape[: axis + 1], repeats, *shape[axis + 1 :])
    repeated = broadcast_in_dim(x, axes=(*range(axis + 1), *range(axis + 2, x.ndim + 1)), sizes=each)
    return reshape_(repeated, sizes=(*shape[:axis], shape[axis] * repeats, *shape[axis + 1 :]))
