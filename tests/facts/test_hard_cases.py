"""Inputs on which numerical libraries are known to fail, each with its right answer, as a test.

The name of a test begins with the identifier of its case. Cases that wait for operations which taenite does
not have yet: eig-01, eig-03, eig-04 (general eigenproblem), lstsq-02, lstsq-03, expm-01, expm-03, sqrtm-01,
norm-02 (least squares, matrix functions, norms), ein-01, ein-07, ein-09, ein-11 (the contraction engine),
th-03, th-04, th-06 (thread domains), pf-01, bm-01, bm-03 (measured, not tested).
"""

import contextlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

import taenite as tn

DegenerateSpectrumWarning = tn.errors.DegenerateSpectrumWarning


def t(data, dtype="float64"):
    return tn.asarray(np.asarray(data, dtype))


def n(tensor):
    return np.asarray(tensor)


def close(actual, expected, rtol=1e-9, atol=1e-12):
    np.testing.assert_allclose(n(actual), np.asarray(expected), rtol=rtol, atol=atol)


@contextlib.contextmanager
def ties_are_expected():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateSpectrumWarning)
        yield


def gradient(f, a):
    with ties_are_expected():
        return n(tn.grad(f)(t(a) if isinstance(a, (list, np.ndarray)) else a))


def central_difference(f, a, step=1e-6):
    """The gradient of a real function of a real array by central differences: good to about 1e-9."""
    a = np.asarray(a, "float64")
    result = np.empty_like(a)
    for index in np.ndindex(a.shape):
        shift = np.zeros_like(a)
        shift[index] = step
        result[index] = (float(f(t(a + shift))) - float(f(t(a - shift)))) / (2 * step)
    return result


def thin_svd(a):
    return tn.linalg.svd(a, full_matrices=False)


def rebuilt(a):
    u, s, vh = thin_svd(a)
    return (u * s[..., None, :]) @ vh


def frobenius(a):
    return tn.sqrt(tn.sum(a * a))


def test_svd_01_norm_of_the_rebuilt_matrix_with_repeated_values():
    a = np.diag([1.0, 1.0, 2.0, 3.0])
    close(gradient(lambda x: frobenius(rebuilt(x)), a), a / np.linalg.norm(a))


def test_svd_03_two_zero_singular_values_warn_and_stay_finite():
    x = tn.variable(t(np.diag([3.0, 2.0, 0.0, 0.0])))
    with pytest.warns(DegenerateSpectrumWarning, match="dropped"):
        tn.sum(rebuilt(x)).backward()
    assert np.isfinite(n(x.grad)).all()
    close(n(x.grad)[:2], np.ones((2, 4)))
    close(n(x.grad)[:, :2], np.ones((4, 2)))


def test_svd_05_complex_matrix_with_one_zero_singular_value():
    a, b = t([[1j, 0.5j], [0, 0]], "complex128"), t([[1, 0], [0, 0]], "complex128")
    slope_at_one = tn.grad(lambda x: tn.real(rebuilt(a + x * b)[0, 0]))(t(1.0))
    assert float(slope_at_one) == pytest.approx(1.0, abs=1e-12)


def test_svd_06_best_rank_one_with_a_tie_among_the_discarded():
    def entry(x):
        u, s, vh = thin_svd(x)
        return s[0] * u[0, 0] * vh[0, 1]

    close(gradient(entry, np.diag([3.0, 1.0, 1.0])), [[0, 9 / 8, 0], [3 / 8, 0, 0], [0, 0, 0]])


COMPLEX_2X2 = [[1 + 2j, 3 - 1j], [0.5j, 2]]


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-9, 1e8])
def test_svd_08_a_loss_of_the_phase_is_refused_at_every_scale(scale):
    x = tn.variable(t(COMPLEX_2X2, "complex128"))
    loss = scale * tn.real(thin_svd(x)[0][0, 0])
    with pytest.raises(tn.errors.GaugeError, match="phase"):
        loss.backward()
    with pytest.raises(tn.errors.GaugeError, match="phase"):
        (scale * tn.sum(tn.imag(tn.linalg.eigh(x + tn.conj(x.T))[1]))).backward()


def test_svd_08_a_large_gauge_invariant_loss_is_not_refused():
    x = tn.variable(t(COMPLEX_2X2, "complex64"))
    (1e8 * tn.abs(thin_svd(x)[0][0, 0]) ** 2).backward()
    assert np.isfinite(n(x.grad)).all()


@pytest.mark.parametrize("full_matrices", [False, True])
def test_svd_10_leading_projector_with_thin_and_full_matrices(full_matrices):
    def entry(x):
        u = tn.linalg.svd(x, full_matrices=full_matrices)[0]
        return u[0, 0] * u[1, 0]

    expected = [
        [0.02747599231000463, 0.03745684222089108],
        [0.00574399856378727, 0.00942947447448646],
        [-0.01287562063502934, -0.01430176417937656],
    ]
    close(gradient(entry, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]), expected, rtol=1e-12, atol=1e-14)


def test_svd_11_nuclear_norm_at_a_tie_needs_no_vectors_and_does_not_warn():
    a = t(np.diag([2.0, 2.0, -1.0]))
    for values in (tn.linalg.svdvals, lambda x: tn.linalg.svd(x)[1]):
        close(tn.grad(lambda x, values=values: tn.sum(values(x)))(a), np.diag([1.0, 1, -1]))


def test_eigh_02_matrix_function_at_a_tie_warns_and_stays_finite():
    weight = t([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])

    def f(x):
        w, v = tn.linalg.eigh(x)
        return tn.sum(weight * ((v * tn.exp(w)) @ v.T))

    x = tn.variable(t(np.diag([1.0, 1.0, 2.0])))
    loss = f(x)
    with pytest.warns(DegenerateSpectrumWarning):
        loss.backward()
    assert np.isfinite(n(x.grad)).all()
    # What is determined: 2 and 3 times the divided difference (e^2 - e) / (2 - 1), in this triangle twice.
    close(n(x.grad)[2, :2], np.array([2, 3]) * (np.e**2 - np.e))


def test_eigh_03_large_eigenvalues_that_differ_by_one_unit_of_round_off():
    a = np.diag([9007199254740992.0, 9007199254740994.0, 9007199254740996.0])
    with pytest.warns(DegenerateSpectrumWarning):
        close(tn.grad(lambda x: tn.sum(tn.linalg.eigh(x)[1]))(t(a)), np.zeros((3, 3)))


def assert_adjoint_for_one_triangle(f, a, value):
    """JVP and VJP agree for a tangent that is not symmetric."""
    tangent = np.array([[0.0, 1.0], [0.0, 0.0]])
    forward = float(tn.jvp(f, (t(a),), (t(tangent),))[1])
    assert forward == pytest.approx(float((n(tn.grad(f)(t(a))) * tangent).sum()), abs=1e-12)
    assert forward == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("uplo", "LU")
def test_eigh_04_jvp_and_vjp_agree_for_a_tangent_in_one_triangle(uplo):
    assert_adjoint_for_one_triangle(
        lambda x: tn.linalg.eigh(x, UPLO=uplo)[1][0, 0] ** 2, [[2.0, 1.0], [1.0, 3.0]], -0.08944271909999157
    )


TALL = [[1.0, 4.0], [2.0, 5.0], [3.0, 6.5]]


def test_qr_02_orthogonal_complement_from_the_complete_mode():
    def entry(x):
        normal = tn.linalg.qr(x, mode="complete")[0][:, 2:]
        return (normal @ normal.T)[0, 1]

    expected = [
        [-0.29630124628286947, 0.12589795850178756],
        [0.814828427277891, -0.3462193858799158],
        [-0.4444518694243042, 0.18884693775268135],
    ]
    close(gradient(entry, TALL), expected, rtol=1e-8)


@pytest.mark.parametrize("output", [0, 1])
def test_qr_04_an_unused_output_is_a_true_zero_cotangent(output):
    a = np.random.default_rng(4).standard_normal((4, 4)) + 3 * np.eye(4)

    def f(x):
        return tn.sum(tn.linalg.diagonal(tn.linalg.qr(x)[output])) ** 2

    first = gradient(f, a)
    for size in range(1, 50):
        scratch = t(np.full((4, size), np.nan)) * 2
        assert (gradient(f, a) == first).all()
        del scratch
    close(first, central_difference(f, a), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("cut", [np.asarray, np.transpose, lambda a: a[:2]], ids=["tall", "wide", "square"])
def test_qr_05_gradient_of_the_triangle_alone(cut):
    a = cut(np.array(TALL))
    close(gradient(lambda x: tn.sum(tn.linalg.qr(x, mode="r") ** 2), a), 2 * a)


def test_chol_02_jvp_and_vjp_agree_for_a_tangent_in_one_triangle():
    def f(x):
        return tn.sum(tn.linalg.cholesky(x))

    assert_adjoint_for_one_triangle(f, [[4.0, 1.0], [1.0, 3.0]], 0.1746221638555591)
    skew = tn.jvp(f, (t([[4.0, 1.0], [1.0, 3.0]]),), (t([[0.0, 1.0], [-1.0, 0.0]]),))[1]
    assert float(skew) == pytest.approx(0.0, abs=1e-15)


def test_chol_04_forward_mode_through_batched_factors_and_one_right_hand_side():
    b, weight = t([[1.0, 2.0], [-1.0, 3.0]]), t([[[1.0, 2.0], [3.0, 4.0]], [[2.0, -1.0], [4.0, 3.0]]])
    base = t([[[2.0, 0.0], [0.0, 3.0]], [[3.0, 0.0], [1.0, 2.0]]])
    slope = t([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]]])

    def f(x):
        return tn.sum(weight * tn.linalg.cho_solve(base + x * slope, b))

    at = t(-7.0)
    assert float(tn.jvp(f, (at,), (t(1.0),))[1]) == pytest.approx(-11 / 3, rel=1e-9)
    assert float(tn.grad(f)(at)) == pytest.approx(-11 / 3, rel=1e-9)


def test_chol_05_the_error_names_the_matrix_of_the_batch_and_the_minor():
    batch = t([np.eye(2), np.eye(2), [[1.0, 2.0], [2.0, 1.0]]])
    with pytest.raises(tn.errors.LinAlgError, match=r"(?s)\b2\b.*\b2\b") as caught:
        tn.linalg.cholesky(batch)
    assert isinstance(caught.value, np.linalg.LinAlgError)
    assert "positive definite" in str(caught.value)


def test_solve_02_a_singular_matrix_is_refused_however_its_elimination_rounds():
    a, b = t([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]]), t([1.0, 2, 3])
    with pytest.raises(tn.errors.LinAlgError, match="pivot 3 is zero to working precision"):
        tn.linalg.solve(a, b)


def test_solve_04_forward_mode_of_a_general_solve_for_a_tangent_in_one_triangle():
    a, b, tangent = [[1.0, -1.0], [-1.0, 2.0]], t([1.0, 1.0]), [[0.0, 1.0], [0.0, 0.0]]
    close(tn.jvp(lambda x: tn.linalg.solve(x, b), (t(a),), (t(tangent),))[1], [-4.0, -2.0])
    inverse, half = (
        np.linalg.inv(a),
        np.array([[0.0, 0.5], [0.5, 0.0]]),
    )
    positive = tn.jvp(lambda x: tn.linalg.solve(x, b, assume_a="pos"), (t(a),), (t(tangent),))[1]
    close(positive, -inverse @ half @ inverse @ n(b))


def test_solve_04_forward_and_reverse_of_a_positive_solve_agree():
    def f(x):
        return tn.sum(tn.linalg.solve(x, t([1.0, 1.0]), assume_a="pos") * t([1.0, 10.0]))

    assert_adjoint_for_one_triangle(f, [[1.0, -1.0], [-1.0, 2.0]], -28.5)


def test_solve_05_what_a_triangular_solve_does_not_read_has_no_gradient():
    u, b = t([[1.0, -1.0], [5.0, 2.0]]), t([1.0, 1.0])

    def upper(x):
        return tn.sum(tn.linalg.solve_triangular(x, b, upper=True))

    def unit(x):
        return tn.sum(tn.linalg.solve_triangular(x, b, upper=True, unit_diagonal=True))

    assert n(tn.grad(upper)(u))[1, 0] == 0.0
    assert (np.diag(n(tn.grad(unit)(u))) == 0.0).all()
    close(
        tn.grad(lambda x: tn.sum(tn.linalg.inv(x)))(t([[2.0, 1.0], [1.0, 3.0]])),
        [[-0.16, -0.08], [-0.08, -0.04]],
    )


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_lu_01_one_factorization_for_two_right_hand_sides(dtype):
    rng = np.random.default_rng(1)
    parts = [1, 1j] if dtype == "complex128" else [1]
    a, b1, b2 = (sum(part * rng.standard_normal(shape) for part in parts) for shape in ((5, 5), 5, (5, 2)))
    a, b1, b2 = a + 5 * np.eye(5), t(b1, dtype), t(b2, dtype)

    def total(x):
        return tn.sum(tn.real(x))

    def by_factors(x):
        factors = tn.linalg.lu_factor(x)
        return total(tn.linalg.lu_solve(factors, b1)) + total(tn.linalg.lu_solve(factors, b2))

    def by_solve(x):
        return total(tn.linalg.solve(x, b1)) + total(tn.linalg.solve(x, b2))

    with tn.observe() as calls:
        actual = gradient(by_factors, t(a, dtype))
    assert calls.counts["getrf"] == 1
    close(actual, gradient(by_solve, t(a, dtype)), rtol=1e-12)


def hessian(f, a, order):
    """The Hessian of a scalar function of a matrix, by columns, in one of the four orders of the modes."""
    identity = np.eye(a.size).reshape(a.size, *a.shape)
    inner = {"forward": slope, "reverse": lambda f, e: lambda x: tn.sum(tn.grad(f)(x) * e)}
    outer, first = order
    columns = [inner[first](f, t(e)) for e in identity]
    if outer == "reverse":
        return np.array([n(tn.grad(column)(t(a))) for column in columns]).reshape(a.shape * 2)
    rows = [[float(slope(column, t(e))(t(a))) for e in identity] for column in columns]
    return np.array(rows).reshape(a.shape * 2)


def slope(f, direction):
    return lambda x: tn.jvp(f, (x,), (direction,))[1]


def epsilon_hessian(m):
    """d2 det / dA dA at the identity: e_ij e_kl - e_il e_kj."""
    eye = np.eye(m)
    return np.einsum("ij,kl->ijkl", eye, eye) - np.einsum("il,kj->ijkl", eye, eye)


def test_det_02_hessian_at_the_identity():
    close(hessian(tn.linalg.det, np.eye(3), ("forward", "reverse")), epsilon_hessian(3))


ORDERS = [(outer, inner) for outer in ("forward", "reverse") for inner in ("forward", "reverse")]


@pytest.mark.parametrize("order", ORDERS)
def test_det_03_all_orders_of_the_modes_agree(order):
    a = np.array([[1.3, 0.4], [-0.7, 0.9]])
    inverse = np.linalg.inv(a)
    b = np.array([1.0, -2.0])
    x, w = inverse @ b, inverse.T @ np.ones(2)
    alternating = np.array([[0.0, 1.0], [-1.0, 0.0]])
    for matrix in (a, np.ones((2, 2))):  # of a singular one too
        close(hessian(tn.linalg.det, matrix, order), np.einsum("ik,jl->ijkl", alternating, alternating))
    close(hessian(lambda x: tn.linalg.slogdet(x)[1], a, order), -np.einsum("jk,li->ijkl", inverse, inverse))
    expected = np.einsum("i,jk,l->ijkl", w, inverse, x) + np.einsum("k,li,j->ijkl", w, inverse, x)
    close(hessian(lambda m: tn.sum(tn.linalg.solve(m, t(b))), a, order), expected)


@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0)])
def test_det_05_empty_matrices(shape):
    a = t(np.zeros(shape))
    close(tn.linalg.det(a), np.ones(shape[:-2]))
    assert tn.grad(lambda x: tn.sum(tn.linalg.det(x)))(a).shape == shape


def test_ein_02_a_repeated_letter_with_two_sizes():
    with pytest.raises(ValueError, match=r"(?s)'?i'?.*(1.*3|3.*1)"):
        tn.einsum("ii->i", t(np.ones((1, 3))))


def test_ein_04_a_path_with_a_step_of_three_operands():
    ones = t(np.ones((2, 2)))
    close(tn.einsum("ij,jk,kl->il", ones, ones, ones, optimize=[(0, 1, 2)]), [[4.0, 4.0], [4.0, 4.0]])


def test_ein_06_errors_name_the_letter_that_the_user_wrote():
    with pytest.raises(ValueError, match=r"(?s)'i'.*3.*2"):
        tn.einsum("bix,iox->box", t(np.ones((2, 3, 4))), t(np.ones((2, 3, 4))))
    with pytest.raises(ValueError, match="'k'"):
        tn.einsum("ij->ik", t(np.ones((2, 2))))


def test_ein_12_trace_and_partial_trace():
    close(gradient(lambda a: tn.einsum("ii->", a), [[0.0, 1.0], [2.0, 3.0]]), np.eye(2))
    x = np.random.default_rng(12).standard_normal((2, 3, 4, 5))
    expected = np.broadcast_to(2 * x.sum((0, 2))[None, :, None, :], x.shape)
    close(gradient(lambda a: tn.sum(tn.einsum("abcd->bd", a) ** 2), x), expected)


def test_ein_14_the_result_type_does_not_depend_on_the_path():
    a, b = t([[1, 2]], "int64"), t([[1.0, 2.0]], "float32")
    result = tn.einsum("ij,ij->i", a, b)
    assert result.dtype == (a + b).dtype
    assert n(tn.einsum("i,i->", t([100, 100], "int8"), t([2, 2], "int8"))).dtype == np.int8


CHILD = "import numpy as np, taenite as tn\n"


def run_child(code, seconds):
    """Run in a process of its own, since what hangs inside LAPACK cannot be interrupted."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", CHILD + code]
    done = subprocess.run(command, timeout=seconds, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("value", ["np.inf", "np.nan"])
@pytest.mark.parametrize("function", ["svd", "svdvals", "eigh", "eigvalsh"])
def test_nan_01_a_number_that_is_not_finite_raises_and_never_hangs(function, value):
    code = f"""
a = np.ones((3, 3)); a[0, 0] = {value}
try:
    tn.linalg.{function}(tn.asarray(a))
except tn.errors.LinAlgError as error:
    print(error)
"""
    assert function in run_child(code, 20)


def test_nan_02_a_nan_beside_the_diagonal_is_not_turned_into_eigenvalues():
    a = 2 * np.eye(3)
    a[0, 1] = a[1, 0] = np.nan
    with pytest.raises(tn.errors.LinAlgError):
        tn.linalg.eigvalsh(t(a))


def test_dt_01_integers_and_mixed_precisions_promote():
    close(tn.linalg.inv(t([[2, 1], [1, 3]], "int64")), np.linalg.inv([[2.0, 1], [1, 3]]))
    mixed = tn.linalg.solve(t([[2, 1], [1, 3]], "float32"), t([1, 2], "float64"))
    assert mixed.dtype == tn.float64
    assert (t(np.eye(2)) @ t(np.eye(2), "complex128")).dtype == tn.complex128


def test_dt_01_half_precision_is_refused_by_name():
    with pytest.raises(TypeError, match="float16"):
        tn.asarray(np.eye(2, dtype="float16"))


def test_st_01_negative_strides_and_size_one_axes():
    flipped = np.arange(12.0).reshape(3, 4)[:, ::-1]
    close(tn.asarray(flipped), flipped)
    close(tn.from_dlpack(flipped), flipped)
    single = np.zeros((1, 10, 20))[::-1]
    close(tn.asarray(single) + 1, single + 1)


def test_st_01_a_read_only_buffer_is_never_written():
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    tensor = tn.asarray(frozen)
    with contextlib.suppress(ValueError, TypeError, BufferError):
        tensor[0] = 5.0
    assert frozen[0] == 0.0


@pytest.mark.parametrize("view", [lambda c: tn.conj(c), lambda c: tn.conj(c).T, lambda c: c[::-1, ::-1]])
@pytest.mark.parametrize("name", ["inv", "det", "svdvals"])
def test_st_02_views_give_what_their_copies_give(name, view):
    function = getattr(tn.linalg, name)
    c = view(t([[1 + 2j, 3], [4j, 5]], "complex128"))
    close(function(c), function(tn.asarray(n(c).copy())), rtol=1e-14, atol=1e-14)
    stacked = tn.broadcast_to(c, (3, 2, 2))
    close(function(stacked), function(tn.asarray(n(stacked).copy())), rtol=1e-14, atol=1e-14)


def test_ad_02_a_tracked_tensor_is_not_written_in_place():
    y = tn.linalg.inv(tn.variable(t([[2.0, 1.0], [1.0, 3.0]])))
    with pytest.raises((TypeError, ValueError), match=r"tn\.set"):
        y[0, 0] = 2.0


def test_ad_02_a_saved_tensor_that_was_written_is_an_error_at_backward():
    x, a = tn.variable(t([1.0, 2.0])), t([3.0, 4.0])
    loss = tn.sum(x * a)
    a[0] = 5.0
    with pytest.raises(RuntimeError, match="multiply"):
        loss.backward()


def test_ad_04_the_gradient_points_uphill():
    z = t(3 + 4j, "complex128")
    close(tn.grad(lambda z: tn.real(z) ** 2 + tn.imag(z) ** 2)(z), 6 + 8j)
    c = np.array([[1 + 2j, 3], [4j, 5]])
    close(tn.grad(lambda c: tn.linalg.slogdet(c)[1])(t(c, "complex128")), np.linalg.inv(c).conj().T)


def test_ad_05_the_derivative_of_expm1_does_not_vanish_far_left():
    assert float(tn.grad(tn.expm1)(t(-40.0))) == pytest.approx(np.exp(-40.0), rel=1e-12)


def test_th_01_a_child_works_after_the_parent_used_threads():
    code = """
import os, sys
a = tn.asarray(np.random.default_rng(0).standard_normal((400, 400)) + 20 * np.eye(400))
def work():
    x = tn.variable(a)
    (x @ x).sum().backward()
    tn.linalg.inv(a)
work()
child = os.fork()
if child == 0:
    work()
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    run_child(code, 60)
