"""Sums, products, extrema and truth over axes.

The primitives take sorted axes and drop them; ``keepdims`` is a view put on afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.dtypes import int64, uint64
from taenite.ops.arithmetic import astype, conj, real
from taenite.ops.comparison import TRUTH_VALUE, equal
from taenite.ops.convert import asarray, inexact, inverse_permutation, normal_axes, normal_axis
from taenite.ops.creation import size_tensor
from taenite.ops.define import native, points
from taenite.ops.parts import concat
from taenite.ops.shape import broadcast, expand, reshape_, transpose
from taenite.ops.transcendental import sqrt
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Sample

Axis = int | Sequence[int] | None


# ---- axes


def _axes(axis: Axis, ndim: int, who: str) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else tuple(sorted(normal_axes(axis, ndim, who)))


def _keep(y: Tensor, shape: tuple[Any, ...], axes: tuple[int, ...]) -> Tensor:
    """``y`` with the reduced axes back, of size 1."""
    return reshape_(y, sizes=tuple(1 if i in axes else n for i, n in enumerate(shape)))


def _reduced(record: Record, x: Any, axis: Axis, keepdims: bool) -> Tensor:
    x = asarray(x)
    axes = _axes(axis, x.ndim, record.name)
    y = record(x, axes=axes)
    return _keep(y, x.shape, axes) if keepdims else y


# ---- records


def _samples(kinds: str) -> Callable[[], Iterator[Sample]]:
    def samples() -> Iterator[Sample]:
        rng = numpy.random.default_rng(7)
        for kind in kinds:
            for shape, axes in [((), ()), ((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((2, 3, 4), (0, 2))]:
                yield Sample([points(rng, shape, (0.5, 2.0), kind)], axes=axes)
            yield Sample([points(rng, (2, 3), (0.5, 2.0), kind)], axes=())
            yield Sample([points(rng, (0, 3), (0.5, 2.0), kind)], axes=(1,))

    return samples


def _errors(function: Callable[[], Any]) -> Callable[[], list[ErrorInput]]:
    return lambda: [
        ErrorInput(lambda: function()([1.0], axis=1), IndexError, "axis 1 is out of bounds"),
        ErrorInput(lambda: function()("text"), TypeError, "dtype must be one of"),
    ]


def _over_axes(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axes: function(x, axis=axes)


sum_ = Record(
    "sum",
    attrs=("axes",),
    adjoint=lambda g, x, *, sizes, axes: expand(g, x.shape, axes),
    reference=_over_axes(numpy.sum),
    samples=_samples("fcib"),
    errors=_errors(lambda: sum),
)


def _extremum_vjp(g: Any, x: Any, y: Any, *, need: Any, sizes: Any, axes: tuple[int, ...]) -> Any:
    (x,), (y,), (g,) = x, y, g
    chosen = astype(equal(x, expand(y, x.shape, axes)), x.dtype)
    return (chosen * expand(g / sum_(chosen, axes=axes), x.shape, axes),)


max_ = Record(
    "max",
    attrs=("axes",),
    vjp=_extremum_vjp,
    reference=_over_axes(numpy.max),
    samples=_samples("fi"),
    errors=_errors(lambda: max),
)
min_ = Record(
    "min",
    attrs=("axes",),
    vjp=_extremum_vjp,
    reference=_over_axes(numpy.min),
    samples=_samples("fi"),
    errors=_errors(lambda: min),
)
any_ = Record(
    "any",
    attrs=("axes",),
    derivative=TRUTH_VALUE,
    reference=_over_axes(numpy.any),
    samples=_samples("bfc"),
    errors=_errors(lambda: any),
)
all_ = Record(
    "all",
    attrs=("axes",),
    derivative=TRUTH_VALUE,
    reference=_over_axes(numpy.all),
    samples=_samples("bfc"),
    errors=_errors(lambda: all),
)


# ---- recurrences, and with them the derivative of products


def _scan_vjp(g: Any, x: Any, y: Any, *, need: Any, sizes: Any, axis: int, reverse: int) -> Any:
    # Backwards: what s[k] is worth is g[k] plus what it adds to s[k + 1].
    by = -1 if reverse else 1
    following = conj(shift(x[0], axis=axis, by=-by))
    worth = linear_scan(following, g[0], axis=axis, reverse=1 - reverse)
    return worth * conj(shift(y[0], axis=axis, by=by)) if need[0] else None, worth if need[1] else None


def _scan_reference(a: Any, b: Any, *, axis: int, reverse: int) -> Any:
    a, b = numpy.moveaxis(a, axis, 0), numpy.moveaxis(b, axis, 0)
    s = numpy.empty_like(b)
    previous = 0
    for k in range(len(b))[:: -1 if reverse else 1]:
        previous = s[k] = a[k] * previous + b[k]
    return numpy.moveaxis(s, 0, axis)


def _scan_samples() -> Iterator[Sample]:
    rng = numpy.random.default_rng(7)
    for kind in "fc":
        for shape, axis, reverse in [((5,), 0, 0), ((3, 4), 0, 1), ((3, 4), 1, 0), ((0, 3), 0, 0)]:
            operands = [points(rng, shape, (-1.0, 1.0), kind) for _ in range(2)]
            yield Sample(operands, axis=axis, reverse=reverse)


linear_scan = Record(
    "linear_scan",
    attrs=("axis", "reverse"),
    vjp=_scan_vjp,
    reference=_scan_reference,
    samples=_scan_samples,
    errors=lambda: [
        ErrorInput(
            lambda: linear_scan(asarray([1.0]), asarray([1]), axis=0, reverse=0),
            TypeError,
            "dtypes must agree",
        ),
        ErrorInput(
            lambda: linear_scan(asarray([1.0]), asarray([1.0, 2.0]), axis=0, reverse=0),
            ValueError,
            "shapes must",
        ),
    ],
)


def _shift_reference(x: Any, *, axis: int, by: int) -> Any:
    rows = numpy.moveaxis(x, axis, 0)
    y = numpy.zeros_like(rows)
    if by > 0:
        y[by:] = rows[:-by]
    else:
        y[:by] = rows[-by:]
    return numpy.moveaxis(y, 0, axis)


shift = Record(
    "shift",
    attrs=("axis", "by"),
    adjoint=lambda g, x, *, sizes, axis, by: shift(g, axis=axis, by=-by),
    reference=_shift_reference,
    samples=lambda: [
        Sample([numpy.arange(12.0).reshape(3, 4)], axis=axis, by=by) for axis, by in [(0, 1), (1, -1), (1, 2)]
    ],
    errors=lambda: [ErrorInput(lambda: shift(1.0, axis=0, by=1), TypeError, "operands must be Tensors")],
)


def _first(x: Tensor, axis: int, by: int) -> Tensor:
    """1 in the first place (seen in the direction of a shift) along an axis, 0 elsewhere."""
    ones = broadcast(asarray(1, dtype=x.dtype), x.shape)
    return ones - shift(ones, axis=axis, by=by)


def _product_before(x: Tensor, axis: int, reverse: int) -> Tensor:
    """The product of all elements before each one."""
    by = -1 if reverse else 1
    return linear_scan(shift(x, axis=axis, by=by), _first(x, axis, by), axis=axis, reverse=reverse)


def _prod_vjp(g: Any, x: Any, y: Any, *, need: Any, sizes: Any, axes: tuple[int, ...]) -> Any:
    # The product of all others, without a division: right with zeros, and so are its own derivatives.
    (x,), (g,) = x, g
    kept = tuple(axis for axis in range(x.ndim) if axis not in axes)
    perm = kept + axes
    moved = transpose(x, perm=perm)
    count = math.prod(x.shape[axis] for axis in axes)
    rows = reshape_(moved, sizes=(*(x.shape[axis] for axis in kept), count))
    others = _product_before(rows, len(kept), 0) * _product_before(rows, len(kept), 1)
    back = transpose(reshape_(others, sizes=moved.shape), perm=inverse_permutation(perm))
    return (conj(back) * expand(g, x.shape, axes),)


prod_ = Record(
    "prod",
    attrs=("axes",),
    vjp=_prod_vjp,
    reference=_over_axes(numpy.prod),
    samples=_samples("fcib"),
    errors=_errors(lambda: prod),
)


# ---- positions


def _flat_or_along(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *, axes: function(x, axis=axes[0] if len(axes) == 1 else None)


def _position_samples() -> Iterator[Sample]:
    rng = numpy.random.default_rng(7)
    for kind in "fi":
        for shape, axes in [((), ()), ((5,), (0,)), ((3, 4), (0,)), ((3, 4), (1,)), ((2, 3, 4), (0, 1, 2))]:
            yield Sample([points(rng, shape, (-9.0, 9.0), kind)], axes=axes)


def _position(name: str, reference: Callable[..., Any]) -> Record:
    return Record(
        name,
        attrs=("axes",),
        derivative=NotDifferentiable("its result is a position"),
        reference=_flat_or_along(reference),
        samples=_position_samples,
        errors=_errors(lambda: globals()[name]),
    )


argmax_ = _position("argmax", numpy.argmax)
argmin_ = _position("argmin", numpy.argmin)


# ---- public functions


def _sum(x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes, by default all; of integers as int64. The error grows with the logarithm of the count.

    >>> tn.sum(tn.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
    x = asarray(x) if dtype is None else astype(x, dtype, copy=False)
    y = _reduced(sum_, x, axis, keepdims)
    return y if dtype is None else astype(y, dtype, copy=False)


def _prod(x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Product over axes, by default all; of integers as int64.

    >>> tn.prod(tn.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [3.0, 8.0]
    """
    x = asarray(x) if dtype is None else astype(x, dtype, copy=False)
    y = _reduced(prod_, x, axis, keepdims)
    return y if dtype is None else astype(y, dtype, copy=False)


def _max(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The largest element along axes, or NaN where there is one. Equal ones share the derivative.

    >>> tn.max(tn.asarray([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [2.0, 3.0]
    """
    return _reduced(max_, x, axis, keepdims)


def _min(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The smallest element along axes, or NaN where there is one. Equal ones share the derivative.

    >>> tn.min(tn.asarray([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [1.0, 0.0]
    """
    return _reduced(min_, x, axis, keepdims)


def _any(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Whether some element along the axes is true (not 0).

    >>> tn.any(tn.asarray([[True, False], [False, False]]), axis=1).tolist()
    [True, False]
    """
    return _reduced(any_, x, axis, keepdims)


def _all(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Whether every element along the axes is true (not 0).

    >>> tn.all(tn.asarray([[True, True], [True, False]]), axis=1).tolist()
    [True, False]
    """
    return _reduced(all_, x, axis, keepdims)


def _native(record: Record, definition: Callable[..., Tensor]) -> Callable[..., Tensor]:
    definition.__name__ = definition.__qualname__ = record.name
    return native(record, definition, reduces=True)


sum = _native(sum_, _sum)
prod = _native(prod_, _prod)
max = _native(max_, _max)
min = _native(min_, _min)
any = _native(any_, _any)
all = _native(all_, _all)


def argmax(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The first index of the largest element (or of NaN) along an axis, or in row-major order.

    >>> tn.argmax(tn.asarray([[1, 3], [2, 0]]), axis=1).tolist()
    [1, 0]
    """
    return _reduced(argmax_, x, axis, keepdims)


def argmin(x: Any, /, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """The first index of the smallest element (or of NaN) along an axis, or in row-major order.

    >>> tn.argmin(tn.asarray([[1, 3], [2, 0]]), axis=1).tolist()
    [0, 1]
    """
    return _reduced(argmin_, x, axis, keepdims)


def _accumulated(who: str, x: Any, axis: int | None, dtype: Any) -> tuple[Tensor, int]:
    x = asarray(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"{who}: axis is needed for a tensor of {x.ndim} dimensions.")
    if dtype is None and x.dtype.kind in "biu":
        dtype = uint64 if x.dtype.kind == "u" else int64
    x = x if dtype is None else astype(x, dtype, copy=False)
    return x, normal_axis(0 if axis is None else axis, x.ndim, who)


def _with_initial(y: Tensor, axis: int, initial: int, wanted: bool) -> Tensor:
    if not wanted:
        return y
    shape = tuple(1 if i == axis else n for i, n in enumerate(y.shape))
    return concat([broadcast(asarray(initial, dtype=y.dtype), shape), y], axis=axis)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Sums of the elements up to each one along an axis; with the empty sum in front if asked for.

    >>> tn.cumulative_sum(tn.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 3.0, 6.0]
    """
    x, axis = _accumulated("cumulative_sum", x, axis, dtype)
    ones = broadcast(asarray(1, dtype=x.dtype), x.shape)
    return _with_initial(linear_scan(ones, x, axis=axis, reverse=0), axis, 0, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """Products of the elements up to each one along an axis; with the empty product in front if asked for.

    >>> tn.cumulative_prod(tn.asarray([1.0, 2.0, 3.0])).tolist()
    [1.0, 2.0, 6.0]
    """
    x, axis = _accumulated("cumulative_prod", x, axis, dtype)
    products = linear_scan(x, _first(x, axis, 1) * x, axis=axis, reverse=0)
    return _with_initial(products, axis, 1, include_initial)


# ---- statistics


def _count(x: Tensor, axes: tuple[int, ...]) -> Any:
    """How many elements are reduced: a number, or a tensor in a trace."""
    count = 1
    for axis in axes:
        count = count * x.shape[axis]
    return count if isinstance(count, int) else size_tensor(count, dtype=real(x).dtype)


def mean(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Arithmetic mean over axes, by default all; of integers as float64.

    >>> tn.mean(tn.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [2.0, 3.0]
    """
    y = inexact(x)
    average: Tensor = _reduced(sum_, y, axis, keepdims) / _count(y, _axes(axis, y.ndim, "mean"))
    return average


def var(x: Any, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Variance over axes: the sum of squared distances from the mean, over the count less ``correction``.

    >>> tn.var(tn.asarray([1.0, 2.0, 3.0, 4.0])).item()
    1.25
    """
    y = inexact(x)
    deviation = y - mean(y, axis, keepdims=True)
    squares = _reduced(sum_, real(deviation * conj(deviation)), axis, keepdims)
    variance: Tensor = squares / (_count(y, _axes(axis, y.ndim, "var")) - correction)
    return variance


def std(x: Any, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Standard deviation over axes: the square root of ``var``.

    >>> tn.std(tn.asarray([1.0, 3.0])).item()
    1.0
    """
    return sqrt(var(x, axis, correction=correction, keepdims=keepdims))
