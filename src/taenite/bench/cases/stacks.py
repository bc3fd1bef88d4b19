"""Stacks of small matrices: the formulas of one matrix on 16 to 1,024 of them, forward and backward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import fixtures, work
from ..case import Check, Fixture, Size, case, select
from ..verify import bound, close, loss_oracle, value_oracle
from ..work import Cost
from . import losses
from .decompositions import STACK_SIZES, batch_of, cholesky_oracle, symmetric_batch, system_batch

SUITE = ("batched",)
GRADIENT_SIZES = tuple(
    Size(f"{count}x{n}x{n}", (count, n)) for count in (16, 128, 1024) for n in (2, 4, 8, 16)
)


def product_batch(count: int, n: int) -> Fixture:
    a, b = (fixtures.batch(fixtures.generator(20 + i, count, n), count, n) for i in range(2))
    return Fixture((a, b))


def weighted_batch(count: int, n: int) -> Fixture:
    weight = fixtures.generator(22, count, n).standard_normal((count, n, n))
    return Fixture((*product_batch(count, n).operands, weight))


def positive_batch(count: int, n: int) -> Fixture:
    """A A^T, whose eigenvalues are the squares of the singular values: in [0.9, 4.5]."""
    (a,) = batch_of(count, n).operands
    return Fixture((a @ a.mT,))


def product_oracle(fixture: Fixture) -> Check:
    a, b = fixture.operands
    wanted, scale = a @ b, float(np.linalg.norm(np.abs(a) @ np.abs(b)))

    def check(phase: str, outputs: Any) -> None:
        close("A B", outputs[0], wanted, bound(a.shape[-1], unit=fixture.unit), scale)

    return check


@case(
    "batched_matmul",
    suites=SUITE,
    phases={"primal": STACK_SIZES},
    fixture=product_batch,
    oracle=product_oracle,
    work=work.batched(work.MATMUL),
    dtypes=("float64", "float32", "complex128"),
    also=(select("micro", primal=(Size("32x128x128", (32, 128)),)),),
)
def batched_matmul(xp: Any, a: Any, b: Any) -> Any:
    """A B for every pair of two stacks of square matrices."""
    return a @ b


@case(
    "batched_det",
    suites=SUITE,
    phases={"primal": STACK_SIZES},
    fixture=batch_of,
    oracle=value_oracle(np.linalg.det, condition=4.0),
    work=work.batched(work.DET),
)
def batched_det(xp: Any, a: Any) -> Any:
    """The determinants of a stack."""
    return xp.linalg.det(a)


@case(
    "batched_cholesky",
    suites=SUITE,
    phases={"primal": STACK_SIZES},
    fixture=positive_batch,
    oracle=cholesky_oracle,
    work=work.batched(work.CHOLESKY),
)
def batched_cholesky(xp: Any, a: Any) -> Any:
    """The lower Cholesky factors of a stack of positive definite matrices."""
    return xp.linalg.cholesky(a)


GRADIENTS: tuple[tuple[str, Any, Any, Any, Any, tuple[int, ...]], ...] = (
    (
        "matmul",
        losses.grad_dense_matmul,
        losses.weighted_matmul_reference,
        weighted_batch,
        losses.DENSE,
        (0, 1),
    ),
    ("solve", losses.grad_sum_solve, losses.solve_reference, system_batch, None, (0, 1)),
    ("cholesky", losses.grad_sum_cholesky, losses.cholesky_reference, positive_batch, work.CHOLESKY, (0,)),
    ("eigh", losses.grad_sum_eigh, losses.eigh_reference, symmetric_batch, losses.EIGENVALUES, (0,)),
    ("svd_s", losses.grad_sum_svd_s, losses.svd_reference, batch_of, losses.SINGULAR_VALUES, (0,)),
    ("det", losses.grad_det, losses.det_reference, batch_of, work.DET, (0,)),
    ("inv", losses.grad_sum_inv, losses.inv_reference, batch_of, losses.INVERSE_SUM, (0,)),
)
"""Name, loss and reference of single matrices, the stack, the cost of one member, differentiated operands."""

SOLVES = Cost(
    lambda count, n: 2 * count * n**2,
    lambda count, n: 8 / 3 * count * n**3,
    least=lambda count, n: 2 / 3 * count * n**3,
    reverse=lambda count, n: 4 * count * n**3,
)

for name, formula, reference, fixture, cost, wrt in GRADIENTS:
    case(
        f"batched_grad_{name}",
        suites=SUITE,
        phases={"backward": GRADIENT_SIZES},
        fixture=fixture,
        oracle=loss_oracle(reference),
        work=replace(work.batched(cost), writes=work.one) if cost else SOLVES,
        wrt=wrt,
    )(formula)
