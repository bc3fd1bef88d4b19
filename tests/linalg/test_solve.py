"""solve, inv, det, slogdet, Cholesky, LU and triangular solves: residuals, errors, empties, counts.

Tolerances: Gaussian elimination with partial pivoting has a backward error of a small multiple of n x unit
round-off; the matrices here have condition numbers below 100, and 50 n u bounds residuals relative to the
solution's size with room for the larger ones.
"""

import numpy as np
import pytest
import scipy.linalg

import taenite as tn
from taenite import _core

DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [
    (3, 3),
    (1, 1),
    (2, 5, 5),
    (2, 3, 4, 4),
    (20, 20),
    (40, 8, 8),
    (9, 3, 3),
    (70, 70),
    (5, 16, 16),
    (5, 17, 17),
]
EMPTY = [(0, 0), (2, 0, 0), (0, 3, 3), (2, 0, 3, 3)]


def noise(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def regular(shape, dtype):
    return noise(shape, dtype) + (4 * np.sqrt(shape[-1]) * np.eye(shape[-1])).astype(dtype)


def positive(shape, dtype):
    x = noise(shape, dtype)
    return x @ adjoint(x) + (shape[-1] * np.eye(shape[-1])).astype(dtype)


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


def assert_solves(a, x, b):
    n, unit = a.shape[-1], np.finfo(a.dtype).eps
    scale = np.abs(a).sum(-1, keepdims=True).max(initial=1) * np.abs(x).max(initial=1)
    np.testing.assert_allclose(a @ x, b, rtol=0, atol=50 * n * unit * scale)


@pytest.fixture(params=DTYPES)
def dtype(request):
    return request.param


@pytest.fixture(params=SHAPES, ids=str)
def shape(request):
    return request.param


# ---- values


def test_solve(shape, dtype):
    for a in layouts(regular(shape, dtype)):
        before = a.copy()
        for b in layouts(noise((*a.shape[:-1], 3), dtype, 1)):
            if b.shape[:-2] == a.shape[:-2]:
                x = np.asarray(tn.linalg.solve(a, b))
                assert x.dtype == dtype
                assert_solves(a, x, b)
        v = noise(shape[-1:], dtype, 2)
        assert_solves(
            a, np.asarray(tn.linalg.solve(a, v))[..., None], np.broadcast_to(v[:, None], (*a.shape[:-1], 1))
        )
        assert np.array_equal(a, before)


def test_solve_broadcasts_leading_axes(dtype):
    a, b = regular((4, 1, 3, 3), dtype), noise((5, 3, 2), dtype)
    x = np.asarray(tn.linalg.solve(a, b))
    assert x.shape == (4, 5, 3, 2)
    assert_solves(np.broadcast_to(a, (4, 5, 3, 3)), x, np.broadcast_to(b, x.shape))
    assert tn.linalg.solve(a[0, 0], b).shape == (5, 3, 2)


def test_b_is_a_vector_only_if_it_has_one_axis():
    a, b = regular((2, 3, 3), "float64"), noise((3, 2), "float64")
    assert tn.linalg.solve(a, b).shape == (2, 3, 2)
    with pytest.raises(
        ValueError, match=r"b must have as many rows as a, got shapes \(2, 3, 3\) and \(2, 3\)"
    ):
        tn.linalg.solve(a, noise((2, 3), "float64"))


@pytest.mark.parametrize("assume_a", ["pos", "upper", "lower"])
def test_solve_of_a_kind(shape, dtype, assume_a):
    for a in layouts(positive(shape, dtype)):
        b = noise((*a.shape[:-1], 2), dtype, 1)
        read = {"pos": lambda x: x, "upper": np.triu, "lower": np.tril}[assume_a](a)
        assert_solves(read, np.asarray(tn.linalg.solve(a, b, assume_a=assume_a)), b)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("trans", ["N", "T", "C"])
@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_solve_triangular(dtype, upper, trans, unit_diagonal, left):
    for a in layouts(regular((2, 5, 5), dtype)):
        t = np.triu(a) if upper else np.tril(a)
        if unit_diagonal:
            t = np.where(np.eye(5, dtype=bool), np.ones(1, dtype), t)
        op = {"N": t, "T": np.swapaxes(t, -1, -2), "C": adjoint(t)}[trans]
        for b in layouts(noise((2, 5, 3) if left else (2, 3, 5), dtype, 1)):
            if b.ndim != a.ndim:
                continue
            x = np.asarray(
                tn.linalg.solve_triangular(
                    a, b, upper=upper, trans=trans, unit_diagonal=unit_diagonal, left=left
                )
            )
            if left:
                assert_solves(op, x, b)
            else:
                assert_solves(np.swapaxes(op, -1, -2), np.swapaxes(x, -1, -2), np.swapaxes(b, -1, -2))


def test_inv(shape, dtype):
    for a in layouts(regular(shape, dtype)):
        y = np.asarray(tn.linalg.inv(a))
        assert y.dtype == dtype
        assert_solves(a, y, np.broadcast_to(np.eye(shape[-1]), a.shape))


def test_det_and_slogdet(shape, dtype):
    rtol = 50 * shape[-1] * np.finfo(dtype).eps
    for a in layouts(noise(shape, dtype) / np.float32(np.sqrt(shape[-1]))):
        wide = a.astype(np.result_type(a.dtype, np.float64))
        condition = np.linalg.cond(wide).max()
        sign, log = np.linalg.slogdet(wide)
        got_sign, got_log = map(np.asarray, tn.linalg.slogdet(a))
        np.testing.assert_allclose(np.asarray(tn.linalg.det(a)), sign * np.exp(log), rtol=rtol * condition)
        np.testing.assert_allclose(got_sign, sign, rtol=rtol * condition)
        np.testing.assert_allclose(got_log, log, rtol=0, atol=rtol * condition)
        assert got_log.dtype == np.finfo(dtype).dtype


@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(shape, dtype, upper):
    for a in layouts(positive(shape, dtype)):
        factor = np.asarray(tn.linalg.cholesky(a, upper=upper))
        product = adjoint(factor) @ factor if upper else factor @ adjoint(factor)
        bound = 50 * shape[-1] * np.finfo(dtype).eps * np.abs(a).max()
        np.testing.assert_allclose(product, a, rtol=0, atol=bound)
        assert not np.any(np.tril(factor, -1) if upper else np.triu(factor, 1))
        b = noise((*a.shape[:-1], 2), dtype, 1)
        assert_solves(a, np.asarray(tn.linalg.cho_solve(factor, b, upper=upper)), b)


@pytest.mark.parametrize(
    "shape", [(4, 4), (5, 3), (3, 5), (2, 6, 4), (2, 1, 4, 6), (1, 1), (0, 3), (3, 0), (40, 30)]
)
def test_lu(shape, dtype):
    for a in layouts(noise(shape, dtype)):
        P, L, U = map(np.asarray, tn.linalg.lu(a))
        bound = 50 * max(shape[-2:]) * np.finfo(dtype).eps
        np.testing.assert_allclose(P @ L @ U, a, rtol=0, atol=bound)
        assert np.all(np.abs(L) <= (1 if a.dtype.kind == "f" else np.sqrt(2)) + bound)
        assert not np.any(np.triu(L, 1)) and not np.any(np.tril(U, -1))
        assert np.array_equal(P.sum(-1), np.ones(P.shape[:-1]))


def test_lu_factor_is_in_the_form_of_lapack(dtype):
    a = noise((6, 6), dtype)
    lu, pivots = tn.linalg.lu_factor(a)
    expected = scipy.linalg.lu_factor(a)
    np.testing.assert_allclose(np.asarray(lu), expected[0], rtol=0, atol=300 * np.finfo(dtype).eps)
    assert np.array_equal(np.asarray(pivots), expected[1])


@pytest.mark.parametrize("trans", ["N", "T", "C"])
def test_lu_solve(shape, dtype, trans):
    a = regular(shape, dtype)
    op = {"N": a, "T": np.swapaxes(a, -1, -2), "C": adjoint(a)}[trans]
    b = noise((*shape[:-1], 2), dtype, 1)
    assert_solves(op, np.asarray(tn.linalg.lu_solve(tn.linalg.lu_factor(a), b, trans=trans)), b)


# ---- empties and dtypes


@pytest.mark.parametrize("shape", EMPTY, ids=str)
def test_empty(shape, dtype):
    a, b = np.ones(shape, dtype), np.ones((*shape[:-1], 2), dtype)
    assert tn.linalg.solve(a, b).shape == b.shape
    assert tn.linalg.solve(a, b, assume_a="pos").shape == b.shape
    assert tn.linalg.solve_triangular(a, b, upper=True).shape == b.shape
    assert tn.linalg.inv(a).shape == tn.linalg.cholesky(a).shape == shape
    assert np.array_equal(np.asarray(tn.linalg.det(a)), np.ones(shape[:-2]))
    assert np.array_equal(np.asarray(tn.linalg.slogdet(a).logabsdet), np.zeros(shape[:-2]))
    assert [x.shape for x in tn.linalg.lu(a)] == [shape] * 3
    (g,) = tn.vjp(tn.linalg.det, a)[1](tn.asarray(np.ones(shape[:-2], dtype)))
    assert g.shape == shape


def test_no_right_hand_sides():
    assert tn.linalg.solve(np.eye(3), np.ones((3, 0))).shape == (3, 0)


def test_integers_are_computed_in_float64_and_mixed_precisions_promote():
    assert np.allclose(np.asarray(tn.linalg.inv([[2, 1], [1, 3]])), [[0.6, -0.2], [-0.2, 0.4]])
    assert tn.linalg.inv(np.eye(2, dtype=int)).dtype is tn.dtypes.float64
    a32, b64 = np.eye(2, dtype=np.float32), np.ones(2)
    assert tn.linalg.solve(a32, b64).dtype is tn.dtypes.float64
    assert tn.linalg.solve(a32, 1j * np.ones(2, np.complex64)).dtype is tn.dtypes.complex64
    with pytest.raises(TypeError, match="float16"):
        tn.linalg.inv(np.eye(2, dtype=np.float16))


# ---- failures


def test_failures_name_the_batch_index():
    a = np.zeros((2, 3, 2, 2))
    a[...] = np.eye(2)
    a[1, 1] = 1
    for call in (tn.linalg.inv, lambda x: tn.linalg.solve(x, np.ones((2, 1)))):
        with pytest.raises(tn.errors.LinAlgError, match=r"singular at batch index \(1, 1\): pivot 2"):
            call(a)
    a[0, 2, 0, 0] = np.nan
    for call in (tn.linalg.inv, tn.linalg.cholesky, tn.linalg.lu, tn.linalg.det, tn.linalg.slogdet):
        with pytest.raises(np.linalg.LinAlgError, match=r"NaN or Inf at batch index \(0, 2\)"):
            call(a)


@pytest.mark.parametrize("count", [3, 40])
def test_ex_variants_mark_failures(count):
    a = np.stack([np.eye(3) * (k + 1) for k in range(count)])
    a[1], a[2, 1, 2] = 0, np.inf
    y, info = map(np.asarray, tn.linalg.inv_ex(a))
    assert info[:3].tolist() == [0, 1, -1] and not info[3:].any()
    assert np.isnan(y[1:3]).all() and np.allclose(y[0], np.eye(3))
    x, info = map(np.asarray, tn.linalg.solve_ex(a, np.ones(3)))
    assert info[:3].tolist() == [0, 1, -1]
    assert np.isnan(x[1:3]).all() and np.allclose(x[0], 1)
    L, info = map(np.asarray, tn.linalg.cholesky_ex(a))
    assert info[:3].tolist() == [0, 1, 0]  # the triangle that is read of a[2] is finite
    assert np.isnan(L[1]).all() and np.allclose(L[0], np.eye(3))
    assert np.asarray(tn.linalg.lu_factor_ex(a).info)[:3].tolist() == [0, 1, -1]


def test_nearly_singular_warns():
    a = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]])
    tn.linalg.inv(a)
    a[2] = a[0] + 3 * a[1]
    a[2, 2] += 10 * np.spacing(a[2, 2])
    with pytest.warns(
        tn.errors.IllConditionedWarning, match="a is nearly singular: its reciprocal condition number"
    ):
        tn.linalg.inv(a)


def test_right_hand_sides_may_hold_nan():
    x = np.asarray(tn.linalg.solve(np.eye(2), np.array([[1.0, np.nan], [2.0, 3.0]])))
    assert np.array_equal(x[:, 0], [1, 2])


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: tn.linalg.solve(np.ones((2, 3)), np.ones(2)), ValueError, r"linalg.solve: a must be square"),
        (lambda: tn.linalg.solve(np.eye(2), 1.0), ValueError, "b must have as many rows"),
        (
            lambda: tn.linalg.solve(np.ones((2, 3, 3)), np.ones((4, 3, 1))),
            ValueError,
            "leading axes must broadcast",
        ),
        (
            lambda: tn.linalg.solve(np.eye(2), np.ones(2), assume_a="sym"),
            ValueError,
            "assume_a must be 'gen'",
        ),
        (
            lambda: tn.linalg.solve_triangular(np.eye(2), np.ones(2), upper=True, trans="H"),
            ValueError,
            "got 'H'",
        ),
        (lambda: tn.linalg.inv(3.0), ValueError, r"linalg.inv: a must be square .* got shape \(\)"),
        (lambda: tn.linalg.lu(np.ones(3)), ValueError, r"linalg.lu: a must have at least 2 axes"),
        (
            lambda: tn.linalg.cho_solve(np.ones((2, 3)), np.ones(2)),
            ValueError,
            "linalg.cho_solve: factor must be square",
        ),
        (lambda: tn.linalg.slogdet(np.ones((2, 1))), ValueError, r"linalg.slogdet: a must be square"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


# ---- derivatives where the samples of the records do not go


def gradient(f, a):
    a = tn.asarray(a)
    return np.asarray(tn.grad(f)(a))


def test_det_of_singular_matrices_has_its_derivatives():
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    cofactors = np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)]
            for i in range(3)
        ]
    )
    np.testing.assert_allclose(gradient(tn.linalg.det, a), cofactors, atol=1e-13)
    np.testing.assert_allclose(gradient(tn.linalg.det, np.zeros((3, 3))), np.zeros((3, 3)), atol=0)
    np.testing.assert_allclose(gradient(tn.linalg.det, np.zeros((1, 1))), [[1.0]])


def test_slogdet_of_a_singular_matrix():
    sign, log = tn.linalg.slogdet(np.ones((2, 2)))
    assert sign.item() == 0 and log.item() == -np.inf
    with pytest.raises(tn.errors.LinAlgError, match="singular matrix has no derivative"):
        gradient(lambda a: tn.linalg.slogdet(a).logabsdet, np.ones((2, 2)))


@pytest.mark.parametrize("order", ["C", "F"])
def test_solve_is_one_factorization_and_two_solves(order):
    a = tn.variable(tn.asarray(np.asarray(regular((32, 32), "float64"), order=order)))
    b = tn.variable(tn.asarray(noise((32,), "float64")))
    with tn.observe() as calls:
        tn.linalg.solve(a, b).sum().backward()
    assert (calls.counts["getrf"], calls.counts["getrs"]) == (1, 2)
    assert sum(calls.counts.values()) == 3
    assert a.grad.shape == (32, 32) and b.grad.shape == (32,)


def test_a_repeated_matrix_is_factored_once():
    a, b = regular((20, 20), "float64"), noise((7, 20, 2), "float64")
    with tn.observe() as calls:
        x = np.asarray(tn.linalg.solve(a, b))
    assert (calls.counts["getrf"], calls.counts["getrs"]) == (1, 1)
    assert_solves(np.broadcast_to(a, (7, 20, 20)), x, b)


def test_slogdet_and_inv_factor_once():
    for f in (lambda x: tn.linalg.slogdet(x).logabsdet, lambda x: tn.linalg.inv(x).sum(), tn.linalg.det):
        a = tn.variable(tn.asarray(regular((20, 20), "float64")))
        with tn.observe() as calls:
            f(a).backward()
        assert (calls.counts["getrf"], calls.counts["getri"]) == (1, 1)


# ---- every SIMD target computes stacks of small matrices


@pytest.fixture
def simd_target(request):
    selected = _core.simd_target()
    assert _core.select_simd_target(request.param)
    yield request.param
    _core.select_simd_target(selected)


@pytest.mark.parametrize("simd_target", _core.simd_targets(), indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", range(1, 17))
def test_small_stacks(n, dtype, simd_target):
    for count in (4, 7, 33):
        a = noise((count, n, n), dtype, n) + np.eye(n, dtype=dtype)
        unit, condition = np.finfo(dtype).eps, np.linalg.cond(a.astype(float))[:, None, None]
        y = np.asarray(tn.linalg.inv(a))
        assert np.all(np.abs(a @ y - np.eye(n)) <= 50 * n * unit * condition)
        b = noise((count, n, 3), dtype, 1)
        for op in (a, np.swapaxes(a, -1, -2)):
            x = np.asarray(tn.linalg.solve(op, b))
            scale = np.abs(op).sum(-1).max() * np.abs(x).max((-1, -2), keepdims=True)
            assert np.all(np.abs(op @ x - b) <= 50 * n * unit * scale)


@pytest.mark.parametrize("simd_target", _core.simd_targets(), indirect=True)
@pytest.mark.parametrize("n", [2, 5, 8, 16])
def test_small_stacks_need_no_lapack(n, simd_target):
    a = regular((33, n, n), "float64")
    with tn.observe() as calls:
        tn.linalg.inv(a)
        tn.linalg.solve(a, a)
    assert not {"getrf", "getri", "getrs", "gesv"} & {name for name, count in calls.counts.items() if count}
