"""Inputs with a known spectrum: full rank, distinct singular values, the same on every machine.

Orthogonal factors come from the QR factorization of a Gaussian matrix, so nothing about the result is
structured (no low rank, no near-diagonal form that a divide-and-conquer solver would deflate).
"""

from __future__ import annotations

import numpy as np

from .case import Array, Fixture

SEED = 20260401
CONDITION = 100.0


def generator(*path: int) -> np.random.Generator:
    """An independent stream for each fixture: the seed and the sizes decide it, nothing else."""
    return np.random.default_rng([SEED, *path])


def orthonormal(rng: np.random.Generator, m: int, n: int) -> Array:
    """An m x n matrix with orthonormal columns."""
    q, _ = np.linalg.qr(rng.standard_normal((m, n)))
    return q


def singular_values(k: int) -> Array:
    """Geometric from 1 down to 1 / CONDITION."""
    return np.geomspace(1.0, 1.0 / CONDITION, k)


def eigenvalues(n: int) -> Array:
    """Both signs, distinct, none near zero, and a sum that does not cancel."""
    negative = n // 3
    return np.concatenate([-np.linspace(1.0, 0.05, negative), np.linspace(0.05, 2.0, n - negative)])


def matrix(rng: np.random.Generator, m: int, n: int) -> Array:
    """A general matrix with the singular values of `singular_values`, of Frobenius norm sqrt(min(m, n))."""
    k = min(m, n)
    s = singular_values(k)
    s = s * np.sqrt(k / (s @ s))
    return np.ascontiguousarray((orthonormal(rng, m, k) * s) @ orthonormal(rng, n, k).T)


def symmetric(rng: np.random.Generator, n: int) -> Array:
    """A symmetric matrix with the spectrum of `eigenvalues`."""
    q = orthonormal(rng, n, n)
    a: Array = (q * eigenvalues(n)) @ q.T
    return np.asarray((a + a.T) / 2)


def positive(rng: np.random.Generator, n: int) -> Array:
    """A positive definite matrix with eigenvalues from 1 / CONDITION to 1."""
    q = orthonormal(rng, n, n)
    a: Array = (q * singular_values(n)) @ q.T
    return np.asarray((a + a.T) / 2)


def direction(rng: np.random.Generator, *shape: int) -> Array:
    """A tangent of unit Frobenius norm."""
    t = rng.standard_normal(shape)
    return t / np.linalg.norm(t)


def one_matrix(n: int) -> Fixture:
    rng = generator(1, n)
    return Fixture((matrix(rng, n, n),), (direction(rng, n, n),))


def one_symmetric(n: int) -> Fixture:
    rng = generator(2, n)
    t = direction(rng, n, n)
    return Fixture((symmetric(rng, n),), ((t + t.T) / 2,))


def one_positive(n: int) -> Fixture:
    rng = generator(8, n)
    t = direction(rng, n, n)
    return Fixture((positive(rng, n),), ((t + t.T) / 2,))


def product(m: int, k: int, n: int) -> Fixture:
    rng = generator(3, m, k, n)
    return Fixture(
        (matrix(rng, m, k), matrix(rng, k, n)),
        (direction(rng, m, k), direction(rng, k, n)),
    )


def square_product(n: int) -> Fixture:
    return product(n, n, n)


def weighted_product(n: int) -> Fixture:
    """Operands of a product, and a dense weight for its entries."""
    operands = square_product(n)
    weight = generator(4, n).standard_normal((n, n))
    return Fixture((*operands.operands, weight), operands.tangents)


def system(n: int, rhs: int) -> Fixture:
    rng = generator(5, n, rhs)
    return Fixture(
        (matrix(rng, n, n), rng.standard_normal((n, rhs))),
        (direction(rng, n, n), direction(rng, n, rhs)),
    )


def batch(rng: np.random.Generator, count: int, n: int) -> Array:
    """Well-conditioned matrices: orthogonal factors and singular values in [1, 2], for each its own."""
    u, _ = np.linalg.qr(rng.standard_normal((count, n, n)))
    v, _ = np.linalg.qr(rng.standard_normal((count, n, n)))
    s = np.linspace(1.0, 2.0, n) * rng.uniform(0.95, 1.05, (count, 1))
    return np.ascontiguousarray((u * s[:, None, :]) @ np.swapaxes(v, -1, -2))
