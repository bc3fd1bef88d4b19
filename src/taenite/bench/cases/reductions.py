"""Elementwise chains, broadcasting and reductions over either axis, from the caches to memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import fixtures
from ..case import Array, Check, Fixture, Size, case, squares
from ..verify import Reference, elementwise_oracle, loss_oracle, value_oracle
from ..work import Cost, one

SUITE = ("elementwise_reduction",)
VECTORS = tuple(Size(f"2^{k}", (1 << k,)) for k in (10, 16, 20, 22))
SQUARES = squares(32, 256, 1024)
BOTH = ("float64", "float32")


def vectors(count: int) -> Callable[[int], Fixture]:
    def build(n: int) -> Fixture:
        rng = fixtures.generator(24, count, n)
        return Fixture(tuple(rng.uniform(1, 2, n) for _ in range(count)))

    return build


def matrix_row_column(n: int) -> Fixture:
    rng = fixtures.generator(25, n)
    return Fixture((rng.uniform(1, 2, (n, n)), rng.uniform(1, 2, n), rng.uniform(1, 2, (n, 1))))


def one_square(n: int) -> Fixture:
    return Fixture((fixtures.generator(26, n).uniform(-2, 2, (n, n)),))


def weighted_square(n: int) -> Fixture:
    rng = fixtures.generator(27, n)
    return Fixture((rng.uniform(-2, 2, (n, n)), rng.standard_normal((n, n))))


def binary(ops: int, operands: int = 2) -> Cost:
    return Cost(lambda n: operands * n, lambda n: ops * n, lambda n: n)


@case(
    "add_vectors",
    suites=SUITE,
    phases={"primal": VECTORS},
    fixture=vectors(2),
    oracle=elementwise_oracle(np.add, 0.5),
    work=binary(1),
    dtypes=BOTH,
)
def add_vectors(xp: Any, a: Any, b: Any) -> Any:
    """a + b of two vectors: bandwidth."""
    return a + b


@case(
    "divide_vectors",
    suites=SUITE,
    phases={"primal": VECTORS},
    fixture=vectors(2),
    oracle=elementwise_oracle(np.divide, 0.5),
    work=binary(1),
    dtypes=BOTH,
)
def divide_vectors(xp: Any, a: Any, b: Any) -> Any:
    """a / b of two vectors."""
    return a / b


@case(
    "horner",
    suites=SUITE,
    phases={"primal": VECTORS},
    fixture=vectors(3),
    oracle=elementwise_oracle(lambda a, b, c: (a * b + c) * a + b, 4.0),
    work=binary(4, 3),
)
def horner(xp: Any, a: Any, b: Any, c: Any) -> Any:
    """(a b + c) a + b: four operations, which a program does in one pass."""
    return (a * b + c) * a + b


@case(
    "broadcast_row_column",
    suites=SUITE,
    phases={"primal": SQUARES},
    fixture=matrix_row_column,
    oracle=elementwise_oracle(lambda a, row, column: a * row + column, 2.0),
    work=Cost(lambda n: n**2 + 2 * n, lambda n: 2 * n**2, lambda n: n**2),
)
def broadcast_row_column(xp: Any, a: Any, row: Any, column: Any) -> Any:
    """A * row + column: a matrix, a row and a column."""
    return a * row + column


REDUCTIONS: tuple[tuple[str, str, Callable[..., Any], Callable[[int], float]], ...] = (
    ("sum_all", "The sum of all elements.", lambda xp, a: xp.sum(a * 1.0), one),
    ("sum_rows", "The sum of each row.", lambda xp, a: xp.sum(a, axis=1), lambda n: n),
    ("sum_columns", "The sum of each column.", lambda xp, a: xp.sum(a, axis=0), lambda n: n),
    ("mean_rows", "The mean of each row.", lambda xp, a: xp.mean(a, axis=1), lambda n: n),
    ("max_rows", "The largest element of each row.", lambda xp, a: xp.max(a, axis=1), lambda n: n),
    ("max_columns", "The largest element of each column.", lambda xp, a: xp.max(a, axis=0), lambda n: n),
)


def scaled_oracle(compute: Callable[..., Array]) -> Callable[[Fixture], Check]:
    """Sums of numbers of both signs are judged by the sum of their sizes."""
    return value_oracle(compute, condition=16.0)


for name, text, formula, writes in REDUCTIONS:
    formula.__doc__ = text
    case(
        name,
        suites=SUITE,
        phases={"primal": SQUARES},
        fixture=one_square,
        oracle=scaled_oracle(lambda a, formula=formula: np.asarray(formula(np, a))),
        work=Cost(lambda n: n**2, lambda n: n**2, writes),
        dtypes=BOTH,
    )(formula)


def log_sum_exp(xp: Any, a: Any) -> Any:
    """log sum exp of each row, shifted by its largest element."""
    top = xp.max(a, axis=1, keepdims=True)
    return xp.log(xp.sum(xp.exp(a - top), axis=1)) + top[:, 0]


def soft_max(xp: Any, a: Any) -> Any:
    """exp of each row, shifted by its largest element, over the sum of it."""
    e = xp.exp(a - xp.max(a, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True)


def layer_norm(xp: Any, a: Any) -> Any:
    """Each row less its mean, over its standard deviation."""
    centred = a - xp.mean(a, axis=1, keepdims=True)
    return centred / xp.sqrt(xp.mean(centred * centred, axis=1, keepdims=True))


CHAINS = (
    (log_sum_exp, 5, lambda n: n),
    (soft_max, 5, lambda n: n**2),
    (layer_norm, 6, lambda n: n**2),
)

for chain, ops, writes in CHAINS:
    case(
        chain.__name__,
        suites=SUITE,
        phases={"primal": SQUARES},
        fixture=one_square,
        oracle=value_oracle(lambda a, chain=chain: np.asarray(chain(np, a)), condition=16.0),
        work=Cost(lambda n: n**2, lambda n, ops=ops: ops * n**2, writes, least=lambda n: n**2),
    )(chain)


def weighted(chain: Callable[..., Any]) -> Callable[..., Any]:
    def loss(xp: Any, a: Any, w: Any) -> Any:
        return xp.sum(w * chain(xp, a))

    loss.__doc__ = f"sum(W * {chain.__name__}(A)), differentiated in A."
    return loss


def soft_max_reference(a: Array, w: Array) -> Reference:
    """d sum(w p) = p (w - sum(w p)) for each row p."""
    p = soft_max(np, a)
    gradient = p * (w - (w * p).sum(axis=1, keepdims=True))
    return Reference(float((w * p).sum()), (gradient,), 16.0, float(np.abs(w * p).sum()))


def layer_norm_reference(a: Array, w: Array) -> Reference:
    """d sum(w z) = (w - mean(w) - z mean(w z)) / deviation for each row z."""
    z = layer_norm(np, a)
    deviation = a.std(axis=1, keepdims=True)
    gradient = (w - w.mean(axis=1, keepdims=True) - z * (w * z).mean(axis=1, keepdims=True)) / deviation
    return Reference(float((w * z).sum()), (gradient,), 16.0, float(np.abs(w * z).sum()))


def row_sums_reference(a: Array) -> Reference:
    """d sum (row mean)^2 = 2 (row mean) / n."""
    means = a.mean(axis=1, keepdims=True)
    gradient = np.broadcast_to(2 * means / a.shape[1], a.shape)
    scale = float((np.abs(a).mean(axis=1) ** 2).sum())
    return Reference(float((means**2).sum()), (gradient,), 256.0, scale)


for chain, reference, ops in ((soft_max, soft_max_reference, 5), (layer_norm, layer_norm_reference, 6)):
    case(
        f"grad_{chain.__name__}",
        suites=SUITE,
        phases={"backward": SQUARES},
        fixture=weighted_square,
        oracle=loss_oracle(reference),
        work=Cost(
            lambda n: 2 * n**2,
            lambda n, ops=ops: (ops + 2) * n**2,
            gradients=lambda n: n**2,
            least=lambda n: n**2,
        ),
        wrt=(0,),
    )(weighted(chain))


@case(
    "grad_mean_square",
    suites=SUITE,
    phases={"backward": SQUARES},
    fixture=one_square,
    oracle=loss_oracle(row_sums_reference),
    work=Cost(lambda n: n**2, lambda n: n**2 + 3 * n, gradients=lambda n: n, reverse=lambda n: n**2),
    wrt=(0,),
)
def grad_mean_square(xp: Any, a: Any) -> Any:
    """The sum of the squares of the means of the rows: its gradient is a broadcast column."""
    means = xp.mean(a, axis=1)
    return xp.sum(means * means)
