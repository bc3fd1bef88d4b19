"""Sums, products, extrema and truth over axes.

The primitives take sorted axes and drop them; ``keepdims`` is a view put on afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.dtypes import as_dtype, float64
from taenite.ops.convert import asarray, normal_axes
from taenite.ops.creation import size_tensor
from taenite.ops.define import native, points
from taenite.ops.elementwise import TRUTH_VALUE, astype, conj, equal, real, sqrt
from taenite.ops.shape import expand, reshape_
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Sample

Axis = int | Sequence[int] | None


# ---- axes


def _axes(axis: Axis, ndim: int, who: str) -> tuple[int, ...]:
    return tuple(range(ndim)) if axis is None else tuple(sorted(normal_axes(axis, ndim, who)))


def _keep(y: Tensor, shape: tuple[Any, ...], axes: tuple[int, ...]) -> Tensor:
    """``y`` with the reduced axes back, of size 1."""
    return reshape_(y, sizes=tuple(1 if i in axes else n for i, n in enumerate(shape)))  # type: ignore[no-any-return]


def _reduced(record: Record, x: Any, axis: Axis, keepdims: bool) -> Any:
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


# ---- public functions


def _sum(x: Any, /, axis: Axis = None, *, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum over axes, by default all; of integers as int64. The error grows with the logarithm of the count.

    >>> tn.sum(tn.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [4.0, 6.0]
    """
    x = asarray(x) if dtype is None else astype(x, dtype, copy=False)
    y = _reduced(sum_, x, axis, keepdims)
    return y if dtype is None else astype(y, dtype, copy=False)


def _max(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The largest element along axes, or NaN where there is one. Equal ones share the derivative.

    >>> tn.max(tn.asarray([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [2.0, 3.0]
    """
    return _reduced(max_, x, axis, keepdims)  # type: ignore[no-any-return]


def _min(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """The smallest element along axes, or NaN where there is one. Equal ones share the derivative.

    >>> tn.min(tn.asarray([[1.0, 2.0], [3.0, 0.0]]), axis=1).tolist()
    [1.0, 0.0]
    """
    return _reduced(min_, x, axis, keepdims)  # type: ignore[no-any-return]


def _any(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Whether some element along the axes is true (not 0).

    >>> tn.any(tn.asarray([[True, False], [False, False]]), axis=1).tolist()
    [True, False]
    """
    return _reduced(any_, x, axis, keepdims)  # type: ignore[no-any-return]


def _all(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Whether every element along the axes is true (not 0).

    >>> tn.all(tn.asarray([[True, True], [True, False]]), axis=1).tolist()
    [True, False]
    """
    return _reduced(all_, x, axis, keepdims)  # type: ignore[no-any-return]


def _native(record: Record, definition: Callable[..., Tensor]) -> Callable[..., Tensor]:
    definition.__name__ = definition.__qualname__ = record.name
    return native(record, definition, reduces=True)


sum = _native(sum_, _sum)
max = _native(max_, _max)
min = _native(min_, _min)
any = _native(any_, _any)
all = _native(all_, _all)


# ---- statistics


def _count(x: Tensor, axes: tuple[int, ...]) -> Any:
    """How many elements are reduced: a number, or a tensor in a trace."""
    count = 1
    for axis in axes:
        count = count * x.shape[axis]
    return count if isinstance(count, int) else size_tensor(count, dtype=real(x).dtype)


def _inexact(x: Any) -> Tensor:
    x = asarray(x)
    return x if x.dtype.kind in "fc" else astype(x, float64)


def mean(x: Any, /, axis: Axis = None, *, keepdims: bool = False) -> Tensor:
    """Arithmetic mean over axes, by default all; of integers as float64.

    >>> tn.mean(tn.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=0).tolist()
    [2.0, 3.0]
    """
    x = _inexact(x)
    return _reduced(sum_, x, axis, keepdims) / _count(x, _axes(axis, x.ndim, "mean"))  # type: ignore[no-any-return]


def var(x: Any, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Variance over axes: the sum of squared distances from the mean, over the count less ``correction``.

    >>> tn.var(tn.asarray([1.0, 2.0, 3.0, 4.0])).item()
    1.25
    """
    x = _inexact(x)
    deviation = x - mean(x, axis, keepdims=True)
    squares = _reduced(sum_, real(deviation * conj(deviation)), axis, keepdims)
    return squares / (_count(x, _axes(axis, x.ndim, "var")) - correction)  # type: ignore[no-any-return]


def std(x: Any, /, axis: Axis = None, *, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """Standard deviation over axes: the square root of ``var``.

    >>> tn.std(tn.asarray([1.0, 3.0])).item()
    1.0
    """
    return sqrt(var(x, axis, correction=correction, keepdims=keepdims))
