# mypy: disable-error-code="empty-body"
"""Arithmetic of each element: sums to remainders, rounding, complex parts, choice and conversion.

They broadcast and promote natively. Rules never see that: each states dy/dx for one element, with ``y`` the
result, and the engine sums cotangents to the shapes of the operands.
"""

from __future__ import annotations

from typing import Any

import numpy

from taenite._core import Tensor
from taenite.dtypes import as_dtype
from taenite.ops.comparison import equal, greater, greater_equal, less, less_equal
from taenite.ops.convert import asarray
from taenite.ops.creation import CODES
from taenite.ops.define import elementwise, native, points
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Sample

PIECEWISE_CONSTANT = NotDifferentiable("it is constant between its jumps")


# ---- arithmetic


@elementwise(derivative=(lambda a, b, y: 1, lambda a, b, y: 1), reference=numpy.add)
def add(x1: Any, x2: Any, /) -> Tensor:
    """Sum.

    >>> tn.add(tn.asarray([1.0, 2.0]), 1).tolist()
    [2.0, 3.0]
    """


@elementwise(derivative=(lambda a, b, y: 1, lambda a, b, y: -1), reference=numpy.subtract)
def subtract(x1: Any, x2: Any, /) -> Tensor:
    """Difference.

    >>> tn.subtract(tn.asarray([1.0, 2.0]), 1).tolist()
    [0.0, 1.0]
    """


@elementwise(derivative=(lambda a, b, y: b, lambda a, b, y: a), reference=numpy.multiply)
def multiply(x1: Any, x2: Any, /) -> Tensor:
    """Product.

    >>> tn.multiply(tn.asarray([1.0, 2.0]), 3).tolist()
    [3.0, 6.0]
    """


def _divide_vjp(g: Any, x: Any, y: Any, *, need: Any, sizes: Any) -> Any:
    scaled = g[0] / conj(x[1])
    return scaled if need[0] else None, -scaled * conj(y[0]) if need[1] else None


@elementwise(vjp=_divide_vjp, reference=numpy.divide, domain=((-2.0, 2.0), (0.5, 2.0)))
def divide(x1: Any, x2: Any, /) -> Tensor:
    """Quotient; that of integers is float64.

    >>> tn.divide(tn.asarray([1, 2]), 2).tolist()
    [0.5, 1.0]
    """


@elementwise(
    derivative=PIECEWISE_CONSTANT,
    reference=numpy.floor_divide,
    domain=((-4.0, 4.0), (1.0, 3.0)),
    kinds="f",
)
def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """The largest integer that is not above the quotient.

    >>> tn.floor_divide(tn.asarray([-3, 3]), 2).tolist()
    [-2, 1]
    """


@elementwise(
    derivative=(lambda a, b, y: 1, lambda a, b, y: -floor_divide(a, b)),
    reference=numpy.remainder,
    domain=((0.2, 0.8), (1.0, 3.0)),
    kinds="f",
)
def remainder(x1: Any, x2: Any, /) -> Tensor:
    """What floor division leaves; it has the sign of the divisor.

    >>> tn.remainder(tn.asarray([-3, 3]), 2).tolist()
    [1, 1]
    """


@elementwise(derivative=lambda x, y: -1, reference=numpy.negative)
def negative(x: Any, /) -> Tensor:
    """The number with the other sign.

    >>> tn.negative(tn.asarray([1.0, -2.0])).tolist()
    [-1.0, 2.0]
    """


@elementwise(vjp=lambda g, x, y, **_: (g[0] * sign(x[0]),), reference=numpy.abs, domain=(0.5, 2.0))
def abs(x: Any, /) -> Tensor:
    """Absolute value. Its derivative at 0 is 0.

    >>> tn.abs(tn.asarray([-1.0, 3.0 + 4.0j])).tolist()
    [1.0, 5.0]
    """


def _sign_vjp(g: Any, x: Any, y: Any, *, need: Any, sizes: Any) -> Any:
    # dy = (dx - y Re(conj(y) dx)) / |x|: what turns x and does not stretch it
    if x[0].dtype.kind != "c":
        return (None,)
    size = abs(x[0])
    inverse = where(equal(size, 0), 0, reciprocal(where(equal(size, 0), 1, size)))
    return ((g[0] - y[0] * real(conj(y[0]) * g[0])) * inverse,)


@elementwise(vjp=_sign_vjp, reference=numpy.sign, domain=(0.5, 2.0))
def sign(x: Any, /) -> Tensor:
    """-1, 0 or 1; x / abs(x) for a complex number.

    >>> tn.sign(tn.asarray([-3.0, 0.0, 2.0])).tolist()
    [-1.0, 0.0, 1.0]
    """


@elementwise(derivative=lambda x, y: 2 * x, reference=numpy.square)
def square(x: Any, /) -> Tensor:
    """x times x.

    >>> tn.square(tn.asarray([3.0])).tolist()
    [9.0]
    """


@elementwise(derivative=lambda x, y: -(y * y), reference=numpy.reciprocal, domain=(0.5, 2.0))
def reciprocal(x: Any, /) -> Tensor:
    """One over x.

    >>> tn.reciprocal(tn.asarray([4.0])).tolist()
    [0.25]
    """


@elementwise(
    derivative=(
        lambda a, b, y: 0.5 * _indicator(greater(a, b), greater_equal(a, b), y),
        lambda a, b, y: 0.5 * _indicator(greater(b, a), greater_equal(b, a), y),
    ),
    reference=numpy.maximum,
    domain=((0.5, 1.2), (1.3, 2.0)),
    kinds="f",
)
def maximum(x1: Any, x2: Any, /) -> Tensor:
    """The larger one, or NaN where there is one. Equal operands share the derivative.

    >>> tn.maximum(tn.asarray([1.0, 3.0]), 2).tolist()
    [2.0, 3.0]
    """


@elementwise(
    derivative=(
        lambda a, b, y: 0.5 * _indicator(less(a, b), less_equal(a, b), y),
        lambda a, b, y: 0.5 * _indicator(less(b, a), less_equal(b, a), y),
    ),
    reference=numpy.minimum,
    domain=((0.5, 1.2), (1.3, 2.0)),
    kinds="f",
)
def minimum(x1: Any, x2: Any, /) -> Tensor:
    """The smaller one, or NaN where there is one. Equal operands share the derivative.

    >>> tn.minimum(tn.asarray([1.0, 3.0]), 2).tolist()
    [1.0, 2.0]
    """


def _indicator(strictly: Tensor, weakly: Tensor, like: Tensor) -> Tensor:
    """2 where both hold, 1 where one does."""
    return astype(strictly, like.dtype) + astype(weakly, like.dtype)


def _safe(y: Tensor) -> Tensor:
    return where(equal(y, 0), 1, y)


@elementwise(
    derivative=(lambda a, b, y: a / _safe(y), lambda a, b, y: b / _safe(y)),
    reference=numpy.hypot,
    domain=(0.5, 2.0),
    kinds="f",
)
def hypot(x1: Any, x2: Any, /) -> Tensor:
    """sqrt(x1 ** 2 + x2 ** 2) without overflow on the way. Its derivative at (0, 0) is 0.

    >>> tn.hypot(tn.asarray(3.0), 4).item()
    5.0
    """


@elementwise(
    derivative=(lambda a, b, y: sign(a) * sign(y), None),
    reference=numpy.copysign,
    domain=((0.5, 2.0), (-2.0, -0.5)),
    kinds="f",
)
def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The size of the first with the sign of the second.

    >>> tn.copysign(tn.asarray([1.0, 2.0]), -0.0).tolist()
    [-1.0, -2.0]
    """


@elementwise(derivative=PIECEWISE_CONSTANT, reference=numpy.nextafter, kinds="f")
def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The next floating-point number on the way from the first to the second.

    >>> tn.nextafter(tn.asarray(1.0), 2).item() - 1.0
    2.220446049250313e-16
    """


# ---- rounding


@elementwise(derivative=PIECEWISE_CONSTANT, reference=numpy.floor, kinds="f")
def floor(x: Any, /) -> Tensor:
    """The largest integer that is not above x.

    >>> tn.floor(tn.asarray([-1.5])).tolist()
    [-2.0]
    """


@elementwise(derivative=PIECEWISE_CONSTANT, reference=numpy.ceil, kinds="f")
def ceil(x: Any, /) -> Tensor:
    """The smallest integer that is not below x.

    >>> tn.ceil(tn.asarray([1.5])).tolist()
    [2.0]
    """


@elementwise(derivative=PIECEWISE_CONSTANT, reference=numpy.trunc, kinds="f")
def trunc(x: Any, /) -> Tensor:
    """The next integer towards 0.

    >>> tn.trunc(tn.asarray([-1.5])).tolist()
    [-1.0]
    """


@elementwise(derivative=PIECEWISE_CONSTANT, reference=numpy.round, kinds="f")
def round(x: Any, /) -> Tensor:
    """The nearest integer; the even one of two.

    >>> tn.round(tn.asarray([1.5, 2.5])).tolist()
    [2.0, 2.0]
    """


# ---- complex numbers


@elementwise(adjoint=lambda g, x, **_: conj(g), reference=numpy.conj)
def conj(x: Any, /) -> Tensor:
    """Complex conjugate; a real operand itself, without a copy.

    >>> tn.conj(tn.asarray([1 + 2j])).tolist()
    [(1-2j)]
    """


@elementwise(adjoint=lambda g, x, **_: g, reference=numpy.real)
def real(x: Any, /) -> Tensor:
    """Real part, as a view.

    >>> tn.real(tn.asarray([1 + 2j])).tolist()
    [1.0]
    """


def _imag_adjoint(g: Tensor, x: Tensor, **_: Any) -> Tensor | None:
    return g * 1j if x.dtype.kind == "c" else None


@elementwise(adjoint=_imag_adjoint, reference=numpy.imag)
def imag(x: Any, /) -> Tensor:
    """Imaginary part, as a view of a complex operand.

    >>> tn.imag(tn.asarray([1 + 2j])).tolist()
    [2.0]
    """


# ---- choice and conversion


def _where_samples() -> Any:
    rng = numpy.random.default_rng(7)
    for kinds in ["bff", "bfc", "bcc", "bif"]:
        yield Sample([points(rng, (2, 3), (-2, 2), kind) for kind in kinds])
    yield Sample([points(rng, s, (-2, 2), k) for s, k in [((3,), "b"), ((2, 1), "f"), ((), "f")]])
    yield Sample([points(rng, (0, 3), (-2, 2), k) for k in "bff"])


_where = Record(
    "where",
    adjoint=(None, lambda g, c, a, b, **_: where(c, g, 0), lambda g, c, a, b, **_: where(c, 0, g)),
    reference=numpy.where,
    samples=_where_samples,
    errors=lambda: [ErrorInput(lambda: where(1.0, 2.0, 3.0), TypeError, "condition must be bool")],
)


def _where_definition(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    """The first where the condition is true, else the second.

    >>> tn.where(tn.asarray([True, False]), 1.0, 2.0).tolist()
    [1.0, 2.0]
    """


_where_definition.__name__ = _where_definition.__qualname__ = "where"
where = native(_where, _where_definition)


def _astype_samples() -> Any:
    rng = numpy.random.default_rng(7)
    for kinds in ["fc", "cc", "ff", "if", "fi", "cf"]:
        code = {"f": 10, "c": 12, "i": 4}[kinds[1]]
        yield Sample([points(rng, (2, 3), (-2, 2), kinds[0])], dtype=code)
    yield Sample([points(rng, (), (-2, 2), "f")], dtype=12)


astype_ = Record(
    "astype",
    attrs=("dtype",),
    adjoint=lambda g, x, **_: g,
    reference=lambda x, dtype: (
        numpy.real(x).astype(float) if dtype == 10 else x.astype("?bhilBHILfdFD"[dtype])
    ),
    samples=_astype_samples,
    errors=lambda: [
        ErrorInput(lambda: astype(1.0, "text"), TypeError, "dtype must be one of"),
        ErrorInput(lambda: astype(1j, float), TypeError, "imaginary part"),
    ],
)


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Tensor:
    """The elements of x as another dtype. ``copy=False`` gives x itself where it has that dtype already.

    >>> tn.astype(tn.asarray([1.7]), tn.int64).tolist()
    [1]
    """
    y, dtype = asarray(x), as_dtype(dtype)
    if dtype is y.dtype and not copy:
        return y
    if y.dtype.kind == "c" and dtype.kind not in "cb":
        raise TypeError(f"astype: {dtype} would lose the imaginary part of {y.dtype}; use real(x) or abs(x).")
    return astype_(y, dtype=CODES[dtype])


def positive(x: Any, /) -> Tensor:
    """A copy of x.

    >>> tn.positive(tn.asarray([1.0])).tolist()
    [1.0]
    """
    return +asarray(x)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """x, but not below ``min`` and not above ``max``. The derivative is 1 from bound to bound.

    >>> tn.clip(tn.asarray([-1.0, 0.5, 3.0]), 0, 1).tolist()
    [0.0, 0.5, 1.0]
    """
    y = asarray(x)
    if min is not None:
        y = where(less(y, min), min, y)
    if max is not None:
        y = where(greater(y, max), max, y)
    return y
