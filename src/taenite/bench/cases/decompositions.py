"""Products and decompositions alone, checked by residuals and by what no choice of signs changes.

Orthonormal factors with a small residual have the right spectrum (Weyl), so it is not computed a second time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import fixtures, work
from ..case import SMALL_ORDERS, Array, Check, Disagreement, Fixture, Outputs, Size, case, select, squares
from ..verify import bound, close, orthonormal_columns, value_oracle

SUITE = ("large_ad",)
ORDERS = (64, 128, 256, 512, 1024)
SMALL = select("small", primal=squares(*SMALL_ORDERS))
LATENCY = select("latency", primal=squares(4))
DTYPES = ("float32", "complex64", "complex128")

RECTANGULAR = work.Cost(lambda m, k, n: m * k + k * n, lambda m, k, n: 2 * m * k * n, lambda m, k, n: m * n)


def product_oracle(fixture: Fixture) -> Check:
    """Rounding of a product is relative to |A| |B|, whose norm is at most ||A|| ||B||."""
    a, b = fixture.operands
    wanted, scale = a @ b, float(np.linalg.norm(a) * np.linalg.norm(b))

    def check(phase: str, outputs: Outputs) -> None:
        close("A B", outputs[0], wanted, bound(a.shape[1], unit=fixture.unit), scale)

    return check


def ordered(what: str, values: Array) -> None:
    if np.any(np.diff(values, axis=-1) < 0):
        raise Disagreement(f"{what}: not in order")


def svd_oracle(fixture: Fixture) -> Check:
    (a,) = fixture.operands
    tolerance = bound(a.shape[-1], unit=fixture.unit)

    def check(phase: str, outputs: Outputs) -> None:
        u, s, vh = outputs
        ordered("singular values", -s)
        if np.any(s < 0):
            raise Disagreement("a singular value is negative")
        close("U S Vh = A", (u * s[..., None, :]) @ vh, a, tolerance)
        orthonormal_columns("U", u, tolerance)
        orthonormal_columns("V", np.swapaxes(vh, -1, -2), tolerance)

    return check


def qr_oracle(fixture: Fixture) -> Check:
    (a,) = fixture.operands
    tolerance = bound(a.shape[-1], unit=fixture.unit)

    def check(phase: str, outputs: Outputs) -> None:
        q, r = outputs
        close("Q R = A", q @ r, a, tolerance)
        orthonormal_columns("Q", q, tolerance)
        if np.any(np.tril(r, -1)):
            raise Disagreement("R has entries below its diagonal")

    return check


def eigh_oracle(fixture: Fixture) -> Check:
    (a,) = fixture.operands
    tolerance = bound(a.shape[-1], unit=fixture.unit)

    def check(phase: str, outputs: Outputs) -> None:
        w, v = outputs
        ordered("eigenvalues", w)
        close("V W V^T = A", (v * w[..., None, :]) @ np.swapaxes(v, -1, -2), a, tolerance)
        orthonormal_columns("V", v, tolerance)

    return check


def backward_error(a: Array, x: Array, b: Array) -> float:
    residual = np.linalg.norm(b - a @ x)
    return float(residual / (np.linalg.norm(a) * np.linalg.norm(x) + np.linalg.norm(b)))


def solve_oracle(fixture: Fixture) -> Check:
    """The normwise backward error of the solution, which no condition number enters."""
    a, b = fixture.operands

    def check(phase: str, outputs: Outputs) -> None:
        (x,) = outputs
        if x.shape != b.shape:
            raise Disagreement(f"solution: shape {x.shape}, wanted {b.shape}")
        if not backward_error(a, x, b) <= bound(a.shape[-1], unit=fixture.unit):
            raise Disagreement(f"solution: backward error {backward_error(a, x, b):.2e}")

    return check


@case(
    "matmul",
    suites=SUITE,
    phases={"primal": squares(128, 256, 512, 1024)},
    fixture=fixtures.square_product,
    oracle=product_oracle,
    work=work.MATMUL,
    also=(
        select("small", primal=squares(*SMALL_ORDERS)),
        select("small", dtypes=DTYPES, primal=squares(4, 16, 32)),
        LATENCY,
    ),
)
def matmul(xp: Any, a: Any, b: Any) -> Any:
    """A B, square."""
    return a @ b


@case(
    "matmul_rect",
    suites=SUITE,
    phases={
        "primal": (
            Size("256x1024 * 1024x256", (256, 1024, 256)),
            Size("1024x256 * 256x1024", (1024, 256, 1024)),
        )
    },
    fixture=fixtures.product,
    oracle=product_oracle,
    work=RECTANGULAR,
)
def matmul_rect(xp: Any, a: Any, b: Any) -> Any:
    """A B with a long, then a short, contracted axis."""
    return a @ b


@case(
    "svd",
    suites=SUITE,
    phases={"primal": squares(*ORDERS)},
    fixture=fixtures.one_matrix,
    oracle=svd_oracle,
    work=work.SVD,
    also=(
        SMALL,
        LATENCY,
    ),
)
def svd(xp: Any, a: Any) -> Any:
    """The thin singular value decomposition: U, s, Vh."""
    return tuple(xp.linalg.svd(a, full_matrices=False))


@case(
    "qr",
    suites=SUITE,
    phases={"primal": squares(*ORDERS)},
    fixture=fixtures.one_matrix,
    oracle=qr_oracle,
    work=work.QR,
    also=(
        SMALL,
        LATENCY,
    ),
)
def qr(xp: Any, a: Any) -> Any:
    """The reduced QR factorization: Q, R."""
    return tuple(xp.linalg.qr(a))


@case(
    "eigh",
    suites=SUITE,
    phases={"primal": squares(*ORDERS)},
    fixture=fixtures.one_symmetric,
    oracle=eigh_oracle,
    work=work.EIGH,
    also=(
        SMALL,
        LATENCY,
    ),
)
def eigh(xp: Any, a: Any) -> Any:
    """Eigenvalues and eigenvectors of a symmetric matrix."""
    return tuple(xp.linalg.eigh(a))


@case(
    "solve",
    suites=SUITE,
    phases={"primal": tuple(Size(f"{n}x{n},rhs={k}", (n, k)) for n in ORDERS for k in (1, 16, 64))},
    fixture=fixtures.system,
    oracle=solve_oracle,
    work=work.SOLVE,
    also=(
        select("small", primal=(Size(f"{n}x{n},rhs=1", (n, 1)) for n in SMALL_ORDERS)),
        select("latency", primal=(Size("4x4,rhs=1", (4, 1)),)),
    ),
)
def solve(xp: Any, a: Any, b: Any) -> Any:
    """The solution X of A X = B for a general A and 1, 16 or 64 right-hand sides."""
    return xp.linalg.solve(a, b)


@case(
    "inv",
    suites=("small",),
    phases={"primal": squares(*SMALL_ORDERS)},
    fixture=fixtures.one_matrix,
    oracle=value_oracle(np.linalg.inv, fixtures.CONDITION),
    work=work.INVERSE,
    also=(LATENCY,),
)
def inv(xp: Any, a: Any) -> Any:
    """The inverse of a general matrix."""
    return xp.linalg.inv(a)


@case(
    "det",
    suites=("small",),
    phases={"primal": squares(*SMALL_ORDERS)},
    fixture=fixtures.one_matrix,
    oracle=value_oracle(np.linalg.det, fixtures.CONDITION),
    work=work.DET,
    also=(LATENCY,),
)
def det(xp: Any, a: Any) -> Any:
    """The determinant of a general matrix."""
    return xp.linalg.det(a)


def cholesky_oracle(fixture: Fixture) -> Check:
    """Lower triangular, a positive diagonal and a small residual: the factor is unique."""
    (a,) = fixture.operands

    def check(phase: str, outputs: Outputs) -> None:
        (factor,) = outputs
        if np.any(np.triu(factor, 1)) or np.any(np.diagonal(factor, axis1=-2, axis2=-1) <= 0):
            raise Disagreement("the factor is not lower triangular with a positive diagonal")
        close("L L^T = A", factor @ factor.mT, a, bound(a.shape[-1], unit=fixture.unit))

    return check


@case(
    "cholesky",
    suites=("small",),
    phases={"primal": squares(*SMALL_ORDERS)},
    fixture=fixtures.one_positive,
    oracle=cholesky_oracle,
    work=work.CHOLESKY,
    also=(LATENCY,),
)
def cholesky(xp: Any, a: Any) -> Any:
    """The lower Cholesky factor of a positive definite matrix."""
    return xp.linalg.cholesky(a)


def batch_of(count: int, n: int) -> Fixture:
    return Fixture((fixtures.batch(fixtures.generator(6, count, n), count, n),))


def symmetric_batch(count: int, n: int) -> Fixture:
    (a,) = batch_of(count, n).operands
    return Fixture((a + np.swapaxes(a, -1, -2),))


def system_batch(count: int, n: int) -> Fixture:
    b = fixtures.generator(7, count, n).standard_normal((count, n, n))
    return Fixture((*batch_of(count, n).operands, b))


BATCHED = {"primal": (Size("1000x8x8", (1000, 8)),)}
MICRO = ("micro",)
STACK_SIZES = tuple(Size(f"{count}x{n}x{n}", (count, n)) for count in (16, 128, 1024) for n in (2, 4, 8, 16))
STACKS = select("batched", primal=STACK_SIZES)


@case(
    "batched_inv",
    suites=MICRO,
    phases=BATCHED,
    fixture=batch_of,
    oracle=value_oracle(np.linalg.inv, condition=4.0),
    work=work.batched(work.INVERSE),
    also=(STACKS,),
)
def batched_inv(xp: Any, a: Any) -> Any:
    """The inverses of 1,000 matrices of 8 x 8."""
    return xp.linalg.inv(a)


@case(
    "batched_solve",
    suites=MICRO,
    phases=BATCHED,
    fixture=system_batch,
    oracle=solve_oracle,
    work=work.Cost(
        lambda count, n: 2 * count * n**2,
        lambda count, n: 8 / 3 * count * n**3,
        lambda count, n: count * n**2,
    ),
    also=(STACKS,),
)
def batched_solve(xp: Any, a: Any, b: Any) -> Any:
    """1,000 systems of 8 x 8 with 8 right-hand sides each."""
    return xp.linalg.solve(a, b)


@case(
    "batched_svd",
    suites=MICRO,
    phases=BATCHED,
    fixture=batch_of,
    oracle=svd_oracle,
    work=work.batched(work.SVD),
    also=(STACKS,),
)
def batched_svd(xp: Any, a: Any) -> Any:
    """The thin SVD of 1,000 matrices of 8 x 8."""
    return tuple(xp.linalg.svd(a, full_matrices=False))


@case(
    "batched_eigh",
    suites=MICRO,
    phases=BATCHED,
    fixture=symmetric_batch,
    oracle=eigh_oracle,
    work=work.batched(work.EIGH),
    also=(STACKS,),
)
def batched_eigh(xp: Any, a: Any) -> Any:
    """Eigenvalues and eigenvectors of 1,000 symmetric matrices of 8 x 8."""
    return tuple(xp.linalg.eigh(a))
