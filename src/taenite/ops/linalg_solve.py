"""Solving, inverses, determinants and the factorizations they use: records and rules.

A rule never factors again: the hidden outputs of ``solve`` and ``det`` are factors that ``solve_with``,
``inv_with`` and ``cofactor`` take as hints, which have no derivative of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from taenite._core import Tensor
from taenite.ops.contraction import dot_general
from taenite.ops.elementwise import conj, imag
from taenite.ops.reductions import sum_
from taenite.ops.shape import concatenate, expand_dims, matrix_transpose, slice_axis, tril_, triu_
from taenite.primitive import Record

Cotangents = tuple[Tensor | None, ...]
Operands = tuple[Tensor, ...]

# ---- the algebra of stacks of matrices


def dot(a: Tensor, b: Tensor, *, adjoint_a: bool = False, adjoint_b: bool = False) -> Tensor:
    """a b of stacks of matrices, either of them as its conjugate transpose."""
    n, batch, is_complex = a.ndim, tuple(range(a.ndim - 2)), a.dtype.kind == "c"
    return dot_general(
        a,
        b,
        contract_a=(n - 2 if adjoint_a else n - 1,),
        contract_b=(n - 1 if adjoint_b else n - 2,),
        batch_a=batch,
        batch_b=batch,
        conj_a=int(adjoint_a and is_complex),
        conj_b=int(adjoint_b and is_complex),
    )


def conjugate(x: Tensor) -> Tensor:
    """conj(x), which of a real tensor is the tensor itself."""
    return conj(x) if x.dtype.kind == "c" else x


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transpose."""
    return conjugate(matrix_transpose(x))


def outer(u: Tensor, v: Tensor, ndim: int) -> Tensor:
    """u v^H as tensors of ndim axes; u and v are vectors where they have one axis less."""
    if u.ndim == ndim:
        return dot(u, v, adjoint_b=True)
    return expand_dims(u, -1) * expand_dims(conjugate(v), -2)


def _of_operand(u: Tensor, v: Tensor, ndim: int, transposed: int, conjugated: int) -> Tensor:
    """The cotangent of A when that of op(A) is u v^H."""
    if transposed:
        u, v = conjugate(v), conjugate(u)
    if conjugated:
        u, v = conjugate(u), conjugate(v)
    return outer(u, v, ndim)


def _at_matrices(x: Tensor) -> Tensor:
    """A number for each matrix, shaped to multiply the matrices."""
    return expand_dims(expand_dims(x, -1), -1)


# ---- solve: x = A^-1 b


def _solve_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any, raises: int
) -> Iterator[Tensor | None]:
    """gb = A^-H gx, gA = -gb x^H (Giles 2008, section 2.3.1)."""
    A, (solution, lu, pivots, _) = x[0], y
    gb = solve_with(A, lu, pivots, g[0], transposed=1, conjugated=1)
    yield outer(-gb, solution, A.ndim) if need[0] else None
    yield gb


def _solve_with_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any, transposed: int, conjugated: int
) -> Iterator[Tensor | None]:
    A, lu, pivots, _ = x
    gb = solve_with(A, lu, pivots, g[0], transposed=1 - transposed, conjugated=1 - conjugated)
    yield _of_operand(-gb, y[0], A.ndim, transposed, conjugated) if need[0] else None
    yield from (None, None, gb)


solve_ = Record("solve", attrs=("raises",), vjp=_solve_vjp)
solve_with = Record("solve_with", attrs=("transposed", "conjugated"), vjp=_solve_with_vjp)


# ---- inv: Y = A^-1


def _inverse_cotangent(gY: Tensor, Y: Tensor, transposed: int, conjugated: int) -> Tensor:
    """gA = -Y^H gY Y^H for Y = op(A)^-1."""
    g = -dot(dot(Y, gY, adjoint_a=True), Y, adjoint_b=True)
    if transposed:
        g = matrix_transpose(g)
    return conjugate(g) if conjugated else g


def _inv_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any, raises: int
) -> Iterator[Tensor | None]:
    yield _inverse_cotangent(g[0], y[0], 0, 0)


def _inv_with_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any, transposed: int, conjugated: int
) -> Iterator[Tensor | None]:
    yield _inverse_cotangent(g[0], y[0], transposed, conjugated)
    yield from (None, None)


inv_ = Record("inv", attrs=("raises",), vjp=_inv_vjp)
inv_with = Record("inv_with", attrs=("transposed", "conjugated"), vjp=_inv_with_vjp)


# ---- det, slogdet


def _det_vjp(g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any) -> Iterator[Tensor | None]:
    """gA = gd conj(C), C the cofactors of A: Jacobi's formula, for singular matrices too."""
    yield _at_matrices(g[0]) * conjugate(cofactor(x[0], y[1], y[2]))


def _slogdet_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any
) -> Iterator[Tensor | None]:
    """With t = tr(A^-1 dA): d log|det| = Re t and d sign = i sign Im t, so that gA = h A^-H with
    h = glog + i Im(conj(sign) gsign)."""
    (A,), (sign, _, lu, pivots), (g_sign, h, *_) = x, y, g
    if g_sign is not None and A.dtype.kind == "c":
        turn = 1j * imag(conj(sign) * g_sign)
        h = turn if h is None else h + turn
    if h is None:
        yield None
        return
    yield _at_matrices(h) * inv_with(A, lu, pivots, transposed=1, conjugated=1)


def _cofactor_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any
) -> Iterator[Tensor | None]:
    """The second derivative of det is symmetric, so the adjoint of D is D between conjugates."""
    yield conjugate(cofactor_derivative(x[0], conjugate(g[0])))
    yield from (None, None)


def _cofactor_derivative_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any
) -> Iterator[Tensor | None]:
    """D(A)[G] = (<C, G> C - C G^T C) / det(A); its derivative in A, by that formula, needs a regular A."""
    (A, G), (D,), H = x, y, conjugate(g[0])
    DH = cofactor_derivative(A, H)
    if need[0]:
        d, lu, pivots = det_(A, mask=0b111)
        C = cofactor(A, lu, pivots)
        pair = _pair(DH, G) * C + _pair(C, G) * DH - _sandwich(DH, G, C) - _sandwich(C, G, DH)
        yield conjugate((pair - _pair(C, H) * D) / _at_matrices(d))
    else:
        yield None
    yield conjugate(DH)


def _pair(a: Tensor, b: Tensor) -> Tensor:
    """The sum of a * b over each matrix, shaped to multiply matrices."""
    return _at_matrices(sum_(a * b, axes=(a.ndim - 2, a.ndim - 1)))


def _sandwich(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """a b^T c."""
    return dot(dot(a, matrix_transpose(b)), c)


det_ = Record("det", vjp=_det_vjp)
slogdet_ = Record("slogdet", vjp=_slogdet_vjp)
cofactor = Record("cofactor", vjp=_cofactor_vjp)
cofactor_derivative = Record("cofactor_derivative", vjp=_cofactor_derivative_vjp)


# ---- solve_triangular: x = op(A)^-1 b (left) or b op(A)^-1


def _triangular_vjp(
    g: Cotangents,
    x: Operands,
    y: Operands,
    *,
    need: Any,
    sizes: Any,
    upper: int,
    transposed: int,
    conjugated: int,
    unit_diagonal: int,
    left: int,
) -> Iterator[Tensor | None]:
    """As for solve; what is not read of A (a triangle, a unit diagonal) gets zeros."""
    A, (solution,) = x[0], y
    gb = solve_triangular_(
        A,
        g[0],
        upper=upper,
        transposed=1 - transposed,
        conjugated=1 - conjugated,
        unit_diagonal=unit_diagonal,
        left=left,
    )
    if need[0]:
        yield _read_part(
            _triangular_cotangent(gb, solution, A.ndim, transposed, conjugated, left), upper, unit_diagonal
        )
    else:
        yield None
    yield gb


def _triangular_cotangent(
    gb: Tensor, solution: Tensor, ndim: int, transposed: int, conjugated: int, left: int
) -> Tensor:
    """-gb x^H for op(A) x = b; for x op(A) = b it is -x^H gb, of vectors as of x^T."""
    if left:
        return _of_operand(-gb, solution, ndim, transposed, conjugated)
    if gb.ndim == ndim:
        gb, solution = matrix_transpose(gb), matrix_transpose(solution)
    return _of_operand(-gb, solution, ndim, 1 - transposed, conjugated)


def _read_part(x: Tensor, upper: int, unit_diagonal: int) -> Tensor:
    return triu_(x, k=unit_diagonal) if upper else tril_(x, k=-unit_diagonal)


solve_triangular_ = Record(
    "solve_triangular",
    attrs=("upper", "transposed", "conjugated", "unit_diagonal", "left"),
    vjp=_triangular_vjp,
)


def triangular(
    a: Tensor, b: Tensor, upper: int = 0, adjoint: int = 0, unit: int = 0, left: int = 1
) -> Tensor:
    """op(a)^-1 b or b op(a)^-1, op being the identity or the conjugate transpose."""
    return solve_triangular_(
        a, b, upper=upper, transposed=adjoint, conjugated=adjoint, unit_diagonal=unit, left=left
    )


# ---- cholesky: A = L L^H, or U^H U. solve_pos: x = A^-1 b by it. Functions of the Hermitian part of A:
# ---- they read one triangle, and their derivatives give each triangle its half.


def _cholesky_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any, upper: int, raises: int
) -> Iterator[Tensor | None]:
    """gA = L^-H herm(Phi(L^H gL)) L^-1, Phi taking the lower triangle with half of the diagonal (Murray 2016,
    arXiv:1602.07527, section 3; Seeger et al. 2017, arXiv:1710.08717). With U = L^H: U gU^H for L^H gL."""
    L, gL = y[0], g[0]
    P = dot(L, gL, adjoint_b=True) if upper else dot(L, gL, adjoint_a=True)
    S = hermitian_part(half_triangle(P, upper=0))
    if upper:
        yield triangular(L, triangular(L, S, upper=1), upper=1, adjoint=1, left=0)
    else:
        yield triangular(L, triangular(L, S, adjoint=1), left=0)


def _solve_pos_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any
) -> Iterator[Tensor | None]:
    A, (solution, L) = x[0], y
    gb = solve_pos_with(A, L, g[0], conjugated=0)
    yield hermitian_part(outer(-gb, solution, A.ndim)) if need[0] else None
    yield gb


def _solve_pos_with_vjp(
    g: Cotangents, x: Operands, y: Operands, *, need: Any, sizes: Any, conjugated: int
) -> Iterator[Tensor | None]:
    A, L, _ = x
    gb = solve_pos_with(A, L, g[0], conjugated=conjugated)
    yield hermitian_part(_of_operand(-gb, y[0], A.ndim, 0, conjugated)) if need[0] else None
    yield from (None, gb)


cholesky_ = Record("cholesky", attrs=("upper", "raises"), vjp=_cholesky_vjp)
solve_pos = Record("solve_pos", vjp=_solve_pos_vjp)
solve_pos_with = Record("solve_pos_with", attrs=("conjugated",), vjp=_solve_pos_with_vjp)
hermitian_part = Record("hermitian_part", adjoint=lambda g, x, *, sizes: hermitian_part(g))
half_triangle = Record(
    "half_triangle", attrs=("upper",), adjoint=lambda g, x, *, sizes, upper: half_triangle(g, upper=upper)
)


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


lu_factor_ = Record("lu_factor", attrs=("raises",), vjp=_lu_factor_vjp)
permute_rows = Record("permute_rows", attrs=("inverse",), adjoint=(_permute_adjoint, None))
