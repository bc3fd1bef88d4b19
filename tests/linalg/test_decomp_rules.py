"""Derivatives of svd, eigh and qr: ties, zeros, gauges, modes, and values that are known in closed form."""

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


def frobenius(x):
    return tn.sqrt((x * x).sum())


# ---- ties and zeros


def test_norm_of_a_rebuilt_matrix_with_equal_singular_values():
    a = np.diag([1.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(gradient(lambda x: frobenius(rebuilt(x)), a), a / np.sqrt(15), RTOL, ATOL)


def test_best_rank_one_approximation_with_a_tie_among_the_discarded():
    def f(x):
        U, S, Vh = tn.linalg.svd(x)
        return (S[0] * U[:, 0:1] * Vh[0:1, :])[0, 1]

    want = [[0, 9 / 8, 0], [3 / 8, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(gradient(f, np.diag([3.0, 1.0, 1.0])), want, RTOL, ATOL)


def test_nuclear_norm_at_a_tie():
    a = np.diag([2.0, 2.0, -1.0])
    want = np.diag([1.0, 1.0, -1.0])
    np.testing.assert_allclose(gradient(lambda x: tn.linalg.svdvals(x).sum(), a), want, RTOL, ATOL)
    np.testing.assert_allclose(gradient(lambda x: tn.linalg.svd(x)[1].sum(), a), want, RTOL, ATOL)


def test_two_zero_singular_values_warn():
    with pytest.warns(DegenerateSpectrumWarning, match="dropped"):
        g = gradient(lambda x: rebuilt(x).sum(), np.diag([3.0, 2.0, 0.0, 0.0]))
    assert np.all(np.isfinite(g))
    np.testing.assert_allclose(g[:2], 1, RTOL)
    np.testing.assert_allclose(g[:, :2], 1, RTOL)


def test_complex_matrix_with_one_zero_singular_value():
    a, b = np.array([[1j, 0.5j], [0, 0]]), tn.asarray(np.array([[1.0, 0.0], [0.0, 0.0]]))
    g = gradient(lambda t: tn.real(rebuilt(tn.asarray(a) + t * b))[0, 0], 1.0)
    np.testing.assert_allclose(g, 1.0, RTOL, ATOL)


def test_matrix_function_through_eigh_at_a_tie_warns():
    weight = tn.asarray(np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]]))

    def f(x):
        w, V = tn.linalg.eigh(x)
        return (weight * ((V * tn.exp(w)) @ V.mT)).sum()

    with pytest.warns(DegenerateSpectrumWarning):
        g = gradient(f, np.diag([1.0, 1.0, 2.0]))
    np.testing.assert_allclose(g[2, :2], [9.341548540943212, 14.012322811414817], RTOL)


def test_vectors_that_rounding_cannot_tell_apart():
    a = np.diag([9007199254740992.0, 9007199254740994.0, 9007199254740996.0])
    with pytest.warns(DegenerateSpectrumWarning):
        g = gradient(lambda x: tn.linalg.eigh(x)[1].sum(), a)
    np.testing.assert_allclose(g, np.zeros((3, 3)), atol=1e-12)


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

ILL = np.array([[1 + 2j, 3 - 1j], [0.5j, 2]])


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e8])
def test_a_loss_of_phases_is_refused_at_every_scale(scale):
    with pytest.raises(tn.errors.GaugeError, match="phase"):
        gradient(lambda x: scale * tn.real(tn.linalg.svd(x)[0]).sum(), ILL)
    with pytest.raises(tn.errors.GaugeError, match="phase"):
        gradient(lambda x: scale * tn.imag(tn.linalg.eigh(x + x.mT.conj())[1]).sum(), ILL)


def test_a_large_loss_without_phases_is_accepted_in_single_precision():
    def f(x):
        U = tn.linalg.svd(x)[0]
        return 1e8 * tn.real(tn.conj(U) * U)[0, 0]

    g = gradient(f, ILL.astype("complex64"))
    assert np.all(np.isfinite(g))


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


# ---- modes

TALL = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]])
TALL_QR = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.5]])


@pytest.mark.parametrize("full_matrices", [False, True])
def test_range_projector_does_not_depend_on_full_matrices(full_matrices):
    want = [
        [0.02747599231000463, 0.03745684222089108],
        [0.00574399856378727, 0.00942947447448646],
        [-0.01287562063502934, -0.01430176417937656],
    ]
    f = lambda x: (U := tn.linalg.svd(x, full_matrices=full_matrices)[0])[0, 0] * U[1, 0]  # noqa: E731
    np.testing.assert_allclose(gradient(f, TALL), want, RTOL, ATOL)


def test_complement_projector_of_complete_qr():
    def f(x):
        N = tn.linalg.qr(x, mode="complete")[0][:, 2:]
        return (N @ N.mT)[0, 1]

    want = [
        [-0.29630124628286947, 0.12589795850178756],
        [0.814828427277891, -0.3462193858799158],
        [-0.4444518694243042, 0.18884693775268135],
    ]
    np.testing.assert_allclose(gradient(f, TALL_QR), want, 1e-8, ATOL)


@pytest.mark.parametrize("a", [TALL_QR, TALL_QR.T, TALL_QR[:2]], ids=["tall", "wide", "square"])
def test_r_alone_is_differentiable(a):
    f = lambda x: tn.square(tn.linalg.qr(x, mode="r")).sum()  # noqa: E731
    np.testing.assert_allclose(gradient(f, a), 2 * a, RTOL, ATOL)


@pytest.mark.parametrize("output", [0, 1])
def test_an_unused_output_is_a_zero_cotangent(output):
    a = np.random.default_rng(5).standard_normal((4, 4))

    def f(x):
        return tn.square(tn.diagonal(tn.linalg.qr(x)[output]).sum())

    first = gradient(f, a)
    for size in (3, 7, 16, 64):  # what the pool hands out again is full of NaN
        tn.asarray(np.full((size, size), np.nan)) * 2.0
        np.testing.assert_array_equal(gradient(f, a), first)


# ---- eigh is a function of the Hermitian part


@pytest.mark.parametrize("uplo", "LU")
def test_jvp_and_vjp_agree_for_a_tangent_that_is_not_symmetric(uplo):
    a, t = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[0.0, 1.0], [0.0, 0.0]])
    f = lambda x: tn.square(tn.linalg.eigh(x, UPLO=uplo)[1][0, 0])  # noqa: E731
    _, forward = tn.jvp(f, (tn.asarray(a),), (tn.asarray(t),))
    np.testing.assert_allclose(forward.item(), -0.08944271909999157, RTOL)
    np.testing.assert_allclose((gradient(f, a) * t).sum(), -0.08944271909999157, RTOL)


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
