"""The LU factorization that users see: records and rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.errors import LinAlgError
from taenite.ops import linalg_samples
from taenite.ops.convert import asarray
from taenite.ops.linalg_triangular import Cotangents, Operands, dot, triangular
from taenite.ops.parts import concatenate, slice_axis, tril_, triu_
from taenite.primitive import Decomposition, ErrorInput, Record, Sample

# ---- lu_factor: P A = L U, packed


def _lu_factor_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any, raises: int
) -> Iterator[Tensor | None]:
    """With k = min(m, n), L1 U1 the leading k x k factors, L2 the rows below and U2 the columns beyond,

    PgA1 = L1^-H (tril(L1^H gL1 - gU2 U2^H, -1) + triu(gU1 U1^H - L2^H gL2)) U1^-H,
    PgA2 = gL2 U1^-H below, or L1^-H gU2 beyond (de Hoog, Anderssen and Lukas 2011, for the square part).
    """
    (A,), (lu, pivots, _), F = x, y, g[0]
    m, n = A.shape[-2:]
    if m > n:
        yield permute_rows(_tall_lu(lu, F, m, n), pivots, inverse=1)
    elif m < n:
        yield permute_rows(_wide_lu(lu, F, m, n), pivots, inverse=1)
    else:
        yield permute_rows(_square_lu(lu, *_triangle_products(lu, F)), pivots, inverse=1)


def _triangle_products(lu: Tensor, F: Tensor) -> tuple[Tensor, Tensor]:
    """L^H gL and gU U^H for square factors, up to the parts that the rule drops; L has a unit diagonal."""
    below, gL = tril_(lu, k=-1), tril_(F, k=-1)
    return dot(below, gL, adjoint_a=True) + gL, dot(triu_(F, k=0), triu_(lu, k=0), adjoint_b=True)


def _square_lu(lu: Tensor, of_l: Tensor, of_u: Tensor) -> Tensor:
    middle = tril_(of_l, k=-1) + triu_(of_u, k=0)
    return triangular(lu, triangular(lu, middle, adjoint=1, unit=1), upper=1, adjoint=1, left=0)


def _tall_lu(lu: Tensor, F: Tensor, m: Any, n: Any) -> Tensor:
    rows = lu.ndim - 2
    lu1, lu2 = slice_axis(lu, rows, 0, n), slice_axis(lu, rows, n, m - n)
    F1, gL2 = slice_axis(F, rows, 0, n), slice_axis(F, rows, n, m - n)
    of_l, of_u = _triangle_products(lu1, F1)
    top = _square_lu(lu1, of_l, of_u - dot(lu2, gL2, adjoint_a=True))
    return concatenate(top, triangular(lu1, gL2, upper=1, adjoint=1, left=0), axis=rows)


def _wide_lu(lu: Tensor, F: Tensor, m: Any, n: Any) -> Tensor:
    columns = lu.ndim - 1
    lu1, U2 = slice_axis(lu, columns, 0, m), slice_axis(lu, columns, m, n - m)
    F1, gU2 = slice_axis(F, columns, 0, m), slice_axis(F, columns, m, n - m)
    of_l, of_u = _triangle_products(lu1, F1)
    first = _square_lu(lu1, of_l - dot(gU2, U2, adjoint_b=True), of_u)
    return concatenate(first, triangular(lu1, gU2, adjoint=1, unit=1), axis=columns)


def _permute_adjoint(g: Tensor, x: Tensor, pivots: Tensor, *, sizes: Any, inverse: int) -> Tensor:
    return permute_rows(g, pivots, inverse=1 - inverse)


def _lu_samples() -> Iterator[Sample]:
    for a in linalg_samples.of_kinds(linalg_samples.with_singular_values, linalg_samples.SHAPES):
        yield Sample([a], raises=1)


def _permute_samples() -> Iterator[Sample]:
    pivots = numpy.array([[1, 2, 2], [2, 1, 2]], numpy.int32)
    for inverse in (0, 1):
        for kind in linalg_samples.KINDS:
            yield Sample([linalg_samples.noise((2, 4, 2), kind), pivots], inverse=inverse)
            yield Sample([linalg_samples.noise((2, 3), kind), pivots], inverse=inverse)


def _lu_errors() -> list[ErrorInput]:
    bad = numpy.array([[1.0, numpy.nan]])
    return [
        ErrorInput(lambda: lu_factor_(asarray(numpy.ones(3)), raises=1), ValueError, "at least 2 axes"),
        ErrorInput(lambda: lu_factor_(asarray(bad), raises=1), LinAlgError, "NaN or Inf"),
    ]


lu_factor_ = Decomposition(
    "lu_factor", attrs=("raises",), vjp=_lu_factor_vjp, samples=_lu_samples, errors=_lu_errors
)
permute_rows = Record(
    "permute_rows", attrs=("inverse",), adjoint=(_permute_adjoint, None), samples=_permute_samples
)
