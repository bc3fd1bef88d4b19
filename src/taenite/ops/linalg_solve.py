"""Solving, inverses and determinants by LU: records and rules.

A rule never factors again: the hidden outputs of ``solve`` and ``det`` are factors that ``solve_with``,
``inv_with`` and ``cofactor`` take as hints, which have no derivative of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.errors import LinAlgError
from taenite.ops import linalg_samples
from taenite.ops.arithmetic import conj, imag
from taenite.ops.convert import asarray
from taenite.ops.linalg_triangular import (
    Cotangents,
    Operands,
    conjugate,
    dot,
    no_failures,
    of_operand,
    outer,
    reference_solve,
    square_samples,
    system_samples,
)
from taenite.ops.reductions import sum_
from taenite.ops.shape import expand_dims, matrix_transpose
from taenite.primitive import Decomposition, ErrorInput, Record, Sample


def _at_matrices(x: Tensor) -> Tensor:
    """A number for each matrix, shaped to multiply the matrices."""
    return expand_dims(expand_dims(x, -1), -1)


# ---- samples


def _op_samples(prepare: Any, *, systems: bool) -> Iterator[Sample]:
    for transposed, conjugated in ((0, 0), (1, 0), (0, 1), (1, 1)):
        for sample in system_samples() if systems else square_samples():
            yield Sample(sample.operands, prepare=prepare, transposed=transposed, conjugated=conjugated)


def _singular(call: Any) -> list[ErrorInput]:
    ones = numpy.stack([numpy.eye(3), numpy.ones((3, 3))])
    message = "is singular at batch index 1: pivot 2 is zero to working precision"
    return [
        *linalg_samples.not_square(call),
        ErrorInput(lambda: call(asarray(ones)), LinAlgError, message),
    ]


def _with_factors(operands: Operands) -> Operands:
    """From (A, b), or (A,), to the operands of solve_with, or inv_with."""
    A, *b = operands
    _, lu, pivots = det_(A, mask=0b111)
    return (A, lu, pivots, *b)


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
    yield of_operand(-gb, y[0], A.ndim, transposed, conjugated) if need[0] else None
    yield from (None, None, gb)


solve_ = Decomposition(
    "solve",
    attrs=("raises",),
    vjp=_solve_vjp,
    reference=lambda a, b, *, raises: (reference_solve(a, b), no_failures(a)),
    samples=lambda: system_samples(raises=1),
    errors=lambda: _singular(
        lambda a: solve_(a, asarray(numpy.ones((*a.shape[:-1], 1), str(a.dtype))), raises=1)
    ),
)
solve_with = Record(
    "solve_with",
    attrs=("transposed", "conjugated"),
    vjp=_solve_with_vjp,
    samples=lambda: _op_samples(_with_factors, systems=True),
)


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


inv_ = Decomposition(
    "inv",
    attrs=("raises",),
    vjp=_inv_vjp,
    reference=lambda a, *, raises: (numpy.linalg.inv(a), no_failures(a)),
    samples=lambda: square_samples(raises=1),
    errors=lambda: _singular(lambda a: inv_(a, raises=1)),
)
inv_with = Record(
    "inv_with",
    attrs=("transposed", "conjugated"),
    vjp=_inv_with_vjp,
    samples=lambda: _op_samples(_with_factors, systems=False),
)


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


def _det_samples() -> Iterator[Sample]:
    """From 3 x 3 on: the derivatives that the tests form of smaller ones vanish."""
    return (s for s in square_samples() if s.operands[0].shape[-1] not in (1, 2))


def _cofactor_samples() -> Iterator[Sample]:
    for sample in _det_samples():
        yield Sample(sample.operands, prepare=_with_factors)


def _cofactor_derivative_samples() -> Iterator[Sample]:
    for sample in _det_samples():
        (a,) = sample.operands
        yield Sample([a, linalg_samples.noise(a.shape, a.dtype.kind, seed=14)])


def _pair(a: Tensor, b: Tensor) -> Tensor:
    """The sum of a * b over each matrix, shaped to multiply matrices."""
    return _at_matrices(sum_(a * b, axes=(a.ndim - 2, a.ndim - 1)))


def _sandwich(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """a b^T c."""
    return dot(dot(a, matrix_transpose(b)), c)


det_ = Decomposition(
    "det",
    vjp=_det_vjp,
    reference=numpy.linalg.det,
    samples=_det_samples,
    errors=lambda: linalg_samples.not_square(det_),
)
slogdet_ = Decomposition(
    "slogdet",
    vjp=_slogdet_vjp,
    reference=numpy.linalg.slogdet,
    samples=square_samples,
    errors=lambda: linalg_samples.not_square(slogdet_),
)
cofactor = Record("cofactor", vjp=_cofactor_vjp, samples=_cofactor_samples)
cofactor_derivative = Record(
    "cofactor_derivative", vjp=_cofactor_derivative_vjp, samples=_cofactor_derivative_samples
)
