"""Scalar losses of products and decompositions: forward, backward, JVP and VJP.

Each loss is a plain sum that stays well defined whatever gauge a backend picks, or fixes the gauge by the
convention that all of them share (`grad_sum_qr`). The references are the closed forms of the literature,
evaluated by NumPy: Giles (2008), "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation"; Walter and Lehmann (2013) for QR.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import fixtures, work
from ..case import SECOND_ORDER, SMALL_ORDERS, Array, Size, case, select, squares
from ..fixtures import CONDITION
from ..verify import Reference, loss_oracle
from ..work import Cost

SUITE = ("large_ad",)
ORDERS = squares(64, 128, 256, 512, 1024)
LARGE = squares(256, 512, 1024)
CURVED = squares(64, 256)
RHS_ONE = tuple(Size(f"{n}x{n},rhs=1", (n, 1)) for n in (64, 128, 256, 512, 1024))
SMALL = squares(*SMALL_ORDERS)
FORWARD_AND_REVERSE = select("linalg_jvp_vjp", jvp=LARGE, vjp=LARGE)
SMALL_GRADIENT = select("small", backward=SMALL)


def norm(a: Array) -> float:
    return float(np.linalg.norm(a))


def matmul_reference(a: Array, b: Array) -> Reference:
    """d sum(A B) = sum_ij (row sums of B)_j dA_ij + (column sums of A)_i dB_ij."""
    of_a = np.broadcast_to(b.sum(axis=1), a.shape)
    of_b = np.broadcast_to(a.sum(axis=0)[:, None], b.shape)
    return Reference(float(a.sum(axis=0) @ b.sum(axis=1)), (of_a, of_b), 1.0, a.shape[0] * norm(a) * norm(b))


@case(
    "grad_sum_matmul",
    suites=SUITE,
    phases={"primal": ORDERS, "backward": ORDERS, "pullback": LARGE},
    fixture=fixtures.square_product,
    oracle=loss_oracle(matmul_reference),
    work=Cost(
        lambda n: 2 * n**2,
        lambda n: 2 * n**3,
        least=lambda n: 2 * n**2,
        gradients=lambda n: 2 * n,
        reverse=lambda n: 4 * n**3,
    ),
    wrt=(0, 1),
)
def grad_sum_matmul(xp: Any, a: Any, b: Any) -> Any:
    """sum(A B); the cotangent is a constant, which a backend may exploit."""
    return (a @ b).sum()


def weighted_matmul_reference(a: Array, b: Array, w: Array) -> Reference:
    """d sum(W * (A B)) = <W B^T, dA> + <A^T W, dB>; the gradients are linear in B and A."""

    def hessian(da: Array, db: Array) -> tuple[Array, ...]:
        return w @ db.T, da.T @ w

    scale = norm(a) * norm(b) * norm(w)
    return Reference(float(np.vdot(w, a @ b)), (w @ b.mT, a.mT @ w), np.sqrt(a.shape[-1]), scale, hessian)


DENSE = Cost(
    lambda n: 3 * n**2,
    lambda n: 2 * n**3 + 2 * n**2,
    least=lambda n: 2 * n**3,
    gradients=lambda n: 2 * n**2,
    reverse=lambda n: 4 * n**3,
    least_reverse=lambda n: 2 * n**3,
)


@case(
    "grad_dense_matmul",
    suites=SUITE,
    phases={"backward": ORDERS, "pullback": LARGE, "hvp": CURVED},
    fixture=fixtures.weighted_product,
    oracle=loss_oracle(weighted_matmul_reference),
    work=DENSE,
    wrt=(0, 1),
    also=(select("small", dtypes=("float64", "float32"), backward=SMALL),),
)
def grad_dense_matmul(xp: Any, a: Any, b: Any, w: Any) -> Any:
    """sum(W * (A B)): a dense cotangent, so forward and backward are three full products."""
    return (w * (a @ b)).sum()


def svd_reference(a: Array) -> Reference:
    """d sum(s) = <U Vh, dA>: the polar factor.

    Its derivative for square A is U ((L - L^T) / (s_i + s_j)) Vh with L = U^T dA V (Kenney and Laub, 1991).
    """
    u, s, vh = np.linalg.svd(a, full_matrices=False)

    def hessian(da: Array) -> tuple[Array, ...]:
        inner = u.T @ da @ vh.T
        return (u @ ((inner - inner.T) / np.add.outer(s, s)) @ vh,)

    return Reference(float(s.sum()), (u @ vh,), CONDITION, float(s.sum()), hessian)


SINGULAR_VALUES = Cost(
    lambda n: n**2,
    lambda n: 8 / 3 * n**3,
    least=lambda n: 2 * n**3,
    reverse=lambda n: 64 / 3 * n**3,
    least_reverse=lambda n: 2 * n**3,
)


@case(
    "grad_sum_svd_s",
    suites=SUITE,
    phases={"backward": ORDERS, "pullback": LARGE, "jvp": LARGE, "vjp": LARGE, "hvp": CURVED},
    fixture=fixtures.one_matrix,
    oracle=loss_oracle(svd_reference),
    work=SINGULAR_VALUES,
    wrt=(0,),
    also=(
        FORWARD_AND_REVERSE,
        SMALL_GRADIENT,
    ),
)
def grad_sum_svd_s(xp: Any, a: Any) -> Any:
    """The sum of the singular values (the nuclear norm)."""
    return xp.linalg.svdvals(a).sum()


def solve_reference(a: Array, b: Array) -> Reference:
    """X = inv(A) B; Bbar = inv(A)^T Xbar; Abar = -Bbar X^T.

    Their derivatives: dX = inv(A) (dB - dA X); dBbar = -inv(A)^T dA^T Bbar; dAbar by the product rule.
    """
    x = np.linalg.solve(a, b)
    of_b = np.linalg.solve(a.mT, np.ones_like(x))

    def hessian(da: Array, db: Array) -> tuple[Array, ...]:
        dx = np.linalg.solve(a, db - da @ x)
        of_db = -np.linalg.solve(a.T, da.T @ of_b)
        return -(of_db @ x.T + of_b @ dx.T), of_db

    return Reference(float(x.sum()), (-of_b @ x.mT, of_b), CONDITION, norm(x) * np.sqrt(x.size), hessian)


@case(
    "grad_sum_solve",
    suites=SUITE,
    phases={
        "backward": RHS_ONE,
        "pullback": RHS_ONE[2:],
        "jvp": RHS_ONE[2:],
        "vjp": RHS_ONE[2:],
        "hvp": (RHS_ONE[0], RHS_ONE[2]),
    },
    fixture=fixtures.system,
    oracle=loss_oracle(solve_reference),
    work=replace(work.SOLVE, writes=lambda n, k: 1.0),
    wrt=(0, 1),
    also=(
        select("linalg_jvp_vjp", jvp=RHS_ONE[2:], vjp=RHS_ONE[2:]),
        select("small", backward=(Size(f"{n}x{n},rhs=1", (n, 1)) for n in SMALL_ORDERS)),
    ),
)
def grad_sum_solve(xp: Any, a: Any, b: Any) -> Any:
    """The sum of the solution of A x = b, differentiated in A and b."""
    return xp.linalg.solve(a, b).sum()


def damped_sine_reference(a: Array) -> Reference:
    """f = exp(-x) sin x; f' = exp(-x) (cos x - sin x); f'' = -2 exp(-x) cos x."""
    decay, sine, cosine = np.exp(-a), np.sin(a), np.cos(a)

    def hessian(da: Array) -> tuple[Array, ...]:
        return (-2 * decay * cosine * da,)

    value, scale = float((decay * sine).sum()), norm(decay) * np.sqrt(a.size)
    return Reference(value, (decay * (cosine - sine),), 1.0, scale, hessian)


def inv_reference(a: Array) -> Reference:
    """d inv(A) = -X dA X with X = inv(A)."""
    x = np.linalg.inv(a)
    gradient = -x.mT @ np.ones_like(x) @ x.mT
    return Reference(float(x.sum()), (gradient,), CONDITION, norm(x) * np.sqrt(x.size))


INVERSE_SUM = replace(work.INVERSE, writes=work.one, reverse=lambda n: 4 * n**3, least=lambda n: 2 / 3 * n**3)


@case(
    "grad_sum_inv",
    suites=("linalg_jvp_vjp",),
    phases={"jvp": LARGE, "vjp": LARGE},
    fixture=fixtures.one_matrix,
    oracle=loss_oracle(inv_reference),
    work=INVERSE_SUM,
    wrt=(0,),
    also=(SMALL_GRADIENT,),
)
def grad_sum_inv(xp: Any, a: Any) -> Any:
    """The sum of the inverse."""
    return xp.linalg.inv(a).sum()


def det_reference(a: Array) -> Reference:
    """d det(A) = det(A) tr(inv(A) dA) (Jacobi)."""
    det = np.linalg.det(a)
    gradient = det[..., None, None] * np.linalg.inv(a).mT
    return Reference(float(det.sum()), (gradient,), CONDITION, float(np.abs(det).sum()))


@case(
    "grad_det",
    suites=("small",),
    phases={"backward": SMALL},
    fixture=fixtures.one_matrix,
    oracle=loss_oracle(det_reference),
    work=Cost(lambda n: n**2, lambda n: 2 / 3 * n**3, reverse=lambda n: 2 * n**3),
    wrt=(0,),
)
def grad_det(xp: Any, a: Any) -> Any:
    """The determinant."""
    return xp.linalg.det(a).sum()


def logdet_reference(a: Array) -> Reference:
    """d log |det A| = tr(inv(A) dA)."""
    value = float(np.linalg.slogdet(a)[1].sum())
    return Reference(value, (np.linalg.inv(a).mT,), CONDITION, a.shape[-1] * np.log(CONDITION))


@case(
    "grad_logdet",
    suites=("linalg_jvp_vjp",),
    phases={"jvp": LARGE, "vjp": LARGE},
    fixture=fixtures.one_matrix,
    oracle=loss_oracle(logdet_reference),
    work=Cost(lambda n: n**2, lambda n: 2 / 3 * n**3, reverse=lambda n: 2 * n**3),
    wrt=(0,),
)
def grad_logdet(xp: Any, a: Any) -> Any:
    """log |det A|: a determinant that neither overflows nor underflows."""
    return xp.linalg.slogdet(a)[1].sum()


def cholesky_reference(a: Array) -> Reference:
    """Abar = sym(inv(L)^T phi(L^T Lbar) inv(L)), phi halving a lower diagonal (Murray, 2016)."""
    factor = np.linalg.cholesky(a)
    inner = np.tril(factor.mT @ np.tril(np.ones_like(a)))
    inner[..., np.arange(a.shape[-1]), np.arange(a.shape[-1])] /= 2
    inverse = np.linalg.inv(factor)
    gradient = inverse.mT @ inner @ inverse
    return Reference(
        float(factor.sum()), ((gradient + gradient.mT) / 2,), CONDITION, norm(factor) * a.shape[-1]
    )


@case(
    "grad_sum_cholesky",
    suites=("linalg_jvp_vjp",),
    phases={"jvp": LARGE, "vjp": LARGE},
    fixture=fixtures.one_positive,
    oracle=loss_oracle(cholesky_reference),
    work=replace(work.CHOLESKY, writes=work.one),
    wrt=(0,),
    also=(SMALL_GRADIENT,),
)
def grad_sum_cholesky(xp: Any, a: Any) -> Any:
    """The sum of the Cholesky factor of a positive definite matrix."""
    return xp.linalg.cholesky(a).sum()


@case(
    "grad_damped_sine",
    suites=(SECOND_ORDER,),
    phases={"pullback": LARGE, "hvp": CURVED},
    fixture=fixtures.one_matrix,
    oracle=loss_oracle(damped_sine_reference),
    work=Cost(lambda n: n**2, lambda n: 5 * n**2, least=lambda n: 2 * n**2, reverse=lambda n: 6 * n**2),
    wrt=(0,),
)
def grad_damped_sine(xp: Any, a: Any) -> Any:
    """sum(exp(-A) * sin(A)): elementwise, so the Hessian is diagonal."""
    return (xp.exp(-a) * xp.sin(a)).sum()


def mirrored_lower(m: Array) -> Array:
    """The symmetric matrix whose lower triangle is that of ``m``."""
    return np.tril(m) + np.tril(m, -1).T


def qr_reference(a: Array) -> Reference:
    """Abar = (Qbar + Q copyltu(R Rbar^T - Qbar^T Q)) inv(R)^T, copyltu mirroring the lower triangle."""
    q, r = np.linalg.qr(a)
    ones = np.ones_like(a)
    m = r @ np.triu(ones).T - ones.T @ q
    abar = np.linalg.solve(r, (ones + q @ mirrored_lower(m)).T).T
    return Reference(float(q.sum() + r.sum()), (abar,), CONDITION, a.shape[0] * (norm(q) + norm(r)))


@case(
    "grad_sum_qr",
    suites=SUITE,
    phases={"pullback": LARGE, "jvp": LARGE, "vjp": LARGE},
    fixture=fixtures.one_matrix,
    oracle=loss_oracle(qr_reference),
    work=Cost(
        lambda n: n**2,
        lambda n: 8 / 3 * n**3,
        least=lambda n: 4 / 3 * n**3,
        reverse=lambda n: 5 * n**3,
        least_reverse=lambda n: n**3,
    ),
    wrt=(0,),
    also=(
        FORWARD_AND_REVERSE,
        SMALL_GRADIENT,
    ),
)
def grad_sum_qr(xp: Any, a: Any) -> Any:
    """sum(Q) + sum(R), with the signs that Householder's reflectors give (LAPACK's convention)."""
    q, r = xp.linalg.qr(a)
    return q.sum() + r.sum()


def eigh_reference(a: Array) -> Reference:
    """d sum(w) = trace(dA)."""
    value = float(np.trace(a, axis1=-2, axis2=-1).sum())
    gradient = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    return Reference(value, (gradient,), 1.0, norm(a) * norm(gradient))


EIGENVALUES = Cost(lambda n: n**2, lambda n: 4 / 3 * n**3, reverse=lambda n: 29 / 3 * n**3)


@case(
    "grad_sum_eigh",
    suites=SUITE,
    phases={"pullback": LARGE, "jvp": LARGE, "vjp": LARGE},
    fixture=fixtures.one_symmetric,
    oracle=loss_oracle(eigh_reference),
    work=EIGENVALUES,
    wrt=(0,),
    also=(
        FORWARD_AND_REVERSE,
        SMALL_GRADIENT,
    ),
)
def grad_sum_eigh(xp: Any, a: Any) -> Any:
    """The sum of the eigenvalues of a symmetric matrix (eigvalsh)."""
    return xp.linalg.eigvalsh(a).sum()


def row_pivoted(a: Array) -> tuple[Array, Array, Array]:
    """P, L, U with A = P L U by partial pivoting, in blocks of columns."""
    lu, order = a.copy(), np.arange(a.shape[0])
    for j in range(0, len(a), 32):
        panel(lu, order, j, min(j + 32, len(a)))
    lower, upper = np.tril(lu, -1) + np.eye(len(a)), np.triu(lu)
    return np.eye(len(a))[:, order], lower, upper


def panel(lu: Array, order: Any, start: int, stop: int) -> None:
    """Factorize columns start:stop of ``lu`` in place, then update what lies to their right."""
    for k in range(start, stop):
        pivot = k + int(np.argmax(np.abs(lu[k:, k])))
        lu[[k, pivot]], order[[k, pivot]] = lu[[pivot, k]], order[[pivot, k]]
        lu[k + 1 :, k] /= lu[k, k]
        lu[k + 1 :, k + 1 : stop] -= np.outer(lu[k + 1 :, k], lu[k, k + 1 : stop])
    block = np.tril(lu[start:stop, start:stop], -1) + np.eye(stop - start)
    lu[start:stop, stop:] = np.linalg.solve(block, lu[start:stop, stop:])
    lu[stop:, stop:] -= lu[stop:, start:stop] @ lu[start:stop, stop:]


def lu_reference(a: Array) -> Reference:
    """Abar = P inv(L)^T (tril(L^T Lbar, -1) + triu(Ubar U^T)) inv(U)^T."""
    p, lower, upper = row_pivoted(a)
    ones = np.ones_like(a)
    inner = np.tril(lower.T @ np.tril(ones, -1), -1) + np.triu(np.triu(ones) @ upper.T)
    left = np.linalg.solve(lower.T, inner)
    abar = p @ np.linalg.solve(upper, left.T).T
    condition = float(np.linalg.cond(lower, 1) * np.linalg.cond(upper, 1)) / len(a)
    return Reference(float(lower.sum() + upper.sum()), (abar,), condition, norm(lower) * len(a))


@case(
    "grad_sum_lu",
    suites=SUITE,
    phases={"pullback": LARGE, "jvp": LARGE, "vjp": LARGE},
    fixture=fixtures.one_matrix,
    oracle=loss_oracle(lu_reference),
    work=Cost(
        lambda n: n**2, lambda n: 2 / 3 * n**3, reverse=lambda n: 4 * n**3, least_reverse=lambda n: n**3
    ),
    wrt=(0,),
    also=(FORWARD_AND_REVERSE,),
)
def grad_sum_lu(xp: Any, a: Any) -> Any:
    """sum(L) + sum(U) of the row-pivoted factorization; the pivots are constants."""
    _, lower, upper = xp.linalg.lu(a)
    return lower.sum() + upper.sum()
