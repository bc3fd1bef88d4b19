# mypy: disable-error-code="empty-body"
"""Powers, exponentials, logarithms, circular and hyperbolic functions of each element.

They broadcast and promote natively. Rules never see that: each states dy/dx for one element, with ``y`` the
result, and the engine sums cotangents to the shapes of the operands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.ops.arithmetic import hypot, imag, real, reciprocal, where
from taenite.ops.comparison import equal, isinf
from taenite.ops.convert import asarray
from taenite.ops.define import elementwise

LN2, LN10 = math.log(2.0), math.log(10.0)

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)


# ---- powers


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


def angle(x: Any, /) -> Tensor:
    """The angle of a complex number, between -pi and pi.

    >>> tn.angle(tn.asarray([2.0])).tolist()
    [0.0]
    """
    x = asarray(x)
    return atan2(imag(x), real(x))
