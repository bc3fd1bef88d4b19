"""The elementwise engine against NumPy: every dtype, layout and way to broadcast; operators and numbers; and
derivatives where they could go wrong. Values of each function on its own samples: tests/registry.
"""

import inspect
import math
import operator
import pickle
import threading

import numpy as np
import pytest

import taenite as tn

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]
NUMBERS = DTYPES[1:]


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


def views(shape, dtype):
    """The same shape in every kind of layout, and what broadcasts to it."""
    yield numbers(shape, dtype)
    yield np.array(numbers(shape, dtype), order="F")
    yield numbers(shape[::-1], dtype).T
    yield numbers([2 * n for n in shape], dtype)[(slice(None, None, 2),) * len(shape)]
    yield numbers(shape, dtype)[(slice(None, None, -1),) * len(shape)]
    yield np.broadcast_to(numbers(shape[-1:], dtype), shape)
    yield np.broadcast_to(numbers((*shape[:-1], 1), dtype), shape)
    yield numbers(shape[-1:], dtype)
    yield numbers((*shape[:-1], 1), dtype)
    yield numbers((), dtype)


def assert_same(got, want):
    got = np.asarray(got)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(got, want)


# ---- layouts

# Tiles of 1024, rows of 64 and squares of 32 elements are the engine's seams.
SHAPES = [(5,), (1500,), (3, 4), (40, 70), (700, 3), (3, 700), (33, 2, 40), (0, 3), (1, 7), (7, 1)]


@pytest.mark.parametrize("dtypes", ["f8 f8", "f4 f8", "i4 f4", "c8 f8", "i1 i8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_two_layouts(shape, dtypes):
    left, right = dtypes.split()
    for a in views(shape, left):
        for b in views(shape, right):
            assert_same(tn.add(a, b), np.add(a, b))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_layout_of_one_operand(shape):
    for x in views(shape, "c16"):
        assert_same(tn.negative(x), -x)
        assert_same(tn.real(x), x.real)
        assert_same(tn.imag(x), x.imag)
        assert_same(tn.astype(tn.real(x), tn.float32), x.real.astype("f4"))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_where_with_any_layout(shape):
    for condition in views(shape, "?"):
        for a in views(shape, "f8"):
            assert_same(tn.where(condition, a, 2.0), np.where(condition, a, 2.0))
            assert_same(tn.where(condition, 2.0, a), np.where(condition, 2.0, a))


def test_the_result_takes_the_axis_order_that_the_operands_share():
    columns = tn.asarray(np.array(numbers((30, 20), "f8"), order="F"))
    rows = tn.asarray(numbers((30, 20), "f8"))
    assert tn.add(columns, columns).strides == (1, 30)
    assert tn.add(columns, tn.asarray(numbers((20,), "f8"))).strides == (1, 30)
    assert tn.exp(columns).strides == (1, 30)
    assert tn.add(columns, rows).strides == (20, 1)


def test_real_imag_and_conj_share_memory():
    z = numbers((3, 4), "c16")
    for part in (tn.real(z), tn.imag(z)):
        assert np.shares_memory(np.asarray(part), z)
    x = numbers((3, 4), "f8")
    assert np.shares_memory(np.asarray(tn.conj(x)), x)
    assert not np.shares_memory(np.asarray(+tn.asarray(x)), x)


def test_large_operands_leave_the_interpreter_to_other_threads():
    x = numbers((300, 400), "f8")
    results = [None] * 4

    def work(i):
        results[i] = np.asarray(tn.add(x, x.T.reshape(300, 400))).copy()

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for result in results:
        assert_same(result, x + x.T.reshape(300, 400))


# ---- dtypes


@pytest.mark.parametrize("left", NUMBERS)
@pytest.mark.parametrize("right", NUMBERS)
def test_promotion_is_that_of_numpy(left, right):
    a, b = numbers((7,), left), numbers((7,), right, seed=1)
    assert_same(tn.add(a, b), a + b)
    assert_same(tn.equal(a, b), a == b)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", DTYPES)
def test_astype(dtype, to):
    x = np.abs(numbers((9,), dtype)) if np.dtype(to).kind == "u" else numbers((9,), dtype)
    if np.dtype(dtype).kind == "c" and np.dtype(to).kind not in "bc":
        with pytest.raises(TypeError, match="imaginary part"):
            tn.astype(numbers((9,), dtype), np.dtype(to))
    else:
        assert_same(tn.astype(x, np.dtype(to)), x.astype(to))


def test_astype_copies_unless_told_otherwise():
    x = tn.asarray([1.0])
    assert x.astype(tn.float64) is not x
    assert x.astype(tn.float64, copy=False) is x


@pytest.mark.parametrize("dtype", DTYPES[:9])
@pytest.mark.parametrize("function", [tn.sqrt, tn.exp, tn.sin, tn.log1p])
def test_functions_of_floats_take_integers_to_float64(function, dtype):
    x = np.abs(numbers((7,), dtype)) if dtype != "?" else numbers((7,), dtype)
    got = np.asarray(function(x))
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, np.asarray(function(x.astype("f8"))))


def test_quotients_of_integers_are_float64():
    a, b = numbers((7,), "i4"), np.arange(1, 8, dtype="i4")
    assert_same(tn.divide(a, b), a / b)


def test_rounding_an_integer_changes_nothing():
    x = numbers((7,), "i4")
    for function in (tn.floor, tn.ceil, tn.trunc, tn.round):
        assert_same(function(x), x)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8"])
def test_integer_division_rounds_down(dtype):
    a, b = (x.ravel() for x in np.meshgrid(np.arange(-7, 8), [-3, -1, 2, 5]))
    a, b = a.astype(dtype), b.astype(dtype)
    assert_same(tn.floor_divide(a, b), a // b)
    assert_same(tn.remainder(a, b), a % b)


def test_integers_wrap_around():
    x = np.array([127, -128], dtype="i1")
    assert_same(tn.add(x, np.int8(1)), np.array([-128, -127], dtype="i1"))
    assert_same(tn.negative(x), np.array([-127, -128], dtype="i1"))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tn.negative([True]), "negative: bool is not supported"),
        (lambda: tn.maximum([1j], [1.0]), "maximum: complex128 is not supported"),
        (lambda: tn.less([1j], [1.0]), "less: complex128 is not supported"),
        (lambda: tn.bitwise_and([1.0], [1.0]), "bitwise_and: float64 is not supported"),
        (lambda: tn.floor([1j]), "floor: complex128 is not supported"),
        (lambda: tn.where([1.0], 1.0, 2.0), "where: condition must be bool, got float64"),
    ],
)
def test_unsupported_dtypes_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


# ---- special values


def test_nan_wins_in_maximum_and_minimum():
    a, b = np.array([np.nan, 1.0, 1.0]), np.array([1.0, np.nan, 2.0])
    assert_same(tn.maximum(a, b), np.maximum(a, b))
    assert_same(tn.minimum(a, b), np.minimum(a, b))


@pytest.mark.parametrize(
    "name", ["isnan", "isinf", "isfinite", "signbit", "sign", "abs", "negative", "trunc"]
)
def test_special_values(name):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.5])
    assert_same(getattr(tn, name)(x), getattr(np, name)(x))


def test_clip_keeps_nan():
    x = np.array([-1.0, 0.5, 3.0, np.nan])
    assert_same(tn.clip(x, 0.0, 1.0), np.clip(x, 0.0, 1.0))
    assert_same(tn.clip(x, max=1.0), np.minimum(x, 1.0))


# ---- operators and Python numbers

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("number", [True, 3, 2.5, 1.5 + 2j], ids=str)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_python_numbers_are_weak(dtype, number):
    x = numbers((5,), dtype)
    assert_same(tn.asarray(x) + number, x + number)
    assert (tn.asarray(x) / number).dtype.numpy == (x / number).dtype


@pytest.mark.parametrize("number, dtype", [(3, tn.int64), (2.5, tn.float64), (1j, tn.complex128)], ids=str)
def test_truth_values_beside_python_numbers(number, dtype):
    assert (tn.asarray([True]) + number).dtype is dtype


@pytest.mark.parametrize("op", BINARY + COMPARE)
def test_operators_and_their_reflections(op):
    x, y = numbers((5,), "f8"), numbers((5,), "f8", seed=1)
    a = tn.asarray(x)
    # A quotient that is rounded before its floor is taken is off by one at most, nowhere here.
    for got, want in [
        (op(a, tn.asarray(y)), op(x, y)),
        (op(a, y), op(x, y)),
        (op(x, a), op(x, x)),
        (op(a, 2.0), op(x, 2.0)),
        (op(2.0, a), op(2.0, x)),
    ]:
        assert isinstance(got, tn.Tensor)
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 0.5, -1, 2.5])
def test_powers(exponent):
    x = np.abs(numbers((9,), "f8"))
    # Two roundings for a cube, one for the others.
    np.testing.assert_allclose(np.asarray(tn.asarray(x) ** exponent), x**exponent, rtol=4e-16)


def test_powers_of_integers():
    x = numbers((9,), "i8")
    assert_same(tn.asarray(x) ** 3, x**3)
    assert_same(2 ** tn.asarray(np.abs(x)), 2 ** np.abs(x))
    with pytest.raises(ValueError, match="negative integer powers, got an exponent of -2"):
        tn.asarray([2, 3]) ** tn.asarray([1, -2])
    with pytest.raises(ValueError, match="negative integer powers, got exponent -1"):
        tn.asarray(x) ** -1


def test_integers_that_do_not_fit():
    x = tn.asarray(np.array([200], dtype="u1"))
    with pytest.raises(OverflowError, match="300 is out of bounds for uint8"):
        x + 300
    assert (x < 300).item() is True
    assert (x > -1).item() is True


def test_unknown_operands_are_left_to_python():
    x = tn.asarray([1.0])
    for other in ("text", [1.0], object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + other
    assert (x == None) is False  # noqa: E711
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_numpy_scalars_keep_their_dtype():
    x = tn.asarray(np.ones(2, "f4"))
    assert (x * np.float64(2)).dtype is tn.float64
    assert (np.float32(2) * x).dtype is tn.float32


def test_numbers_from_tensors():
    assert float(tn.asarray(2.5)) == 2.5
    assert int(tn.asarray(2.5)) == 2
    assert complex(tn.asarray(1j)) == 1j
    assert [10, 20][tn.asarray(1)] == 20
    assert tn.asarray([[3]]).item() == 3
    assert bool(tn.asarray(0.0)) is False
    for convert, error in [(bool, ValueError), (float, TypeError), (operator.index, TypeError)]:
        with pytest.raises(error, match=r"one element is needed, got shape \(2,\)"):
            convert(tn.asarray([1, 2]))
    with pytest.raises(TypeError, match="0-d tensor of integers is needed, got float64"):
        operator.index(tn.asarray(1.0))


# ---- native functions


def test_functions_document_themselves():
    assert tn.exp.__name__ == "exp"
    assert tn.exp.__doc__.startswith("e to the power of x.")
    assert list(inspect.signature(tn.where).parameters) == ["condition", "x1", "x2"]
    assert inspect.isroutine(tn.exp)
    assert pickle.loads(pickle.dumps(tn.exp)) is tn.exp


def test_functions_refuse_what_their_signature_lacks():
    with pytest.raises(TypeError, match="positional"):
        tn.exp(x=1.0)
    with pytest.raises(TypeError, match="positional argument"):
        tn.exp(1.0, 2.0)


# ---- derivatives at the edges (everywhere else: tests/registry)


def gradient(function, *at):
    return tuple(g.tolist() for g in tn.grad(function, argnums=tuple(range(len(at))))(*map(tn.asarray, at)))


@pytest.mark.parametrize(
    "function, at, want",
    [
        (tn.abs, [0.0], [0.0]),
        (tn.sqrt, [0.0], [np.inf]),
        (lambda x: x**3, [0.0], [0.0]),
        (lambda x: tn.pow(x, 0.0), [0.0], [0.0]),
        (lambda x: tn.pow(x, 1.0), [0.0], [1.0]),
        (tn.maximum, [1.0, 1.0], [0.5, 0.5]),
        (tn.minimum, [1.0, 2.0], [1.0, 0.0]),
        (tn.hypot, [0.0, 0.0], [0.0, 0.0]),
        (tn.pow, [0.0, 2.0], [0.0, 0.0]),
        (lambda x: tn.clip(x, 0.0, 1.0), [1.0], [1.0]),
        (lambda x: tn.clip(x, 0.0, 1.0), [1.5], [0.0]),
        (lambda x: tn.where(x > 0, x, 0.0), [-1.0], [0.0]),
    ],
)
def test_derivatives_at_the_edges(function, at, want):
    assert gradient(function, *at) == tuple(want)


def test_expm1_does_not_saturate():
    np.testing.assert_allclose(gradient(tn.expm1, -40.0), np.exp(-40.0), rtol=1e-15)


def test_complex_gradients_point_uphill():
    z = tn.asarray(3.0 + 4.0j)
    assert tn.grad(lambda z: tn.real(z) ** 2 + tn.imag(z) ** 2)(z).item() == 6.0 + 8.0j
    assert tn.grad(tn.abs)(z).item() == pytest.approx(0.6 + 0.8j, rel=1e-15)
    assert tn.grad(tn.abs)(tn.asarray(0j)).item() == 0.0


def test_logaddexp_has_its_limits_where_it_is_infinite():
    inf = math.inf
    for a, b, expected in (
        (inf, 1.0, (1, 0)),
        (1.0, inf, (0, 1)),
        (inf, -inf, (1, 0)),
        (-inf, 2.0, (0, 1)),
        (inf, inf, (0.5, 0.5)),
        (-inf, -inf, (0.5, 0.5)),
        (0.0, 0.0, (0.5, 0.5)),
        (800.0, 0.0, (1, 0)),
    ):
        a, b = tn.asarray(a), tn.asarray(b)
        slopes = tn.grad(tn.logaddexp, argnums=(0, 1))(a, b)
        np.testing.assert_allclose([g.item() for g in slopes], expected, rtol=1e-15)
        bend = tn.grad(lambda a, b=b: tn.grad(tn.logaddexp)(a, b))(a).item()
        np.testing.assert_allclose(
            bend, expected[0] * expected[1] if math.isfinite(a.item()) else 0, atol=1e-15
        )
    assert math.isnan(tn.grad(tn.logaddexp)(tn.asarray(math.nan), tn.asarray(1.0)).item())


def test_arithmetic_that_bool_has_not_says_what_to_do():
    flags = tn.asarray([True, False])
    assert (flags + flags).tolist() == [True, False] and (flags + flags).dtype is tn.dtypes.bool_
    with pytest.raises(TypeError, match="subtract: bool is not supported; use &"):
        flags - flags
