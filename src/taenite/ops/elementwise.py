# mypy: disable-error-code="empty-body"
"""Functions of each element: arithmetic, comparison, exponentials and trigonometry, complex parts.

They broadcast and promote natively. Rules never see that: each states dy/dx for one element, with ``y`` the
result, and the engine sums cotangents to the shapes of the operands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.dtypes import as_dtype
from taenite.ops.convert import asarray
from taenite.ops.creation import CODES
from taenite.ops.define import elementwise, native, points
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Sample

LN2, LN10 = math.log(2.0), math.log(10.0)
TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
PIECEWISE_CONSTANT = NotDifferentiable("it is constant between its jumps")
TRUTH_VALUE = NotDifferentiable("its result is a truth value")
INTEGER = NotDifferentiable("its result is an integer or a truth value")

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


def _power_by_base(a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    constant = equal(b, 0)  # x ** 0 is 1 at x = 0 too, where b * a ** (b - 1) is not a number
    return where(constant, 0, b) * pow(a, where(constant, 1, b - 1))


def _power_by_exponent(a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    return y * log(where(equal(a, 0), 1, a))  # 0 ** b is 0 around b > 0


@elementwise(
    derivative=(_power_by_base, _power_by_exponent), reference=numpy.power, domain=((0.5, 2.0), (-2.0, 2.0))
)
def pow(x1: Any, x2: Any, /) -> Tensor:
    """The first to the power of the second.

    >>> tn.pow(tn.asarray([2.0, 3.0]), 2).tolist()
    [4.0, 9.0]
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


@elementwise(derivative=lambda x, y: 0.5 / y, reference=numpy.sqrt, domain=(0.5, 2.0))
def sqrt(x: Any, /) -> Tensor:
    """Square root. Its derivative at 0 is infinite.

    >>> tn.sqrt(tn.asarray([4.0])).tolist()
    [2.0]
    """


@elementwise(
    derivative=lambda x, y: -0.5 * y * y * y,
    reference=lambda x: 1 / numpy.sqrt(x),
    domain=(0.5, 2.0),
)
def rsqrt(x: Any, /) -> Tensor:
    """One over the square root.

    >>> tn.rsqrt(tn.asarray([4.0])).tolist()
    [0.5]
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


# ---- exponentials and logarithms


@elementwise(derivative=lambda x, y: y, reference=numpy.exp)
def exp(x: Any, /) -> Tensor:
    """e to the power of x.

    >>> tn.exp(tn.asarray([0.0])).tolist()
    [1.0]
    """


@elementwise(derivative=lambda x, y: LN2 * y, reference=numpy.exp2)
def exp2(x: Any, /) -> Tensor:
    """2 to the power of x.

    >>> tn.exp2(tn.asarray([3.0])).tolist()
    [8.0]
    """


@elementwise(derivative=lambda x, y: exp(x), reference=numpy.expm1)
def expm1(x: Any, /) -> Tensor:
    """exp(x) - 1, accurate near 0.

    >>> tn.expm1(tn.asarray([1e-20])).tolist()
    [1e-20]
    """


@elementwise(derivative=lambda x, y: reciprocal(x), reference=numpy.log, domain=(0.5, 2.0))
def log(x: Any, /) -> Tensor:
    """Natural logarithm.

    >>> tn.log(tn.asarray([1.0])).tolist()
    [0.0]
    """


@elementwise(derivative=lambda x, y: reciprocal(LN2 * x), reference=numpy.log2, domain=(0.5, 2.0))
def log2(x: Any, /) -> Tensor:
    """Logarithm to base 2.

    >>> tn.log2(tn.asarray([8.0])).tolist()
    [3.0]
    """


@elementwise(derivative=lambda x, y: reciprocal(LN10 * x), reference=numpy.log10, domain=(0.5, 2.0))
def log10(x: Any, /) -> Tensor:
    """Logarithm to base 10.

    >>> tn.log10(tn.asarray([100.0])).tolist()
    [2.0]
    """


@elementwise(derivative=lambda x, y: reciprocal(1 + x), reference=numpy.log1p, domain=(-0.5, 2.0))
def log1p(x: Any, /) -> Tensor:
    """log(1 + x), accurate near 0.

    >>> tn.log1p(tn.asarray([1e-20])).tolist()
    [1e-20]
    """


def _share_of_sum(a: Tensor, b: Tensor, y: Tensor) -> Tensor:
    """exp(a) / exp(y), y = logaddexp(a, b). Where y is infinite, its limit; equals have equal shares."""
    limit = where(equal(a, b), -math.log(2), where(equal(a, y), 0.0, -math.inf))
    return exp(where(isinf(y), limit, a - y))


@elementwise(
    derivative=(lambda a, b, y: _share_of_sum(a, b, y), lambda a, b, y: _share_of_sum(b, a, y)),
    reference=numpy.logaddexp,
    kinds="f",
)
def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """log(exp(x1) + exp(x2)) without overflow on the way.

    >>> tn.logaddexp(tn.asarray(1000.0), 0).item()
    1000.0
    """


@elementwise(
    derivative=lambda x, y: TWO_OVER_SQRT_PI * exp(-x * x),
    reference=numpy.vectorize(math.erf, otypes=[float]),
    kinds="f",
)
def erf(x: Any, /) -> Tensor:
    """Error function.

    >>> tn.erf(tn.asarray([0.0])).tolist()
    [0.0]
    """


@elementwise(
    derivative=lambda x, y: -TWO_OVER_SQRT_PI * exp(-x * x),
    reference=numpy.vectorize(math.erfc, otypes=[float]),
    kinds="f",
)
def erfc(x: Any, /) -> Tensor:
    """1 - erf(x), accurate for large x.

    >>> tn.erfc(tn.asarray([0.0])).tolist()
    [1.0]
    """


# ---- circular and hyperbolic functions


@elementwise(derivative=lambda x, y: cos(x), reference=numpy.sin)
def sin(x: Any, /) -> Tensor:
    """Sine.

    >>> tn.sin(tn.asarray([0.0])).tolist()
    [0.0]
    """


@elementwise(derivative=lambda x, y: -sin(x), reference=numpy.cos)
def cos(x: Any, /) -> Tensor:
    """Cosine.

    >>> tn.cos(tn.asarray([0.0])).tolist()
    [1.0]
    """


@elementwise(derivative=lambda x, y: 1 + y * y, reference=numpy.tan, domain=(-1.2, 1.2))
def tan(x: Any, /) -> Tensor:
    """Tangent.

    >>> tn.tan(tn.asarray([0.0])).tolist()
    [0.0]
    """


@elementwise(
    derivative=lambda x, y: reciprocal(sqrt(1 - x) * sqrt(1 + x)), reference=numpy.arcsin, domain=(-0.8, 0.8)
)
def asin(x: Any, /) -> Tensor:
    """Inverse sine, between -pi/2 and pi/2.

    >>> tn.asin(tn.asarray([0.0])).tolist()
    [0.0]
    """


@elementwise(
    derivative=lambda x, y: -reciprocal(sqrt(1 - x) * sqrt(1 + x)), reference=numpy.arccos, domain=(-0.8, 0.8)
)
def acos(x: Any, /) -> Tensor:
    """Inverse cosine, between 0 and pi.

    >>> tn.acos(tn.asarray([1.0])).tolist()
    [0.0]
    """


@elementwise(derivative=lambda x, y: reciprocal(1 + x * x), reference=numpy.arctan)
def atan(x: Any, /) -> Tensor:
    """Inverse tangent, between -pi/2 and pi/2.

    >>> tn.atan(tn.asarray([0.0])).tolist()
    [0.0]
    """


def _over_square(part: Tensor, a: Tensor, b: Tensor) -> Tensor:
    r = hypot(a, b)
    return part / r / r


@elementwise(
    derivative=(lambda a, b, y: _over_square(b, a, b), lambda a, b, y: -_over_square(a, a, b)),
    reference=numpy.arctan2,
    domain=(0.5, 2.0),
    kinds="f",
)
def atan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point (x2, x1), between -pi and pi.

    >>> tn.atan2(tn.asarray([0.0]), 1).tolist()
    [0.0]
    """


@elementwise(derivative=lambda x, y: cosh(x), reference=numpy.sinh)
def sinh(x: Any, /) -> Tensor:
    """Hyperbolic sine.

    >>> tn.sinh(tn.asarray([0.0])).tolist()
    [0.0]
    """


@elementwise(derivative=lambda x, y: sinh(x), reference=numpy.cosh)
def cosh(x: Any, /) -> Tensor:
    """Hyperbolic cosine.

    >>> tn.cosh(tn.asarray([0.0])).tolist()
    [1.0]
    """


@elementwise(derivative=lambda x, y: (1 - y) * (1 + y), reference=numpy.tanh)
def tanh(x: Any, /) -> Tensor:
    """Hyperbolic tangent.

    >>> tn.tanh(tn.asarray([0.0])).tolist()
    [0.0]
    """


@elementwise(derivative=lambda x, y: reciprocal(sqrt(1 + x * x)), reference=numpy.arcsinh)
def asinh(x: Any, /) -> Tensor:
    """Inverse hyperbolic sine.

    >>> tn.asinh(tn.asarray([0.0])).tolist()
    [0.0]
    """


@elementwise(
    derivative=lambda x, y: reciprocal(sqrt(x - 1) * sqrt(x + 1)), reference=numpy.arccosh, domain=(1.2, 3.0)
)
def acosh(x: Any, /) -> Tensor:
    """Inverse hyperbolic cosine.

    >>> tn.acosh(tn.asarray([1.0])).tolist()
    [0.0]
    """


@elementwise(
    derivative=lambda x, y: reciprocal((1 - x) * (1 + x)), reference=numpy.arctanh, domain=(-0.8, 0.8)
)
def atanh(x: Any, /) -> Tensor:
    """Inverse hyperbolic tangent.

    >>> tn.atanh(tn.asarray([0.0])).tolist()
    [0.0]
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


def angle(x: Any, /) -> Tensor:
    """The angle of a complex number, between -pi and pi.

    >>> tn.angle(tn.asarray([2.0])).tolist()
    [0.0]
    """
    x = asarray(x)
    return atan2(imag(x), real(x))


# ---- predicates and comparison


@elementwise(derivative=TRUTH_VALUE, reference=numpy.isnan)
def isnan(x: Any, /) -> Tensor:
    """Whether x is not a number.

    >>> tn.isnan(tn.asarray([float("nan"), 1.0])).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.isinf)
def isinf(x: Any, /) -> Tensor:
    """Whether x is infinite.

    >>> tn.isinf(tn.asarray([float("-inf"), 1.0])).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.isfinite)
def isfinite(x: Any, /) -> Tensor:
    """Whether x is neither infinite nor NaN.

    >>> tn.isfinite(tn.asarray([float("nan"), 1.0])).tolist()
    [False, True]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.signbit, kinds="f")
def signbit(x: Any, /) -> Tensor:
    """Whether the sign bit is set, that of -0.0 too.

    >>> tn.signbit(tn.asarray([-0.0, 0.0])).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.equal)
def equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether both are equal.

    >>> tn.equal(tn.asarray([1, 2]), 2).tolist()
    [False, True]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.not_equal)
def not_equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether they differ.

    >>> tn.not_equal(tn.asarray([1, 2]), 2).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.less, kinds="f")
def less(x1: Any, x2: Any, /) -> Tensor:
    """Whether the first is smaller.

    >>> tn.less(tn.asarray([1, 2]), 2).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.less_equal, kinds="f")
def less_equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether the first is not larger.

    >>> tn.less_equal(tn.asarray([1, 2]), 1).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.greater, kinds="f")
def greater(x1: Any, x2: Any, /) -> Tensor:
    """Whether the first is larger.

    >>> tn.greater(tn.asarray([1, 2]), 1).tolist()
    [False, True]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.greater_equal, kinds="f")
def greater_equal(x1: Any, x2: Any, /) -> Tensor:
    """Whether the first is not smaller.

    >>> tn.greater_equal(tn.asarray([1, 2]), 2).tolist()
    [False, True]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.logical_not, kinds="bf")
def logical_not(x: Any, /) -> Tensor:
    """Whether x is false, that is 0.

    >>> tn.logical_not(tn.asarray([True, False])).tolist()
    [False, True]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.logical_and, kinds="bf")
def logical_and(x1: Any, x2: Any, /) -> Tensor:
    """Whether both are true.

    >>> tn.logical_and(tn.asarray([True, False]), True).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.logical_or, kinds="bf")
def logical_or(x1: Any, x2: Any, /) -> Tensor:
    """Whether one of them is true.

    >>> tn.logical_or(tn.asarray([True, False]), False).tolist()
    [True, False]
    """


@elementwise(derivative=TRUTH_VALUE, reference=numpy.logical_xor, kinds="bf")
def logical_xor(x1: Any, x2: Any, /) -> Tensor:
    """Whether exactly one of them is true.

    >>> tn.logical_xor(tn.asarray([True, False]), True).tolist()
    [False, True]
    """


# ---- bits


@elementwise(derivative=INTEGER, reference=numpy.bitwise_not, kinds="bi")
def bitwise_invert(x: Any, /) -> Tensor:
    """Every bit inverted.

    >>> tn.bitwise_invert(tn.asarray([0, 1])).tolist()
    [-1, -2]
    """


@elementwise(derivative=INTEGER, reference=numpy.bitwise_and, kinds="bi")
def bitwise_and(x1: Any, x2: Any, /) -> Tensor:
    """The bits that both have.

    >>> tn.bitwise_and(tn.asarray([6, 5]), 3).tolist()
    [2, 1]
    """


@elementwise(derivative=INTEGER, reference=numpy.bitwise_or, kinds="bi")
def bitwise_or(x1: Any, x2: Any, /) -> Tensor:
    """The bits that one of them has.

    >>> tn.bitwise_or(tn.asarray([6, 5]), 3).tolist()
    [7, 7]
    """


@elementwise(derivative=INTEGER, reference=numpy.bitwise_xor, kinds="bi")
def bitwise_xor(x1: Any, x2: Any, /) -> Tensor:
    """The bits that exactly one of them has.

    >>> tn.bitwise_xor(tn.asarray([6, 5]), 3).tolist()
    [5, 6]
    """


@elementwise(derivative=INTEGER, reference=numpy.left_shift, domain=((-5, 5), (0, 3)), kinds="i")
def bitwise_left_shift(x1: Any, x2: Any, /) -> Tensor:
    """Bits moved up by a count.

    >>> tn.bitwise_left_shift(tn.asarray([1, 3]), 2).tolist()
    [4, 12]
    """


@elementwise(derivative=INTEGER, reference=numpy.right_shift, domain=((-5, 5), (0, 3)), kinds="i")
def bitwise_right_shift(x1: Any, x2: Any, /) -> Tensor:
    """Bits moved down by a count; the sign stays.

    >>> tn.bitwise_right_shift(tn.asarray([4, -4]), 1).tolist()
    [2, -2]
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
