"""svd, eigh and qr: what they return, through residuals, since vectors are unique up to a gauge only.

Tolerances: LAPACK's backward errors are a small multiple of max(m, n) x unit round-off x the largest value;
20 covers the worst that its own drivers showed here (9, gesdd with full_matrices) with a factor of two.
"""

import numpy as np
import pytest

import taenite as tn
from taenite import _core

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(4, 4), (5, 3), (3, 5), (2, 3, 6, 4), (1, 1), (7, 1), (1, 7), (40, 40), (33, 65)]
SMALL_STACKS = [
    (37, 8, 8),
    (50, 5, 3),
    (50, 3, 5),
    (20, 16, 16),
    (20, 32, 16),
    (20, 16, 32),
    (17, 1, 4),
    (4, 5, 7, 7),
]
EMPTY = [(0, 3), (3, 0), (0, 0), (2, 0, 0), (0, 3, 3), (2, 3, 0)]


def matrix(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(shape)
    return (
        (a + 1j * rng.standard_normal(shape)).astype(dtype)
        if np.dtype(dtype).kind == "c"
        else a.astype(dtype)
    )


def adjoint(x):
    return np.swapaxes(x, -1, -2).conj()


def layouts(a):
    """The same matrices in rows, in columns, spread out, backwards, and repeated without a copy."""
    yield a
    yield np.ascontiguousarray(np.swapaxes(a, -1, -2)).swapaxes(-1, -2)
    spread = np.zeros((*a.shape[:-2], 2 * a.shape[-2], 3 * a.shape[-1]), a.dtype)[..., ::2, ::3]
    spread[...] = a
    yield spread
    yield a[..., ::-1, :].copy()[..., ::-1, :]
    yield np.broadcast_to(a, (3, *a.shape))


def tolerance(dtype):
    return 20 * np.finfo(dtype).eps


def assert_small(residual, scale, dtype):
    assert np.all(np.abs(residual) <= tolerance(dtype) * scale)


def assert_orthonormal(q, dtype):
    assert_small(adjoint(q) @ q - np.eye(q.shape[-1]), max(q.shape[-2], 1), dtype)


def size_of(a):
    return max(a.shape[-2:]) * np.abs(a).max(axis=(-2, -1), keepdims=True, initial=np.finfo(a.dtype).tiny)


def check_svd(a, full_matrices):
    U, S, Vh = (np.asarray(x) for x in tn.linalg.svd(tn.asarray(a), full_matrices=full_matrices))
    k = min(a.shape[-2:])
    assert U.dtype == Vh.dtype == a.dtype and S.dtype == a.real.dtype
    assert_small((U[..., :k] * S[..., None, :]) @ Vh[..., :k, :] - a, size_of(a), a.dtype)
    assert_orthonormal(U, a.dtype)
    assert_orthonormal(adjoint(Vh), a.dtype)
    assert np.all(np.diff(S, axis=-1) <= 0) and np.all(S >= 0)
    values = np.asarray(tn.linalg.svdvals(tn.asarray(a)))
    assert_small(values - S, size_of(a)[..., 0], a.dtype)


def check_qr(a, mode):
    Q, R = (np.asarray(x) for x in tn.linalg.qr(tn.asarray(a), mode=mode))
    assert_small(Q @ R - a, size_of(a), a.dtype)
    assert_orthonormal(Q, a.dtype)
    np.testing.assert_array_equal(R, np.triu(R))
    if mode == "reduced":
        np.testing.assert_array_equal(np.asarray(tn.linalg.qr(tn.asarray(a), mode="r")), R)


def check_eigh(a, uplo):
    triangle = np.tril(a) if uplo == "L" else np.triu(a)
    h = triangle + adjoint(triangle)
    diagonal = np.arange(a.shape[-1])
    h[..., diagonal, diagonal] = a[..., diagonal, diagonal].real
    w, V = (np.asarray(x) for x in tn.linalg.eigh(tn.asarray(a), UPLO=uplo))
    assert_small(h @ V - V * w[..., None, :], size_of(a), a.dtype)
    assert_orthonormal(V, a.dtype)
    assert np.all(np.diff(w, axis=-1) >= 0)
    assert_small(np.asarray(tn.linalg.eigvalsh(tn.asarray(a), UPLO=uplo)) - w, size_of(a)[..., 0], a.dtype)


def check_all(a):
    for full_matrices in (False, True):
        check_svd(a, full_matrices)
    for mode in ("reduced", "complete"):
        check_qr(a, mode)
    if a.shape[-1] == a.shape[-2]:
        for uplo in "LU":
            check_eigh(a, uplo)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_residuals_in_every_layout(dtype, shape):
    for a in layouts(matrix(shape, dtype)):
        before = a.copy()
        check_all(a)
        np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize("shape", SMALL_STACKS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks_of_small_matrices(dtype, shape):
    for a in layouts(matrix(shape, dtype)):
        check_all(a)


@pytest.fixture
def simd_target(request):
    selected = _core.simd_target()
    assert _core.select_simd_target(request.param)
    yield request.param
    _core.select_simd_target(selected)


@pytest.mark.parametrize("simd_target", _core.simd_targets(), indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stacks_of_small_matrices_on_every_simd_target(dtype, simd_target):
    for shape in SMALL_STACKS:
        check_all(matrix(shape, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("damage", ["rank", "scale", "zero", "graded", "equal"])
def test_hard_stacks_of_small_matrices(dtype, damage):
    a = matrix((33, 8, 8), dtype)
    if damage == "rank":
        a[::3, :, 0] = a[::3, :, 1]
    elif damage == "scale":
        a *= np.logspace(-30, 30, 33).astype(dtype)[:, None, None]
    elif damage == "zero":
        a[::2] = 0
    elif damage == "graded":
        a *= np.logspace(0, -12, 8).astype(dtype)
    else:
        a[:] = np.eye(8)
    check_all(a)


@pytest.mark.parametrize("shape", EMPTY, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_empty(dtype, shape):
    a = np.zeros(shape, dtype)
    for full_matrices in (False, True):
        got = tn.linalg.svd(tn.asarray(a), full_matrices=full_matrices)
        want = np.linalg.svd(a, full_matrices=full_matrices)
        assert [tuple(x.shape) for x in got] == [x.shape for x in want]
        assert_orthonormal(np.asarray(got[0]), dtype)
        assert_orthonormal(adjoint(np.asarray(got[2])), dtype)
    for mode in ("reduced", "complete"):
        got = tn.linalg.qr(tn.asarray(a), mode=mode)
        assert [tuple(x.shape) for x in got] == [x.shape for x in np.linalg.qr(a, mode=mode)]
        assert_orthonormal(np.asarray(got[0]), dtype)
    if shape[-1] == shape[-2]:
        got = tn.linalg.eigh(tn.asarray(a))
        assert [tuple(x.shape) for x in got] == [shape[:-1], shape]


def test_qr_has_the_signs_of_lapack():
    a = matrix((40, 6, 6), "float64")
    Q, R = np.linalg.qr(a)
    got = tn.linalg.qr(tn.asarray(a))
    # Both are backward stable; 1e-11 leaves room for the condition of the worst of 40 random matrices.
    np.testing.assert_allclose(np.asarray(got[0]), Q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(np.asarray(got[1]), R, rtol=0, atol=1e-11)


def test_names_of_the_results():
    a = tn.asarray(np.eye(2))
    assert tn.linalg.svd(a)._fields == ("U", "S", "Vh")
    assert tn.linalg.eigh(a)._fields == ("eigenvalues", "eigenvectors")
    assert tn.linalg.qr(a)._fields == ("Q", "R")


OPERATIONS = {
    "svd": tn.linalg.svd,
    "svdvals": tn.linalg.svdvals,
    "eigh": tn.linalg.eigh,
    "eigvalsh": tn.linalg.eigvalsh,
    "qr": tn.linalg.qr,
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_nan_and_inf_are_refused(name, value):
    a = np.ones((2, 3, 3))
    a[1, 2, 0] = value
    with pytest.raises(tn.errors.LinAlgError, match="NaN or Inf at batch index 1"):
        OPERATIONS[name](tn.asarray(a))
    stack = matrix((40, 8, 8), "float64")
    stack[23, 5, 2] = value
    with pytest.raises(np.linalg.LinAlgError, match="NaN or Inf at batch index 23"):
        OPERATIONS[name](tn.asarray(stack))


def test_eigh_ignores_the_other_triangle():
    a = np.array([[2.0, np.nan], [1.0, 3.0]])
    np.testing.assert_allclose(
        np.asarray(tn.linalg.eigvalsh(tn.asarray(a))), np.linalg.eigvalsh(a), rtol=1e-14
    )


@pytest.mark.parametrize("name", OPERATIONS)
def test_vectors_are_refused(name):
    with pytest.raises(ValueError, match=rf"linalg\.{name}: a must .* got shape \(3,\)"):
        OPERATIONS[name](tn.asarray(np.ones(3)))


@pytest.mark.parametrize("name", ["eigh", "eigvalsh"])
def test_eigenvalues_of_a_rectangle_are_refused(name):
    with pytest.raises(ValueError, match=rf"linalg\.{name}: a must be square .* got shape \(2, 3\)"):
        OPERATIONS[name](tn.asarray(np.ones((2, 3))))


def test_options_are_checked():
    a = tn.asarray(np.eye(2))
    with pytest.raises(ValueError, match=r"linalg\.qr: mode must be .* got 'full'"):
        tn.linalg.qr(a, mode="full")
    with pytest.raises(ValueError, match=r"linalg\.eigh: UPLO must be .* got 'X'"):
        tn.linalg.eigh(a, UPLO="X")


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_driver_call_per_large_matrix(dtype):
    a = tn.asarray(matrix((2, 20, 12), dtype))
    square = tn.asarray(matrix((2, 20, 20), dtype))
    with tn.observe() as calls:
        tn.linalg.svd(a), tn.linalg.svdvals(a), tn.linalg.qr(a), tn.linalg.eigh(square)
    assert calls.counts["gesdd"] == 4 and calls.counts["syevd"] == 2
    assert calls.counts["geqrf"] == 2 and calls.counts["orgqr"] == 2


def test_r_alone_forms_no_q():
    with tn.observe() as calls:
        tn.linalg.qr(tn.asarray(matrix((20, 12), "float64")), mode="r")
    assert calls.counts["geqrf"] == 1 and calls.counts.get("orgqr", 0) == 0
