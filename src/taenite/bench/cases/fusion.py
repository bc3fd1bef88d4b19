"""What a program gains over its operations one by one: elementwise chains that end in a sum, over sizes from
the caches to memory, and a chain of products so small that only the calls cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import fixtures
from ..case import Array, Fixture, Size, case, select
from ..verify import Reference, loss_oracle, value_oracle
from ..work import Cost

SUITE = ("fusion",)
VECTORS = (Size("10^4", (10**4,)), *(Size(f"2^{k}", (1 << k,)) for k in (16, 18, 20, 22)))
PRODUCTS = 10


def rotation(n: int) -> Fixture:
    """A matrix, and an orthogonal one that multiplies it without growth."""
    rng = fixtures.generator(15, n)
    return Fixture((rng.standard_normal((n, n)), fixtures.orthonormal(rng, n, n)))


def chained(a: Array, b: Array) -> Array:
    found: Array = a @ np.linalg.matrix_power(b, PRODUCTS)
    return found


@case(
    "chain_matmul_2x2",
    suites=SUITE,
    phases={"primal": (Size("2x2", (2,)),)},
    fixture=rotation,
    oracle=value_oracle(chained, condition=PRODUCTS),
    work=Cost(lambda n: 2 * n**2, lambda n: PRODUCTS * 2 * n**3, lambda n: n**2, least=lambda n: 10 * n**3),
    inline="a" + " @ b" * PRODUCTS,
    also=(select("latency", primal=(Size("2x2", (2,)),)),),
)
def chain_matmul_2x2(xp: Any, a: Any, b: Any) -> Any:
    """A B B ... B, ten products of 2 x 2 matrices: what a call costs."""
    for _ in range(PRODUCTS):
        a = a @ b
    return a


def line(n: int) -> Fixture:
    """Points, and the slope and intercept of a line: scalars, but operands all the same."""
    rng = fixtures.generator(16, n)
    return Fixture((rng.uniform(-2, 2, n), np.asarray(0.75), np.asarray(0.25)))


def bell_reference(x: Array, a: Array, b: Array) -> Reference:
    """d exp(-u^2) = -2 u exp(-u^2) du with u = x a + b."""
    u = x * a + b
    bell = np.exp(-(u**2))
    return Reference(float(bell.sum()), (-2 * a * u * bell,), 1.0, float(bell.sum()))


@case(
    "exp_square_sum",
    suites=SUITE,
    phases={"primal": VECTORS, "backward": VECTORS, "pullback": VECTORS},
    fixture=line,
    oracle=loss_oracle(bell_reference),
    work=Cost(
        lambda n: n + 2,
        lambda n: 6 * n,
        least=lambda n: 4 * n,
        gradients=lambda n: n,
        reverse=lambda n: 4 * n,
    ),
    wrt=(0,),
)
def exp_square_sum(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """sum(exp(-(x a + b)^2)) of a vector x and two scalars, differentiated in x."""
    return xp.exp(-((x * a + b) ** 2)).sum()


def pair(n: int) -> Fixture:
    rng = fixtures.generator(17, n)
    return Fixture((rng.uniform(-1, 1, n), rng.uniform(1, 2, n)))


def poly_reference(x: Array, w: Array) -> Reference:
    """(x w + w) x + x w = w x (x + 2)."""
    gradients = (2 * w * (x + 1), x * (x + 2))
    terms = w * x * (x + 2)
    return Reference(float(terms.sum()), gradients, 1.0, float(np.abs(w * x).sum()) * 3)


@case(
    "poly_sum",
    suites=SUITE,
    phases={"primal": VECTORS, "backward": VECTORS, "pullback": VECTORS},
    fixture=pair,
    oracle=loss_oracle(poly_reference),
    work=Cost(lambda n: 2 * n, lambda n: 6 * n, least=lambda n: 3 * n, reverse=lambda n: 8 * n),
    wrt=(0, 1),
)
def poly_sum(xp: Any, x: Any, w: Any) -> Any:
    """sum((x w + w) x + x w) of two vectors, differentiated in both; a shared product to be found."""
    return ((x * w + w) * x + x * w).sum()
