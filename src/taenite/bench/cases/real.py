"""Real work: the formulas of the examples, forward and backward."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from .. import formulas
from ..case import Array, Fixture, Size, Unavailable, case
from ..verify import Reference, loss_oracle
from ..work import Cost, Work

SUITE = ("large_ad", "real")

START = np.log([1.0, 0.3, *([0.1] * 10)])
"""Signal variance, noise variance and ten length scales, where the optimiser of the example is on its way."""


def diabetes(samples: int, features: int) -> Fixture:
    """scikit-learn's bundled diabetes data, the target standardised."""
    if find_spec("sklearn") is None:
        raise Unavailable("the diabetes data needs scikit-learn")
    from sklearn.datasets import load_diabetes

    x, y = load_diabetes(return_X_y=True)
    standard = (y - y.mean()) / y.std()
    return Fixture((START, x[:samples, :features], standard[:samples], np.eye(samples)))


def gp_reference(log_params: Array, x: Array, y: Array, eye: Array) -> Reference:
    """d L = tr((alpha alpha^T - inv(K)) dK) / 2, with alpha = inv(K) y (Rasmussen and Williams, eq. 5.9)."""
    signal, noise, scales = np.exp(log_params[0]), np.exp(log_params[1]), np.exp(log_params[2:])
    squares = ((x[:, None, :] - x[None, :, :]) / scales) ** 2
    covariance = signal * np.exp(-0.5 * squares.sum(axis=2))
    k = covariance + noise * eye
    inverse = np.linalg.inv(k)
    alpha = inverse @ y
    slopes = (np.outer(alpha, alpha) - inverse) / 2
    weighted = slopes * covariance
    of_scales = np.einsum("ij,ijk->k", weighted, squares)
    gradient = np.array([weighted.sum(), noise * np.trace(slopes), *of_scales])
    value = -0.5 * (y @ alpha + np.linalg.slogdet(k)[1] + len(y) * np.log(2 * np.pi))
    return Reference(float(value), (gradient,), float(np.linalg.cond(k)), abs(float(value)))


GP = Cost(
    lambda s, f: len(START) + s * f + s + s**2,
    lambda s, f: s**3 / 3 + s**2 * (2 * f + 7),
    least=lambda s, f: s**3 / 3,
    gradients=lambda s, f: len(START),
    reverse=lambda s, f: 2 * s**3,
)
"""A Cholesky factorization of s samples; the pullback solves for the inverse."""


@case(
    "gaussian_process",
    suites=SUITE,
    phases={"backward": (Size("442x10", (442, 10)),)},
    fixture=diabetes,
    oracle=loss_oracle(gp_reference),
    work=GP,
    wrt=(0,),
)
def gaussian_process(xp: Any, log_params: Any, x: Any, y: Any, eye: Any) -> Any:
    """Log marginal likelihood of a GP on the diabetes data, and its gradient in 12 hyperparameters."""
    return formulas.gp_log_marginal(xp.ops(), log_params, x, y, eye)


BETA, BOND, STEPS = 0.4, 12, 8


def plaquette(bond: int, steps: int) -> Fixture:
    return Fixture((np.asarray(BETA), np.asarray(formulas.ising_plaquette())))


@cache
def cuts() -> formulas.Cuts:
    return formulas.ising_cuts(np, BETA, BOND, STEPS)


def ising_reference(beta: Array, bonds: Array) -> Reference:
    """The value from NumPy; the internal energy from central differences, extrapolated to fourth order.

    Truncation is h^4 and rounding u / h: at h = 1e-3 both are below 1e-11; ``condition`` allows for them.
    """

    def log_z(at: float) -> float:
        return float(formulas.ising_log_z(formulas.numpy_ops(np), np.asarray(at), bonds, cuts()))

    def slope(h: float) -> float:
        return (log_z(BETA + h) - log_z(BETA - h)) / (2 * h)

    value = log_z(BETA)
    energy = np.asarray((4 * slope(5e-4) - slope(1e-3)) / 3)
    return Reference(value, (energy,), 1e7, abs(value))


def ising_work(phase: str, bond: int, steps: int) -> Work:
    """Two SVDs in every step, whose order is the product of the two ranks that the step before kept."""
    orders = [4, *(first * second for first, second in cuts()[:-1])]
    flops = sum(2 * 22.0 * order**3 for order in orders)
    cost = Cost(lambda *_: 17, lambda *_: flops, least=lambda *_: flops / 5.5, gradients=lambda *_: 1)
    return cost(phase, bond, steps)


@case(
    "ising_trg",
    suites=SUITE,
    phases={"backward": (Size(f"bond={BOND},steps={STEPS}", (BOND, STEPS)),)},
    fixture=plaquette,
    oracle=loss_oracle(ising_reference),
    work=ising_work,
    wrt=(0,),
)
def ising_trg(xp: Any, beta: Any, bonds: Any) -> Any:
    """ln Z of the 2-D Ising model by tensor renormalisation, and the internal energy as its derivative."""
    return formulas.ising_log_z(xp.ops(), beta, bonds, cuts())
