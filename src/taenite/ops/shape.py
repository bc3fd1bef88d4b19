"""Views and rearrangements: whatever strides can say costs no copy.

Sizes are operands of these primitives (``sizes=``), axes are attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from operator import index
from typing import Any, SupportsIndex

import numpy

from taenite._core import Tensor
from taenite.ops.convert import as_shape, asarray, normal_axes, normal_axis, promoted
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
    return reshape_(asarray(x), sizes=as_shape(shape))


def _inverse(perm: Sequence[int]) -> tuple[int, ...]:
    return tuple(perm.index(axis) for axis in range(len(perm)))


transpose = Record(
    "transpose",
    attrs=("perm",),
    adjoint=lambda g, x, *, sizes, perm: transpose(g, perm=_inverse(perm)),
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
    x, shape = asarray(x), as_shape(shape)
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
    rank = x.ndim + (1 if isinstance(axis, int) else len(axis))
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
    axes = as_shape(axis)
    shifts = as_shape(shift) if not isinstance(shift, int) else (shift,) * len(axes)
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


def tile(x: Any, repetitions: int | Sequence[int], /) -> Tensor:
    """``x`` repeated as a whole along each axis.

    >>> tn.tile(tn.arange(2), 2).tolist()
    [0, 1, 0, 1]
    """
    x, times = asarray(x), as_shape(repetitions)
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
