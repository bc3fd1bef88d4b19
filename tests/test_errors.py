"""Inputs that no linear algebra function can answer, and what each function says about them."""

import numpy as np
import pytest

import taenite as tn

LinAlgError = tn.errors.LinAlgError
DTYPES = ["float32", "float64", "complex64", "complex128"]

SQUARE = {
    "cholesky": tn.linalg.cholesky,
    "det": tn.linalg.det,
    "eigh": tn.linalg.eigh,
    "eigvalsh": tn.linalg.eigvalsh,
    "inv": tn.linalg.inv,
    "slogdet": tn.linalg.slogdet,
    "solve": lambda a: tn.linalg.solve(a, tn.ones((a.shape[-1],))),
    "solve_triangular": lambda a: tn.linalg.solve_triangular(a, tn.ones((a.shape[-1],)), upper=False),
}
RECTANGULAR = {
    "lu": tn.linalg.lu,
    "lu_factor": tn.linalg.lu_factor,
    "qr": tn.linalg.qr,
    "svd": tn.linalg.svd,
    "svdvals": tn.linalg.svdvals,
}
ALL = SQUARE | RECTANGULAR
square = pytest.mark.parametrize("name", SQUARE)
everything = pytest.mark.parametrize("name", ALL)


def t(data, dtype="float64"):
    return tn.asarray(np.asarray(data, dtype))


def leaves(outputs):
    return [np.asarray(output) for output in (outputs if isinstance(outputs, tuple) else (outputs,))]


@square
def test_a_matrix_that_is_not_square(name):
    with pytest.raises(ValueError, match=rf"linalg\.{name}: a must be square.*\(2, 3\)"):
        SQUARE[name](t(np.ones((2, 3))))


@everything
@pytest.mark.parametrize("shape", [(), (3,)], ids=["0-d", "1-d"])
def test_fewer_than_two_axes(name, shape):
    a = t(np.ones(shape))
    function = {"solve": lambda a: tn.linalg.solve(a, t(np.ones(3)))}.get(name, ALL[name])
    if name == "solve_triangular":
        function = lambda a: tn.linalg.solve_triangular(a, t(np.ones(3)), upper=False)  # noqa: E731
    with pytest.raises(ValueError, match=rf"linalg\.{name}: a "):
        function(a)


@pytest.mark.parametrize("name", [name for name in ALL if name != "solve_triangular"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_number_that_is_not_finite(name, value, dtype):
    """Refused by name with the index of the matrix in the batch, before LAPACK could loop for ever."""
    a = np.broadcast_to(np.eye(3, dtype=dtype), (2, 3, 3)).copy()
    a[1, 2, 1] = a[1, 1, 2] = value
    right = (t(np.ones((2, 3, 1)), dtype),) if name == "solve" else ()
    with pytest.raises(LinAlgError, match=rf"linalg\.{name}: .*\b1\b"):
        getattr(tn.linalg, name)(t(a, dtype), *right)


def test_a_nan_passes_through_a_triangular_solve():
    """It is arithmetic and not a decomposition: as in a product, what depends on the NaN is NaN."""
    x = tn.linalg.solve_triangular(t([[1.0, 0.0], [np.nan, 1.0]]), t([2.0, 3.0]), upper=False)
    np.testing.assert_array_equal(np.asarray(x), [2.0, np.nan])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["inv", "solve", "solve_triangular"])
def test_a_singular_matrix_in_a_batch(function, dtype):
    a = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0])]).astype(dtype)
    b = (t(np.ones((2, 3, 1)), dtype),) if function != "inv" else ()
    options = {"upper": False} if function == "solve_triangular" else {}
    with pytest.raises(LinAlgError, match=rf"linalg\.{function}: .*singular at batch index 1:"):
        getattr(tn.linalg, function)(t(a, dtype), *b, **options)


@pytest.mark.parametrize("dtype", DTYPES)
def test_det_and_slogdet_of_a_singular_matrix_are_answers(dtype):
    a = t(np.diag([1.0, 0.0, 2.0]), dtype)
    assert complex(tn.linalg.det(a)) == 0
    sign, logabsdet = tn.linalg.slogdet(a)
    assert complex(sign) == 0 and float(logabsdet) == -np.inf


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_indefinite_matrix_in_a_batch(dtype):
    a = np.stack([np.eye(2), np.eye(2), [[1.0, 2.0], [2.0, 1.0]]])
    with pytest.raises(LinAlgError, match=r"linalg\.cholesky: .*positive definite.*2.*order 2"):
        tn.linalg.cholesky(t(a, dtype))


def test_right_hand_sides_that_do_not_fit():
    for function in (tn.linalg.solve, lambda a, b: tn.linalg.solve_triangular(a, b, upper=False)):
        with pytest.raises(ValueError, match=r"got shapes \(3, 3\) and \(4, 1\)"):
            function(t(np.eye(3)), t(np.ones((4, 1))))


@everything
def test_what_is_not_an_array_is_refused(name):
    function = {
        "solve": lambda a: tn.linalg.solve(a, t(np.ones(3))),
        "solve_triangular": lambda a: tn.linalg.solve_triangular(a, t(np.ones(3)), upper=False),
    }.get(name, ALL[name])
    with pytest.raises(TypeError):
        function("a matrix")


@everything
@pytest.mark.parametrize("shape", [(0, 0), (3, 0, 0), (0, 2, 2)])
def test_empty_square_input_has_an_empty_answer(name, shape):
    a = t(np.zeros(shape))
    if name in ("solve", "solve_triangular"):
        options = {"upper": False} if name == "solve_triangular" else {}
        outputs = getattr(tn.linalg, name)(a, t(np.zeros((*shape[:-1], 2))), **options)
        assert leaves(outputs)[0].shape == (*shape[:-1], 2)
    elif name in ("det", "slogdet"):
        sign_or_det = leaves(ALL[name](a))[0]
        assert sign_or_det.shape == shape[:-2] and (sign_or_det == 1).all()
    elif hasattr(np.linalg, name):
        for actual, expected in zip(
            leaves(ALL[name](a)), leaves(getattr(np.linalg, name)(a_of(a))), strict=True
        ):
            assert actual.shape == expected.shape
    else:
        assert leaves(ALL[name](a))[0].shape[:-2] == shape[:-2]


def a_of(tensor):
    return np.asarray(tensor)


@pytest.mark.parametrize("name", ["qr", "svd", "svdvals"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_empty_rectangular_input_has_numpys_shapes(name, shape):
    a = t(np.zeros(shape))
    for actual, expected in zip(leaves(ALL[name](a)), leaves(getattr(np.linalg, name)(a_of(a))), strict=True):
        assert actual.shape == expected.shape


@everything
@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2)])
def test_the_gradient_of_empty_input_is_empty(name, shape):
    def loss(a):
        if name in ("solve", "solve_triangular"):
            options = {"upper": False} if name == "solve_triangular" else {}
            return tn.sum(getattr(tn.linalg, name)(a, t(np.zeros((*shape[:-1], 2))), **options))
        outputs = ALL[name](a)
        return tn.sum(outputs[0] if isinstance(outputs, tuple) else outputs)

    assert tn.grad(loss)(t(np.zeros(shape))).shape == shape


def test_numerical_failures_are_numpys_too():
    assert issubclass(LinAlgError, np.linalg.LinAlgError)
    assert issubclass(tn.errors.GaugeError, ValueError)
    assert issubclass(tn.errors.TracingError, TypeError)
    assert issubclass(tn.errors.DegenerateSpectrumWarning, UserWarning)


GIANT = 2**70


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: tn.sum(tn.ones(3), axis=GIANT), IndexError, f"axis {GIANT} is out of bounds"),
        (lambda: tn.sum(tn.ones(3), axis=1.5), TypeError, "an axis must be an integer, got 1.5"),
        (lambda: tn.sum(tn.ones(3), axis="x"), TypeError, "an axis must be an integer, got 'x'"),
        (lambda: tn.reshape(tn.ones(6), (2, GIANT)), ValueError, "a size must fit into 64 bits"),
        (lambda: tn.zeros(GIANT), ValueError, "a size must fit into 64 bits"),
        (lambda: tn.eye(3, k=GIANT), ValueError, "must fit into 64 bits"),
        (lambda: tn.arange(0, 1, 0), ValueError, "arange: step must not be 0"),
        (lambda: tn.linalg.svd(tn.eye(2), full_matrices="no"), TypeError, "full_matrices must be a bool"),
        (lambda: tn.linalg.cholesky(tn.eye(2), upper="L"), TypeError, "upper must be a bool, got 'L'"),
        (lambda: tn.jvp(tn.sin, 1.0, 1.0), TypeError, "jvp: primals must be a tuple"),
        (lambda: tn.einsum("1j,jk", tn.ones((3, 3)), tn.ones((3, 3))), ValueError, "'1' in the term"),
        (lambda: tn.einsum("i;j", tn.ones(3)), ValueError, "';' in the term"),
    ],
)
def test_hostile_arguments(call, error, match):
    with pytest.raises(error, match=match):
        call()


WHOLE = {
    "axis of expand_dims": lambda k: tn.expand_dims(tn.ones((2, 2)), k),
    "axis of sum": lambda k: tn.sum(tn.ones((2, 2)), axis=k),
    "axes of sum": lambda k: tn.sum(tn.ones((2, 2)), axis=(k,)),
    "axis of roll": lambda k: tn.roll(tn.ones((2, 2)), 1, axis=k),
    "shift of roll": lambda k: tn.roll(tn.ones((2, 2)), k, axis=0),
    "axes of tensordot": lambda k: tn.tensordot(tn.ones((2, 2)), tn.ones((2, 2)), axes=k),
    "argnums": lambda k: tn.grad(lambda x, y: x * y, argnums=k)(2.0, 3.0),
}


@pytest.mark.parametrize("name", WHOLE)
def test_integers_of_any_kind_are_integers(name):
    for one in (np.int64(1), np.uint8(1)):
        assert np.array_equal(np.asarray(WHOLE[name](one)), np.asarray(WHOLE[name](1)))
    for other in (True, np.True_, 1.0, np.float64(1), "1"):
        with pytest.raises(TypeError, match=r"must be (an integer|int)"):
            WHOLE[name](other)


def test_errors_name_the_function_that_was_called():
    ones, b = tn.zeros((2, 2)), tn.ones(2)
    calls = {
        "solve": lambda: tn.linalg.solve(ones, b, assume_a="upper"),
        "cho_solve": lambda: tn.linalg.cho_solve(ones, b),
        "lu_solve": lambda: tn.linalg.lu_solve(tn.linalg.lu_factor(ones), b),
        "lu": lambda: tn.linalg.lu(ones / ones),
        "svdvals": lambda: tn.linalg.svdvals(ones / ones),
        "eigvalsh": lambda: tn.linalg.eigvalsh(ones / ones),
    }
    for name, call in calls.items():
        with pytest.raises(LinAlgError, match=rf"^linalg\.{name}: "):
            call()
