# mypy: disable-error-code="empty-body"
"""Truth values and bits: predicates, comparison, logic, and operations on the bits of integers.

They broadcast and promote natively. Rules never see that: each states dy/dx for one element, with ``y`` the
result, and the engine sums cotangents to the shapes of the operands.
"""

from __future__ import annotations

from typing import Any

import numpy

from taenite._core import Tensor
from taenite.ops.define import elementwise
from taenite.primitive import NotDifferentiable

TRUTH_VALUE = NotDifferentiable("its result is a truth value")

INTEGER = NotDifferentiable("its result is an integer or a truth value")


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


# ---- logic


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
