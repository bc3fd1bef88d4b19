"""Samples for decompositions: known, well separated spectra, so that derivatives are well defined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy

from taenite.errors import LinAlgError
from taenite.ops.convert import asarray
from taenite.primitive import ErrorInput

Array = numpy.ndarray[Any, Any]
SHAPES: tuple[tuple[int, ...], ...] = ((3, 3), (4, 3), (3, 4), (2, 1, 4, 3), (0, 3), (2, 2))
KINDS = "fc"


def noise(shape: tuple[int, ...], kind: str, seed: int = 11) -> Array:
    """Normal numbers, complex ones where ``kind`` is ``'c'``."""
    rng = numpy.random.default_rng(seed)
    x: Array = rng.standard_normal(shape)
    if kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x


def with_singular_values(shape: tuple[int, ...], kind: str) -> Array:
    """Random singular vectors; the values are 1, 2, 3, ..."""
    *batch, m, n = shape
    k = min(m, n)
    u = numpy.linalg.qr(noise((*batch, m, k), kind))[0]
    v = numpy.linalg.qr(noise((*batch, n, k), kind, seed=12))[0]
    a: Array = (u * numpy.arange(1.0, k + 1)) @ numpy.swapaxes(v, -1, -2).conj()
    return a


def with_eigenvalues(shape: tuple[int, ...], kind: str) -> Array:
    """Hermitian, with random vectors; the eigenvalues are -1, 0, 1, ..."""
    v = numpy.linalg.qr(noise(shape, kind))[0]
    h = (v * numpy.arange(-1.0, shape[-1] - 1)) @ numpy.swapaxes(v, -1, -2).conj()
    hermitian: Array = (h + numpy.swapaxes(h, -1, -2).conj()) / 2
    return hermitian


def regular(shape: tuple[int, ...], kind: str) -> Array:
    """Square, well conditioned, and so are its triangles."""
    return noise(shape, kind) + 2 * shape[-1] * numpy.eye(shape[-1])


def positive(shape: tuple[int, ...], kind: str) -> Array:
    """Hermitian positive definite."""
    x = noise(shape, kind)
    return x @ numpy.swapaxes(x, -1, -2).conj() + shape[-1] * numpy.eye(shape[-1])


SQUARES: tuple[tuple[int, ...], ...] = ((3, 3), (2, 4, 4), (2, 1, 2, 2), (1, 1), (0, 0), (5, 6, 6))


def systems(make: Callable[[tuple[int, ...], str], Array]) -> Iterator[tuple[Array, Array]]:
    """Matrices with right-hand sides: matrices and, every other time, vectors."""
    for i, a in enumerate(of_kinds(make, SQUARES)):
        trailing = (a.shape[-1],) if i % 4 > 1 else (a.shape[-1], 2)
        yield a, noise((*a.shape[:-2], *trailing), a.dtype.kind, seed=13)


def of_kinds(
    make: Callable[[tuple[int, ...], str], Array], shapes: Iterable[tuple[int, ...]]
) -> Iterator[Array]:
    """A real and a complex matrix of each shape."""
    for shape in shapes:
        for kind in KINDS:
            yield make(shape, kind)


def not_square(call: Callable[[Any], object]) -> list[ErrorInput]:
    """What every function of square matrices refuses."""
    bad = numpy.full((2, 2, 2), numpy.inf)
    bad[0] = numpy.eye(2)
    return [
        ErrorInput(lambda: call(asarray(numpy.ones(3))), ValueError, "a must be square in its last two axes"),
        ErrorInput(lambda: call(asarray(numpy.ones((2, 3)))), ValueError, "got shape (2, 3)"),
        ErrorInput(lambda: call(asarray(numpy.eye(3, dtype=int))), TypeError, "got int64"),
        ErrorInput(lambda: call(asarray(bad)), LinAlgError, "NaN or Inf at batch index 1"),
    ]


def refusals(call: Callable[[Any], object]) -> list[ErrorInput]:
    """What every decomposition refuses: vectors, integers, NaN."""
    bad = numpy.eye(3)
    bad[1, 1] = numpy.nan
    return [
        ErrorInput(lambda: call(asarray(numpy.ones(3))), ValueError, "at least two axes"),
        ErrorInput(lambda: call(asarray(numpy.eye(3, dtype=int))), TypeError, "floating-point dtype"),
        ErrorInput(lambda: call(asarray(bad)), LinAlgError, "NaN or Inf"),
    ]
