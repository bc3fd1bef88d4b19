"""Parts of tensors, and how they are put together: slices, concatenation, diagonals, triangles.

Sizes are operands of these primitives (``sizes=``), axes are attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import index
from typing import Any, SupportsIndex

import numpy

from taenite._core import Tensor
from taenite.ops.convert import as_tuple, asarray, normal_axes, normal_axis, promoted, whole
from taenite.ops.shape import broadcast_in_dim, expand_dims, flatten, reshape_
from taenite.primitive import ErrorInput, Record, Sample

_X = numpy.linspace(-1.0, 2.0, 24).reshape(2, 3, 4)

# ---- slices


def _cuts_of(sizes: tuple[int, ...], drop: tuple[int, ...]) -> tuple[Any, ...]:
    """The NumPy index of a slice that is given as start, count and step of each axis."""
    out: list[Any] = []
    for axis, (start, count, step) in enumerate(zip(sizes[::3], sizes[1::3], sizes[2::3], strict=True)):
        end = start + count * step
        out.append(start if axis in drop else slice(start, None if end < 0 else end, step))
    return tuple(out)


def _slice_scatter(g: Any, *, sizes: tuple[int, ...], drop: tuple[int, ...]) -> Any:
    n = len(sizes) // 4
    out = numpy.zeros(sizes[:n], g.dtype)
    out[_cuts_of(sizes[n:], drop)] = g
    return out


def _slice_update(x: Any, v: Any, *, sizes: tuple[int, ...], drop: tuple[int, ...]) -> Any:
    out = x.copy()
    out[_cuts_of(sizes, drop)] = v
    return out


_CUT = (0, 2, 1, 2, 2, -1, 1, 1, 1)  # _X[0:2, 2:0:-1, 1]

slice_ = Record(
    "slice",
    attrs=("drop",),
    adjoint=lambda g, x, *, sizes, drop: slice_scatter(g, drop=drop, sizes=(*x.shape, *sizes)),
    reference=lambda x, *, sizes, drop: x[_cuts_of(sizes, drop)],
    samples=lambda: [
        Sample([_X], sizes=_CUT, drop=(2,)),
        Sample([_X], sizes=(0, 0, 1, 0, 3, 1, 0, 4, 1), drop=()),
    ],
    errors=lambda: [
        ErrorInput(lambda: slice_(asarray(_X[0, 0]), drop=(), sizes=(2, 3, 1)), IndexError, "do not fit")
    ],
)
slice_scatter = Record(
    "slice_scatter",
    attrs=("drop",),
    adjoint=lambda g, x, *, sizes, drop: slice_(g, drop=drop, sizes=sizes[len(sizes) // 4 :]),
    reference=_slice_scatter,
    samples=lambda: [Sample([_X[0:2, 2:0:-1, 1]], sizes=(*_X.shape, *_CUT), drop=(2,))],
    errors=lambda: [
        ErrorInput(
            lambda: slice_scatter(asarray(_X), drop=(2,), sizes=(*_X.shape, *_CUT)),
            ValueError,
            "the slice has the shape",
        )
    ],
)
slice_update = Record(
    "slice_update",
    attrs=("drop",),
    adjoint=(
        lambda g, x, v, *, sizes, drop: slice_update(
            g, broadcast_in_dim(_zero(g), axes=(), sizes=v.shape), drop=drop, sizes=sizes
        ),
        lambda g, x, v, *, sizes, drop: slice_(g, drop=drop, sizes=sizes),
    ),
    reference=_slice_update,
    samples=lambda: [Sample([_X, _X[0:2, 2:0:-1, 1] + 2], sizes=_CUT, drop=(2,))],
    errors=lambda: [
        ErrorInput(
            lambda: slice_update(asarray(_X), asarray(_X), drop=(2,), sizes=_CUT),
            ValueError,
            "the slice has the shape",
        )
    ],
)


def _zero(like: Tensor) -> Tensor:
    return asarray(0.0, dtype=like.dtype)


def slice_axis(x: Tensor, axis: int, start: int, count: int, step: int = 1) -> Tensor:
    """A slice along one axis, everything along the others."""
    sizes: list[Any] = [number for size in x.shape for number in (0, size, 1)]
    sizes[3 * axis : 3 * axis + 3] = start, count, step
    return slice_(x, drop=(), sizes=tuple(sizes))


def flip(x: Any, /, *, axis: int | Sequence[int] | None = None) -> Tensor:
    """A view with the order of the elements along the given (default: all) axes reversed.

    >>> tn.flip(tn.arange(3)).tolist()
    [2, 1, 0]
    """
    x = asarray(x)
    flipped = range(x.ndim) if axis is None else normal_axes(axis, x.ndim, "flip")
    sizes = [(n - 1, n, -1) if i in flipped else (0, n, 1) for i, n in enumerate(x.shape)]
    return slice_(x, drop=(), sizes=tuple(number for cut in sizes for number in cut))


def split(x: Any, indices_or_sections: int | Sequence[int], /, *, axis: int = 0) -> list[Tensor]:
    """Views of consecutive parts along an axis: that many equal ones, or cut before the given indices.

    >>> [part.tolist() for part in tn.split(tn.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    x = asarray(x)
    axis = normal_axis(axis, x.ndim, "split")
    cuts = [0, *_cuts(x.shape[axis], indices_or_sections), x.shape[axis]]
    return [slice_axis(x, axis, a, max(b - a, 0)) for a, b in pairwise(cuts)]


def _cuts(size: int, given: int | Sequence[int]) -> list[int]:
    if isinstance(given, SupportsIndex):
        given = index(given)
        if given < 1 or size % given:
            raise ValueError(f"split: {size} elements do not split into {given} equal parts.")
        return [size // given * i for i in range(1, given)]
    return [min(max(cut + size if cut < 0 else cut, 0), size) for cut in given]


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Views of the elements along an axis, without that axis.

    >>> [row.tolist() for row in tn.unstack(tn.eye(2))]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    x = asarray(x)
    axis = normal_axis(axis, x.ndim, "unstack")
    whole: list[Any] = [number for size in x.shape for number in (0, size, 1)]
    before, after = whole[: 3 * axis], whole[3 * axis + 3 :]
    return tuple(slice_(x, drop=(axis,), sizes=(*before, i, 1, 1, *after)) for i in range(x.shape[axis]))


# ---- concatenation


def _part(g: Tensor, *operands: Tensor, sizes: Any, axis: int, operand: int = 0) -> Tensor:
    start = sum(x.shape[axis] for x in operands[:operand])
    return slice_axis(g, axis, start, operands[operand].shape[axis])


concatenate = Record(
    "concatenate",
    attrs=("axis",),
    adjoint=_part,
    reference=lambda *x, axis: numpy.concatenate(x, axis),
    samples=lambda: [Sample([_X, _X[:, :1], _X[:, ::-1]], axis=1), Sample([_X], axis=0)],
    errors=lambda: [
        ErrorInput(lambda: concat([_X, _X[:1]], axis=1), ValueError, "shapes must agree except along axis 1")
    ],
)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Tensor:
    """Joins arrays along an axis; ``axis=None`` flattens them first.

    >>> tn.concat([tn.zeros(1), tn.ones(2)]).tolist()
    [0.0, 1.0, 1.0]
    """
    tensors = promoted(*_some(arrays, "concat"))
    if axis is None:
        return concatenate(*(flatten(x) for x in tensors), axis=0)
    return concatenate(*tensors, axis=normal_axis(axis, tensors[0].ndim, "concat"))


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Tensor:
    """Joins arrays of one shape along a new axis.

    >>> tn.stack([tn.zeros(2), tn.ones(2)]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    tensors = promoted(*_some(arrays, "stack"))
    axis = normal_axis(axis, tensors[0].ndim + 1, "stack")
    for x in tensors[1:]:
        if x.shape != tensors[0].shape:
            raise ValueError(f"stack: shapes must agree, got {tensors[0].shape} and {x.shape}.")
    return concatenate(*(expand_dims(x, axis) for x in tensors), axis=axis)


def _some(arrays: Sequence[Any], who: str) -> list[Tensor]:
    tensors = [asarray(a) for a in arrays]
    if not tensors:
        raise ValueError(f"{who}: at least one array is needed, got none.")
    return tensors


def roll(x: Any, /, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None) -> Tensor:
    """Elements moved along axes; what leaves at one end enters at the other.

    >>> tn.roll(tn.arange(4), 1).tolist()
    [3, 0, 1, 2]
    """
    y = asarray(x)
    if axis is None:
        return reshape_(roll(flatten(y), shift, axis=0), sizes=y.shape)
    axes = as_tuple(axis)
    shifts = tuple(whole(by, "roll", "shift") for by in as_tuple(shift))
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(shifts) != len(axes):
        raise ValueError(f"roll: as many shifts as axes are needed, got {shift} and {axis}.")
    for by, along in zip(shifts, axes, strict=True):
        y = _roll_axis(y, by, normal_axis(along, y.ndim, "roll"))
    return y


def _roll_axis(x: Tensor, shift: int, axis: int) -> Tensor:
    n = x.shape[axis]
    if n == 0:
        return x
    shift %= n
    return concatenate(slice_axis(x, axis, n - shift, shift), slice_axis(x, axis, 0, n - shift), axis=axis)


# ---- diagonals and triangles


def _diagonal_scatter(g: Any, *, sizes: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    out = numpy.zeros(sizes, g.dtype)
    view = numpy.diagonal(out, offset, axis1, axis2)
    view.flags.writeable = True
    view[...] = g
    return out


diagonal_ = Record(
    "diagonal",
    attrs=("offset", "axis1", "axis2"),
    adjoint=lambda g, x, *, sizes, **where: diagonal_scatter(g, sizes=x.shape, **where),
    reference=lambda x, *, offset, axis1, axis2: numpy.diagonal(x, offset, axis1, axis2),
    samples=lambda: [Sample([_X], offset=1, axis1=0, axis2=2), Sample([_X], offset=-1, axis1=1, axis2=2)],
    errors=lambda: [ErrorInput(lambda: diagonal(_X, axis1=0, axis2=0), IndexError, "two different axes")],
)
diagonal_scatter = Record(
    "diagonal_scatter",
    attrs=("offset", "axis1", "axis2"),
    adjoint=lambda g, x, *, sizes, **where: diagonal_(g, **where),
    reference=_diagonal_scatter,
    samples=lambda: [Sample([_X[0, :2, :2]], sizes=(2, 2, 3), offset=1, axis1=1, axis2=2)],
    errors=lambda: [
        ErrorInput(
            lambda: diagonal_scatter(asarray(_X), offset=0, axis1=0, axis2=1, sizes=(2, 2)),
            ValueError,
            "the diagonal has",
        )
    ],
)


def diagonal(x: Any, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """A view of a diagonal of two axes, which becomes the last axis.

    >>> tn.diagonal(tn.asarray([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """
    x = asarray(x)
    a, b = normal_axis(axis1, x.ndim, "diagonal"), normal_axis(axis2, x.ndim, "diagonal")
    return diagonal_(x, offset=offset, axis1=a, axis2=b)


def diag(x: Any, /, *, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with that diagonal; over the last axes.

    >>> tn.diag(tn.asarray([1.0, 2.0])).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("diag: x must have at least 1 axis, got shape ().")
    if x.ndim > 1:
        return diagonal(x, offset=k)
    n = x.shape[0] + abs(k)
    return diagonal_scatter(x, offset=k, axis1=0, axis2=1, sizes=(n, n))


def _triangle(name: str, reference: Any) -> Record:
    def rule(g: Tensor, x: Tensor, *, sizes: Any, k: int) -> Tensor:
        return record(g, k=k)

    record = Record(
        name,
        attrs=("k",),
        adjoint=rule,
        reference=lambda x, *, k: reference(x, k),
        samples=lambda: [Sample([_X], k=1), Sample([_X.swapaxes(1, 2)], k=-1)],
        errors=lambda: [ErrorInput(lambda: record(asarray(_X[0, 0]), k=0), ValueError, "a matrix is needed")],
    )
    return record


tril_ = _triangle("tril", numpy.tril)
triu_ = _triangle("triu", numpy.triu)


def tril(x: Any, /, *, k: int = 0) -> Tensor:
    """The lower triangle up to the ``k``-th diagonal, zeros above.

    >>> tn.tril(tn.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return tril_(asarray(x), k=k)


def triu(x: Any, /, *, k: int = 0) -> Tensor:
    """The upper triangle from the ``k``-th diagonal, zeros below.

    >>> tn.triu(tn.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return triu_(asarray(x), k=k)
