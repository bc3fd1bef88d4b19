"""Derivatives of svd, eigh and qr: zeros, gauges, and the work of them. The hard cases are in tests/facts."""

import warnings

import numpy as np
import pytest

import taenite as tn

RTOL, ATOL = 1e-9, 1e-12  # of closed-form values: these matrices have condition 10 at most
DegenerateSpectrumWarning = tn.errors.DegenerateSpectrumWarning


def gradient(f, a):
    return np.asarray(tn.grad(f)(tn.asarray(np.asarray(a))))


def rebuilt(x):
    U, S, Vh = tn.linalg.svd(x, full_matrices=False)
    return (U * S) @ Vh


# ---- ties and zeros


def test_values_only_is_silent_and_right_at_a_tie():
    np.testing.assert_allclose(
        gradient(lambda x: tn.linalg.eigvalsh(x).sum(), np.eye(3)), np.eye(3), RTOL, ATOL
    )


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_zero_matrix_gives_no_nan(dtype, shape):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateSpectrumWarning)
        assert np.all(np.isfinite(gradient(lambda x: tn.abs(rebuilt(x)).sum(), np.zeros(shape, dtype))))


# ---- gauges


@pytest.mark.parametrize("side", [0, 2])
def test_a_loss_of_the_basis_of_a_null_space_is_refused(side):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((5, 3) if side == 0 else (3, 5))
    weight = tn.asarray(rng.standard_normal((5, 5)))
    with pytest.raises(tn.errors.GaugeError, match="null space"):
        gradient(lambda x: (weight * tn.linalg.svd(x, full_matrices=True)[side]).sum(), a)


def test_a_loss_of_the_basis_of_a_complement_is_refused():
    rng = np.random.default_rng(3)
    weight = tn.asarray(rng.standard_normal((5, 5)))
    with pytest.raises(tn.errors.GaugeError, match="complement"):
        gradient(lambda x: (weight * tn.linalg.qr(x, mode="complete")[0]).sum(), rng.standard_normal((5, 3)))


# ---- counts: the work of forward and backward


def counts(f, a):
    x = tn.variable(tn.asarray(a))
    with tn.observe() as calls:
        f(x).backward()
    return calls.counts


def test_singular_values_cost_one_driver_call_and_one_product():
    found = counts(lambda x: tn.linalg.svdvals(x).sum(), np.random.default_rng(0).standard_normal((30, 20)))
    assert found["gesdd"] == 1 and found["gemm"] == 1 and found.get("gesvd", 0) == 0


def test_eigenvalues_cost_one_driver_call_and_one_product():
    found = counts(lambda x: tn.linalg.eigvalsh(x).sum(), np.random.default_rng(0).standard_normal((20, 20)))
    assert found["syevd"] == 1 and found["gemm"] == 1
