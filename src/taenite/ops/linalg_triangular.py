"""The algebra that rules of linear algebra share, and the records of triangles: triangular solves, Cholesky,
and solving by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.errors import LinAlgError
from taenite.ops import linalg_samples
from taenite.ops.arithmetic import conj
from taenite.ops.contraction import dot_general
from taenite.ops.convert import asarray
from taenite.ops.parts import tril_, triu_
from taenite.ops.shape import expand_dims, matrix_transpose
from taenite.primitive import Decomposition, ErrorInput, Record, Sample

Cotangents = tuple[Any, ...]  # None where the cotangent is zero
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


def of_operand(u: Tensor, v: Tensor, ndim: int, transposed: int, conjugated: int) -> Tensor:
    """The cotangent of A when that of op(A) is u v^H."""
    if transposed:
        u, v = conjugate(v), conjugate(u)
    if conjugated:
        u, v = conjugate(u), conjugate(v)
    return outer(u, v, ndim)


# ---- samples


def system_samples(**attrs: Any) -> Iterator[Sample]:
    for system in linalg_samples.systems(linalg_samples.regular):
        yield Sample(system, **attrs)


def square_samples(**attrs: Any) -> Iterator[Sample]:
    for a in linalg_samples.of_kinds(linalg_samples.regular, linalg_samples.SQUARES):
        yield Sample([a], **attrs)


def reference_solve(a: Any, b: Any) -> Any:
    return numpy.linalg.solve(a, b) if b.ndim == a.ndim else numpy.linalg.solve(a, b[..., None])[..., 0]


def no_failures(a: Any) -> Any:
    return numpy.zeros(a.shape[:-2], numpy.int32)


def _hermitian(operands: Operands) -> Operands:
    return (hermitian_part(operands[0]), *operands[1:])


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
        return of_operand(-gb, solution, ndim, transposed, conjugated)
    if gb.ndim == ndim:
        gb, solution = matrix_transpose(gb), matrix_transpose(solution)
    return of_operand(-gb, solution, ndim, 1 - transposed, conjugated)


def _read_part(x: Tensor, upper: int, unit_diagonal: int) -> Tensor:
    return triu_(x, k=unit_diagonal) if upper else tril_(x, k=-unit_diagonal)


def _triangular_samples() -> Iterator[Sample]:
    systems = list(linalg_samples.systems(linalg_samples.regular))
    for bits in range(32):
        upper, transposed, conjugated, unit_diagonal, left = (bits >> k & 1 for k in range(5))
        a, b = systems[bits % len(systems)]
        yield Sample(
            [a, b if left or b.ndim < a.ndim else numpy.swapaxes(b, -1, -2)],
            upper=upper,
            transposed=transposed,
            conjugated=conjugated,
            unit_diagonal=unit_diagonal,
            left=left,
        )


def _reference_triangular(
    a: Any, b: Any, *, upper: int, transposed: int, conjugated: int, unit_diagonal: int, left: int
) -> Any:
    a = numpy.triu(a, unit_diagonal) if upper else numpy.tril(a, -unit_diagonal)
    a = a + unit_diagonal * numpy.eye(a.shape[-1])
    a = numpy.conj(a) if conjugated else a
    a = numpy.swapaxes(a, -1, -2) if transposed == left else a  # x op(a) = b is op(a)^T x^T = b^T
    if left or b.ndim < a.ndim:
        return reference_solve(a, b)
    return numpy.swapaxes(numpy.linalg.solve(a, numpy.swapaxes(b, -1, -2)), -1, -2)


def _triangular_errors() -> list[ErrorInput]:
    def solve(a: Any, b: Any) -> Any:
        return triangular(asarray(a), asarray(b))

    singular = numpy.stack([numpy.eye(2), numpy.diag([1.0, 0.0])])
    message = "is singular at batch index 1: diagonal element 2 is exactly zero"
    return [
        ErrorInput(lambda: solve(numpy.ones((2, 3)), numpy.ones(2)), ValueError, "got shape (2, 3)"),
        ErrorInput(lambda: solve(numpy.eye(2), numpy.ones(3)), ValueError, "rows and leading axes of a"),
        ErrorInput(lambda: solve(singular, numpy.ones((2, 2))), LinAlgError, message),
    ]


solve_triangular_ = Record(
    "solve_triangular",
    attrs=("upper", "transposed", "conjugated", "unit_diagonal", "left"),
    vjp=_triangular_vjp,
    reference=_reference_triangular,
    samples=_triangular_samples,
    errors=lambda: _triangular_errors(),
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
    yield hermitian_part(of_operand(-gb, y[0], A.ndim, 0, conjugated)) if need[0] else None
    yield from (None, gb)


def _cholesky_samples() -> Iterator[Sample]:
    for a in linalg_samples.of_kinds(linalg_samples.positive, linalg_samples.SQUARES):
        for upper in (0, 1):
            yield Sample([a], prepare=_hermitian, upper=upper, raises=1)


def _indefinite(call: Any) -> list[ErrorInput]:
    a = numpy.stack([numpy.eye(2), numpy.eye(2), numpy.array([[1.0, 2.0], [2.0, 1.0]])])
    message = "not positive definite at batch index 2: the leading minor of order 2 is not positive"
    return [*linalg_samples.not_square(call), ErrorInput(lambda: call(asarray(a)), LinAlgError, message)]


def _reference_cholesky(a: Any, *, upper: int, raises: int) -> Any:
    lower = numpy.linalg.cholesky(a)
    return (numpy.swapaxes(lower, -1, -2).conj() if upper else lower), no_failures(a)


def _with_cholesky(operands: Operands) -> Operands:
    A, b = _hermitian(operands)
    return A, cholesky_(A, upper=0, raises=1, mask=1)[0], b


def _positive_samples(prepare: Any, **attrs: Any) -> Iterator[Sample]:
    for system in linalg_samples.systems(linalg_samples.positive):
        yield Sample(system, prepare=prepare, **attrs)


cholesky_ = Decomposition(
    "cholesky",
    attrs=("upper", "raises"),
    vjp=_cholesky_vjp,
    reference=_reference_cholesky,
    samples=_cholesky_samples,
    errors=lambda: _indefinite(lambda a: cholesky_(a, upper=0, raises=1)),
)
solve_pos = Decomposition(
    "solve_pos",
    vjp=_solve_pos_vjp,
    reference=reference_solve,
    samples=lambda: _positive_samples(_hermitian),
    errors=lambda: _indefinite(lambda a: solve_pos(a, asarray(numpy.ones((*a.shape[:-1], 1), str(a.dtype))))),
)
solve_pos_with = Record(
    "solve_pos_with",
    attrs=("conjugated",),
    vjp=_solve_pos_with_vjp,
    samples=lambda: (s for c in (0, 1) for s in _positive_samples(_with_cholesky, conjugated=c)),
)
hermitian_part = Record(
    "hermitian_part",
    adjoint=lambda g, x, *, sizes: hermitian_part(g),
    reference=lambda x: (x + numpy.swapaxes(x, -1, -2).conj()) / 2,
    samples=square_samples,
)
half_triangle = Record(
    "half_triangle",
    attrs=("upper",),
    adjoint=lambda g, x, *, sizes, upper: half_triangle(g, upper=upper),
    reference=lambda x, *, upper: (numpy.triu if upper else numpy.tril)(x) - x * numpy.eye(x.shape[-1]) / 2,
    samples=lambda: (s for upper in (0, 1) for s in square_samples(upper=upper)),
)
