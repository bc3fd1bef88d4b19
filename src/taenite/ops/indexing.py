"""Indexing: ``x[...]``, gathering and scattering by integer tensors, functional updates.

Integers, slices, None and Ellipsis make views, natively. What is here takes integer tensors and masks apart
into views and one ``take`` (or ``scatter_set``) along one axis.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from operator import index
from typing import Any, NamedTuple

import numpy

from taenite._core import Size, Tensor
from taenite.dtypes import bool_
from taenite.ops.arithmetic import where
from taenite.ops.convert import asarray, inverse_permutation, normal_axis
from taenite.ops.creation import zeros
from taenite.ops.parts import slice_, slice_update
from taenite.ops.shape import broadcast, broadcast_shapes, reshape_, transpose
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Sample

Sizes = tuple[Any, ...]

# ---- references and samples

_X = numpy.linspace(-1, 1, 60).reshape(4, 3, 5)
_I = numpy.array([[2, 0, 2], [-1, 1, 0]])
_ALONG = numpy.arange(30).reshape(2, 3, 5) % 7 - 3


def _add_at(g: Any, indices: Any, *, sizes: Sizes, axis: int) -> Any:
    out = numpy.zeros(sizes, g.dtype)
    numpy.add.at(out, (slice(None),) * axis + (indices,), g)
    return out


def _set_at(x: Any, indices: Any, v: Any, *, axis: int) -> Any:
    out = x.copy()
    out[(slice(None),) * axis + (indices,)] = v
    return out


def _is_last(indices: Any, *, sizes: Sizes) -> Any:
    flat = (indices % sizes[0]).ravel().tolist()
    last = [index not in flat[place + 1 :] for place, index in enumerate(flat)]
    return numpy.array(last).reshape(indices.shape)


def _add_along(g: Any, indices: Any, *, sizes: Sizes, axis: int) -> Any:
    out = numpy.zeros(sizes, g.dtype)
    where: list[Any] = list(numpy.indices(indices.shape))
    where[axis] = indices
    numpy.add.at(out, tuple(where), g)
    return out


def _raises(call: Any, error: type[Exception], text: str) -> Any:
    return lambda: [ErrorInput(call, error, text)]


# ---- along one axis

take_ = Record(
    "take",
    attrs=("axis",),
    adjoint=(lambda g, x, i, *, sizes, axis: scatter_add(g, i, axis=axis, sizes=x.shape), None),
    reference=lambda x, i, *, axis: numpy.take(x, i, axis),
    samples=lambda: [Sample([_X[:, :, ::2], _I], axis=1), Sample([_X[0, 0], numpy.array(-1)], axis=0)],
    errors=_raises(
        lambda: take(_X, numpy.array([7]), axis=1), IndexError, "index 7 is out of bounds for axis 1"
    ),
)
scatter_add = Record(
    "scatter_add",
    attrs=("axis",),
    adjoint=(lambda g, x, i, *, sizes, axis: take_(g, i, axis=axis), None),
    reference=_add_at,
    samples=lambda: [Sample([_X[:, _I], _I], sizes=(4, 3, 5), axis=1)],
    errors=_raises(
        lambda: scatter_add(asarray(_X), asarray(_I), axis=0, sizes=(2, 3)),
        ValueError,
        "the values must have the shape",
    ),
)
scatter_set = Record(
    "scatter_set",
    attrs=("axis",),
    adjoint=(
        lambda g, x, i, v, *, sizes, axis: scatter_set(g, i, zeros(v.shape, dtype=g.dtype), axis=axis),
        None,
        lambda g, x, i, v, *, sizes, axis: _of_last(take_(g, i, axis=axis), i, x.shape[axis], axis),
    ),
    reference=_set_at,
    samples=lambda: [
        Sample([_X, numpy.array([2, 0]), _X[:, :2] + 3], axis=1),
        Sample([_X, _I, _X[:, _I] + 3], axis=1),
    ],
    errors=_raises(
        lambda: scatter_set(asarray(_X), asarray([0]), asarray(_X), axis=0),
        ValueError,
        "the values must have the shape",
    ),
)
is_last = Record(
    "is_last",
    derivative=NotDifferentiable("a truth value"),
    reference=_is_last,
    samples=lambda: [Sample([_I], sizes=(3,)), Sample([numpy.array(-1)], sizes=(2,))],
    errors=_raises(lambda: is_last(asarray(_I), sizes=(2,)), IndexError, "index 2 is out of bounds"),
)


def _of_last(g: Tensor, indices: Tensor, size: Any, axis: int) -> Tensor:
    """g, gathered along an axis, but 0 where a later one of the indices names the same place."""
    if indices.ndim == 0:
        return g
    ones = (1,) * (g.ndim - axis - indices.ndim)
    last = reshape_(is_last(indices, sizes=(size,)), sizes=(*indices.shape, *ones))
    return where(last, g, zeros((), dtype=g.dtype))


take_along_axis_ = Record(
    "take_along_axis",
    attrs=("axis",),
    adjoint=(lambda g, x, i, *, sizes, axis: put_along_axis_add(g, i, axis=axis, sizes=x.shape), None),
    reference=lambda x, i, *, axis: numpy.take_along_axis(x, i, axis),
    samples=lambda: [
        Sample([_X, _ALONG], axis=0),
        Sample([_X[:, ::-1], _I[:1, :2].reshape(1, 2, 1) + _X.astype(int)[:, :2] * 0], axis=1),
    ],
    errors=_raises(
        lambda: take_along_axis(_X, numpy.array([[[4]]]), axis=0),
        IndexError,
        "index 4 is out of bounds for axis 0",
    ),
)
put_along_axis_add = Record(
    "put_along_axis_add",
    attrs=("axis",),
    adjoint=(lambda g, x, i, *, sizes, axis: take_along_axis_(g, i, axis=axis), None),
    reference=_add_along,
    samples=lambda: [Sample([_X[:2], _ALONG], sizes=(4, 3, 5), axis=0)],
    errors=_raises(
        lambda: put_along_axis_add(asarray(_X), asarray(_ALONG), axis=0, sizes=(4, 3, 5)),
        ValueError,
        "must have the shape",
    ),
)
linear_index = Record(
    "linear_index",
    derivative=NotDifferentiable("its operands and its output are integers"),
    reference=lambda *i, sizes: numpy.ravel_multi_index(
        [j % n for j, n in zip(i, sizes, strict=True)], sizes
    ),
    samples=lambda: [Sample([_I, _I + 1], sizes=(3, 4))],
    errors=_raises(
        lambda: linear_index(asarray(_I), sizes=(2,)), IndexError, "index 2 is out of bounds for axis 0"
    ),
)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Tensor:
    """The elements (or slices) of ``x`` at integer indices along an axis.

    >>> tn.take(tn.asarray([1.0, 2.0, 3.0]), tn.asarray([2, 0])).tolist()
    [3.0, 1.0]
    """
    x = asarray(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis is needed for a tensor of shape {x.shape}.")
        axis = 0
    return take_(x, asarray(indices), axis=normal_axis(axis, x.ndim, "take"))


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Tensor:
    """For each position of ``indices``, the element of ``x`` with that index along the axis.

    >>> tn.take_along_axis(tn.asarray([[1, 2], [3, 4]]), tn.asarray([[1], [0]])).tolist()
    [[2], [3]]
    """
    x, indices = asarray(x), asarray(indices)
    axis = normal_axis(axis, x.ndim, "take_along_axis")
    if x.ndim != indices.ndim:
        raise ValueError(
            f"take_along_axis: x and indices must have as many axes, got {x.shape} and {indices.shape}."
        )
    rest = [(*t.shape[:axis], 1, *t.shape[axis + 1 :]) for t in (x, indices)]
    shape = broadcast_shapes(*rest)
    x, indices = (broadcast(t, (*shape[:axis], t.shape[axis], *shape[axis + 1 :])) for t in (x, indices))
    return take_along_axis_(x, indices, axis=axis)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The indices of the elements that are not zero, one tensor for each axis. Not for traced values.

    >>> [i.tolist() for i in tn.nonzero(tn.asarray([0, 5, 6]))]
    [[1, 2]]
    """
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("nonzero: x must have at least 1 axis, got shape ().")
    return tuple(asarray(i) for i in numpy.nonzero(numpy.asarray(x)))


# ---- keys


class Selection(NamedTuple):
    """What a key means: a slice, axes of size 1 put in, then gathering along some axes of that view."""

    cuts: Sizes  # start, count, step of each axis of x
    drop: tuple[int, ...]
    shape: Sizes  # of the view with the new axes
    gathered: tuple[int, ...]  # axes of the view
    indices: tuple[Tensor, ...]  # for those axes, of one shape


def _as_items(key: Any) -> list[Any]:
    items = list(key) if isinstance(key, tuple) else [key]
    return [_as_index(i) for i in items]


def _as_index(item: Any) -> Any:
    if isinstance(item, list):
        item = asarray(item, dtype=None if item else "int64")
    elif isinstance(item, numpy.ndarray | bool | numpy.bool_):
        item = asarray(item)
    if isinstance(item, Tensor) and item.ndim == 0 and item.dtype is bool_:
        raise IndexError("index: one bool is neither an index nor a mask; use None for a new axis.")
    return item


def _axes_used(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, Tensor) and item.dtype is bool_ else 1


def _without_ellipsis(items: list[Any], ndim: int) -> list[Any]:
    used = sum(_axes_used(item) for item in items)
    if used > ndim:
        raise IndexError(f"index: a tensor of {ndim} axes takes at most as many indices, got {used}.")
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError(f"index: at most one Ellipsis is allowed, got {len(places)}.")
    place = places[0] if places else len(items)
    return [*items[:place], *[slice(None)] * (ndim - used), *items[place + 1 :]]


def _masks_as_indices(items: list[Any], shape: Sizes) -> list[Any]:
    out: list[Any] = []
    axis = 0
    for item in items:
        if isinstance(item, Tensor) and item.dtype is bool_:
            if tuple(item.shape) != tuple(shape[axis : axis + item.ndim]):
                raise IndexError(
                    f"index: a mask of shape {item.shape} does not fit axes {axis} and on of {shape}."
                )
            out += nonzero(item)
        else:
            out.append(item)
        axis += _axes_used(item)
    return out


def _clamped(given: Any, size: Any, low: Any, high: Any) -> Any:
    at = given if isinstance(given, Size) else index(given)
    if at < 0:
        at = at + size
    return low if at < low else high if at > high else at


def _cut(item: slice, size: Any) -> tuple[Any, Any, int]:
    """Start, count and step; sizes may be symbolic."""
    step = 1 if item.step is None else index(item.step)
    if step == 0:
        raise ValueError("index: the step of a slice must not be 0.")
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (low, high) if step > 0 else (high, low)
    start = first if item.start is None else _clamped(item.start, size, low, high)
    stop = last if item.stop is None else _clamped(item.stop, size, low, high)
    if item.start is None and item.stop is None and abs(step) == 1:
        return start, size, step
    count = (
        (stop - start + (step - 1 if step > 0 else step + 1)) // step
        if abs(step) > 1
        else (stop - start) * step
    )
    return (start, count, step) if count > 0 else (0, 0, step)


def _integer(item: Any, axis: int, size: Any) -> Any:
    try:
        at = item if isinstance(item, Size) else index(item)
    except TypeError:
        raise IndexError(
            f"index: integers, slices, None, Ellipsis and integer arrays are allowed, got {item!r}."
        ) from None
    if at < -size or at >= size:
        raise IndexError(f"index {at} is out of bounds for axis {axis} of size {size}.")
    return at + size if at < 0 else at


def _is_indices(item: Any) -> bool:
    return isinstance(item, Tensor) and item.ndim > 0


def _select(x: Tensor, key: Any) -> Selection:
    items = _masks_as_indices(_without_ellipsis(_as_items(key), x.ndim), x.shape)
    gathers = any(_is_indices(item) for item in items)
    cuts: list[Any] = []
    drop, shape, gathered, indices = [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(item, slice):
            start, count, step = _cut(item, size)
            cuts += start, count, step
            shape.append(count)
        elif gathers:
            gathered.append(len(shape))
            indices.append(item if _is_indices(item) else asarray(_integer(item, axis, size)))
            cuts += 0, size, 1
            shape.append(size)
        else:
            cuts += _integer(item, axis, size), 1, 1
            drop.append(axis)
        axis += 1
    together = broadcast_shapes(*(i.shape for i in indices)) if len(indices) > 1 else ()
    same = [broadcast(i, together) for i in indices] if len(indices) > 1 else indices
    return Selection(tuple(cuts), tuple(drop), tuple(shape), tuple(gathered), tuple(same))


# ---- one axis for all gathered ones


def _front(s: Selection) -> tuple[int, ...] | None:
    """The order of axes that brings the gathered ones to the front, where something lies between them."""
    if all(b == a + 1 for a, b in pairwise(s.gathered)):
        return None
    return (*s.gathered, *(axis for axis in range(len(s.shape)) if axis not in s.gathered))


class _Merged(NamedTuple):
    x: Tensor
    at: Tensor
    axis: int
    shape: Sizes  # before merging


def _merge(y: Tensor, s: Selection) -> _Merged:
    order = _front(s)
    axis = 0 if order else s.gathered[0]
    y = transpose(y, perm=order) if order else y
    shape, n = tuple(y.shape), len(s.gathered)
    if n == 1:
        return _Merged(y, s.indices[0], axis, shape)
    merged = shape[axis : axis + n]
    flat = reshape_(y, sizes=(*shape[:axis], prod(merged[1:], start=merged[0]), *shape[axis + n :]))
    return _Merged(flat, linear_index(*s.indices, sizes=merged), axis, shape)


def _view(x: Tensor, s: Selection) -> Tensor:
    y = slice_(x, drop=s.drop, sizes=s.cuts)
    return y if y.ndim == len(s.shape) else reshape_(y, sizes=s.shape)


def getitem(x: Tensor, key: Any) -> Tensor:
    """``x[key]`` for every key."""
    s = _select(x, key)
    y = _view(x, s)
    if not s.gathered:
        return y
    merged = _merge(y, s)
    return take_(merged.x, merged.at, axis=merged.axis)


# ---- writing


def set(x: Any, key: Any, value: Any, /) -> Tensor:
    """A copy of ``x`` with ``value`` at ``x[key]``. Where ``key`` names an element twice, the last wins.

    >>> tn.set(tn.zeros(3), 1, 5.0).tolist()
    [0.0, 5.0, 0.0]
    """
    x = asarray(x)
    value = asarray(value, dtype=None if isinstance(value, Tensor) else x.dtype)
    value = value if value.dtype is x.dtype else value.astype(x.dtype)
    s = _select(x, key)
    if not s.gathered:
        kept = tuple(n for axis, n in enumerate(s.cuts[1::3]) if axis not in s.drop)
        v = reshape_(_fit(value, s.shape), sizes=kept)
    else:
        v = reshape_(_scattered(_view(x, s), value, s), sizes=s.cuts[1::3])
    return slice_update(x, v, drop=s.drop, sizes=s.cuts)


def _fit(value: Tensor, shape: Sizes) -> Tensor:
    if value.ndim > len(shape):
        raise ValueError(f"set: a value of shape {value.shape} does not fit the selection of shape {shape}.")
    return broadcast(value, shape)


def _scattered(y: Tensor, value: Tensor, s: Selection) -> Tensor:
    merged = _merge(y, s)
    shape = tuple(merged.x.shape)
    v = _fit(value, (*shape[: merged.axis], *merged.at.shape, *shape[merged.axis + 1 :]))
    written = reshape_(scatter_set(merged.x, merged.at, v, axis=merged.axis), sizes=merged.shape)
    order = _front(s)
    return transpose(written, perm=inverse_permutation(order)) if order else written


def set_by_arrays(x: Tensor, key: Any, value: Any) -> None:
    """``x[key] = value`` for keys with arrays, in the memory of an untracked tensor."""
    items = [numpy.asarray(i) if isinstance(i, Tensor) else i for i in _as_items(key)]
    numpy.asarray(x.detach())[tuple(items)] = numpy.asarray(value)
