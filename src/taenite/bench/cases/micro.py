"""Elementwise throughput and the latency of tiny operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import fixtures, work
from ..case import Array, Check, Fixture, Size, case, select
from ..verify import Reference, elementwise_oracle, loss_oracle, value_oracle
from ..work import Cost

SUITE = ("micro",)
VECTOR = {"primal": (Size("2^20", (1 << 20,)),)}
FUNCTION_ULPS = 8.0
"""Vectorised math promises 4 ulp at its fastest (libmvec, SLEEF); XLA's tanh errs by 5."""
SCALAR = (Size("scalar", (1,)),)
FOUR = (Size("4", (4,)),)
CHAIN = 1000
THROUGHPUT = select(
    "elementwise_reduction",
    dtypes=("float64", "float32"),
    primal=(Size(f"2^{k}", (1 << k,)) for k in (10, 16, 20, 22)),
)
ONE_EACH = Cost(lambda n: n, lambda n: n, lambda n: n)


def two_squares(n: int) -> Fixture:
    rng = fixtures.generator(10, n)
    return Fixture((rng.standard_normal((n, n)), rng.standard_normal((n, n))))


@case(
    "multiply",
    suites=SUITE,
    phases={"primal": (Size("2048x2048", (2048,)),)},
    fixture=two_squares,
    oracle=elementwise_oracle(np.multiply, 0.0),
    work=Cost(lambda n: 2 * n**2, lambda n: n**2, lambda n: n**2),
)
def multiply(xp: Any, a: Any, b: Any) -> Any:
    """The elementwise product of two 2048 x 2048 matrices: bandwidth and pages."""
    return a * b


def product_sum_reference(a: Array, b: Array) -> Reference:
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return Reference(float(np.vdot(a, b)), (b, a), 1.0, scale)


@case(
    "grad_multiply",
    suites=SUITE,
    phases={"backward": (Size("2048x2048", (2048,)),)},
    fixture=two_squares,
    oracle=loss_oracle(product_sum_reference),
    work=Cost(lambda n: 2 * n**2, lambda n: 2 * n**2),
    wrt=(0, 1),
)
def grad_multiply(xp: Any, a: Any, b: Any) -> Any:
    """sum(A * B), forward and backward: each gradient is the other operand."""
    return (a * b).sum()


def within_ulps(function: Callable[..., Array]) -> Callable[[Fixture], Check]:
    return elementwise_oracle(function, FUNCTION_ULPS)


def interval(low: float, high: float) -> Callable[[int], Fixture]:
    def build(n: int) -> Fixture:
        return Fixture((fixtures.generator(11, n).uniform(low, high, n),))

    return build


@case(
    "exp",
    suites=SUITE,
    phases=VECTOR,
    fixture=interval(-10, 10),
    oracle=within_ulps(np.exp),
    work=ONE_EACH,
    also=(
        THROUGHPUT,
        select("latency", primal=FOUR),
    ),
)
def exp(xp: Any, x: Any) -> Any:
    """exp over 2^20 doubles in [-10, 10]."""
    return xp.exp(x)


@case(
    "sin",
    suites=SUITE,
    phases=VECTOR,
    fixture=interval(-3, 3),
    oracle=within_ulps(np.sin),
    work=ONE_EACH,
    also=(THROUGHPUT,),
)
def sin(xp: Any, x: Any) -> Any:
    """sin over 2^20 doubles in [-3, 3]."""
    return xp.sin(x)


@case(
    "tanh",
    suites=SUITE,
    phases=VECTOR,
    fixture=interval(-4, 4),
    oracle=within_ulps(np.tanh),
    work=ONE_EACH,
    also=(THROUGHPUT,),
)
def tanh(xp: Any, x: Any) -> Any:
    """tanh over 2^20 doubles in [-4, 4]."""
    return xp.tanh(x)


@case(
    "log1p",
    suites=SUITE,
    phases=VECTOR,
    fixture=interval(0.5, 20),
    oracle=within_ulps(np.log1p),
    work=ONE_EACH,
    also=(THROUGHPUT,),
)
def log1p(xp: Any, x: Any) -> Any:
    """log1p over 2^20 doubles in [0.5, 20]."""
    return xp.log1p(x)


def two_vectors(n: int) -> Fixture:
    rng = fixtures.generator(12, n)
    return Fixture((rng.uniform(1, 2, n), rng.uniform(1, 2, n)))


def one_vector(n: int) -> Fixture:
    return Fixture((fixtures.generator(13, n).uniform(1, 2, n),))


@case(
    "add",
    suites=SUITE,
    phases={"primal": FOUR, "tracked": FOUR},
    fixture=two_vectors,
    oracle=elementwise_oracle(np.add, 0.0),
    work=Cost(lambda n: 2 * n, lambda n: n, lambda n: n),
    wrt=(0, 1),
    inline="a + b",
    also=(select("latency", primal=FOUR, tracked=FOUR),),
)
def add(xp: Any, a: Any, b: Any) -> Any:
    """a + b of four elements: what one operation costs."""
    return a + b


def square_reference(q: Array) -> Reference:
    return Reference(float(q @ q), (2 * q,), 1.0, float(q @ q))


@case(
    "grad_sum_square",
    suites=SUITE,
    phases={"backward": FOUR},
    fixture=one_vector,
    oracle=loss_oracle(square_reference),
    work=Cost(lambda n: n, lambda n: 2 * n),
    wrt=(0,),
    inline="(a * a).sum()",
    also=(select("latency", backward=FOUR),),
)
def grad_sum_square(xp: Any, a: Any) -> Any:
    """sum(a * a) of four elements, forward and backward."""
    return (a * a).sum()


def chain_reference(a: Array) -> Reference:
    """Each step x <- x * a multiplies the power by one: x = a^(CHAIN + 1)."""
    value = a ** (CHAIN + 1)
    return Reference(float(value.sum()), ((CHAIN + 1) * a**CHAIN,), float(CHAIN), float(np.abs(value).sum()))


def near_one(n: int) -> Fixture:
    return Fixture((1 + 1e-4 * fixtures.generator(14, n).uniform(-1, 1, n),))


@case(
    "grad_chain_1000",
    suites=SUITE,
    phases={"backward": FOUR},
    fixture=near_one,
    oracle=loss_oracle(chain_reference),
    work=Cost(lambda n: n, lambda n: (CHAIN + 1) * n, least=lambda n: n, reverse=lambda n: 2 * CHAIN * n),
    wrt=(0,),
    also=(select("latency", backward=FOUR),),
)
def grad_chain_1000(xp: Any, a: Any) -> Any:
    """A chain of 1,000 multiplications of four elements, forward and backward."""
    x = a
    for _ in range(CHAIN):
        x = x * a
    return x.sum()


@case(
    "sum_of_four",
    suites=("latency",),
    phases={"primal": FOUR},
    fixture=one_vector,
    oracle=value_oracle(np.sum),
    work=Cost(lambda n: n, lambda n: n),
    inline="a.sum()",
)
def sum_of_four(xp: Any, a: Any) -> Any:
    """The sum of four elements."""
    return a.sum()


def scalar_point(*_: int) -> Fixture:
    return Fixture((np.asarray(0.75),))


def scalar_reference(x: Array) -> Reference:
    """d (sin x exp x) = (sin x + cos x) exp x."""
    gradient = np.asarray((np.sin(x) + np.cos(x)) * np.exp(x))
    return Reference(float(np.sin(x) * np.exp(x)), (gradient,), 1.0, 1.5)


@case(
    "grad_scalar",
    suites=("latency",),
    phases={"primal": SCALAR, "backward": SCALAR, "vjp": SCALAR},
    fixture=scalar_point,
    oracle=loss_oracle(scalar_reference),
    work=Cost(work.one, lambda n: 3, reverse=lambda n: 4),
    wrt=(0,),
)
def grad_scalar(xp: Any, x: Any) -> Any:
    """sin(x) exp(x) of one number, and its derivative."""
    return xp.sin(x) * xp.exp(x)
