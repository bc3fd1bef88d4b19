"""Arithmetic, comparisons, casts, moves and reductions of every dtype on every SIMD target, against NumPy."""

import math
import operator
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import taenite as tn
from taenite import _core

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
DTYPES = [np.bool_, *INTEGERS, *FLOATS, *COMPLEX]
SIZE = 203  # whole registers and a ragged end for every itemsize


@pytest.fixture(autouse=True, params=_core.simd_targets())
def target(request: pytest.FixtureRequest) -> Iterator[None]:
    before = _core.simd_target()
    assert _core.select_simd_target(request.param)
    yield
    _core.select_simd_target(before)


def sample(dtype: type, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, SIZE).astype(bool)
    if kind in "iu":
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, SIZE, dtype=dtype, endpoint=True)
        x[:4], x[100:160] = [0, 1, info.max, info.min], rng.integers(0 if kind == "u" else -9, 9, 60)
        return x
    x = (3 * rng.normal(size=SIZE)).astype(dtype)
    if kind == "c":
        return (x + 1j * rng.normal(size=SIZE)).astype(dtype)
    x[:11] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 1.5, 2.5, 1e-40]
    return x


def call(name: str, *operands: np.ndarray) -> np.ndarray:
    return np.asarray(getattr(tn, name)(*(tn.asarray(x) for x in operands)))


def check(name: str, reference: Callable, *operands: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        want = reference(*operands)
    got = call(name, *operands)
    if want.dtype.kind == "c":  # NumPy may fuse the two products of a complex multiplication
        eps = np.finfo(want.dtype).eps
        np.testing.assert_allclose(got, want, rtol=4 * eps, atol=100 * eps, err_msg=name)
    else:
        np.testing.assert_array_equal(got, want, err_msg=name)


def forms(a: np.ndarray, b: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two vectors, and a scalar on either side."""
    return [(a, b), (a, b[7:8]), (a[7:8], b)]


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_real_arithmetic_is_numpys(dtype):
    for a, b in forms(sample(dtype), sample(dtype, 1)):
        for name in ("add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder"):
            check(name, getattr(np, name), a, b)
    for name in ("negative", "abs", "sign", "square"):
        check(name, getattr(np, name), sample(dtype))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_complex_arithmetic_is_numpys(dtype):
    for a, b in forms(sample(dtype), sample(dtype, 1)):
        for name in ("add", "subtract", "multiply", "divide"):
            check(name, getattr(np, name), a, b)
    for name in ("negative", "square", "conj", "real", "imag"):
        check(name, getattr(np, name), sample(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits_and_shifts_are_numpys(dtype):
    counts = np.random.default_rng(2).integers(0, 80, SIZE).astype(dtype)
    for a, b in forms(sample(dtype), sample(dtype, 1)):
        for name in ("and", "or", "xor"):
            check(f"bitwise_{name}", getattr(np, f"bitwise_{name}"), a, b)
    for a, b in forms(sample(dtype), counts):
        check("bitwise_left_shift", np.left_shift, a, b)
        check("bitwise_right_shift", np.right_shift, a, b)
    check("bitwise_invert", np.invert, sample(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_keeps_ties_even_and_the_sign_of_zero(dtype):
    x = np.array(
        [-2.5, -1.5, -0.5, -0.0, 0.0, 0.2, 0.5, 1.5, 2.5, 1e7 + 0.5, 2.0**60, -np.inf, np.nan], dtype
    )
    for name, reference in (("round", np.rint), ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc)):
        check(name, reference, x)
        np.testing.assert_array_equal(np.signbit(call(name, x)[:-1]), np.signbit(reference(x)[:-1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_and_predicates_are_numpys(dtype):
    a, b = sample(dtype), sample(dtype, 1)
    b[::3] = a[::3]
    order = [] if dtype in COMPLEX else ["less", "less_equal", "greater", "greater_equal"]
    for x, y in forms(a, b):
        for name in ("equal", "not_equal", *order):
            check(name, getattr(np, name), x, y)
    if np.dtype(dtype).kind in "fc":
        for name in ("isnan", "isinf", "isfinite"):
            check(name, getattr(np, name), a)


# astype refuses complex to real: real() says it.
CASTS = [(a, b) for a in DTYPES for b in DTYPES if a not in COMPLEX or b in (np.bool_, *COMPLEX)]


@pytest.mark.parametrize("dtype, to", CASTS)
def test_casts_are_numpys_where_they_are_defined(dtype, to):
    x = sample(dtype)
    if dtype in FLOATS and to in INTEGERS:
        x = x[np.isfinite(x) & (x > -1 if np.dtype(to).kind == "u" else np.abs(x) < 100)]
    got = tn.astype(tn.asarray(x), tn.bool_ if to is np.bool_ else getattr(tn, np.dtype(to).name))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.asarray(got), x.astype(to))


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_picks_by_itemsize(dtype):
    condition, a, b = sample(np.bool_, 3), sample(dtype), sample(dtype, 1)
    for x, y in forms(a, b):
        np.testing.assert_array_equal(call("where", condition, x, y), np.where(condition, x, y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_moves_by_any_strides_lose_nothing(dtype):
    x = np.tile(sample(dtype), 21)[: 64 * 65].reshape(64, 65)
    t = tn.asarray(x)
    for view, want in (
        (t[::-1, ::3], x[::-1, ::3]),
        (t[::2, ::-2], x[::2, ::-2]),
        (t[3:36, 1:64], x[3:36, 1:64]),
    ):
        np.testing.assert_array_equal(np.asarray(tn.reshape(view, (-1,))), want.reshape(-1))
        np.testing.assert_array_equal(np.asarray(tn.reshape(view.T, (-1,))), want.T.reshape(-1))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_reductions_are_numpys(dtype):
    x = sample(dtype)[:200].reshape(8, 25)
    for axis in (None, 0, 1):
        for name in ("sum", "prod", "max", "min"):
            want = getattr(np, name)(x, axis=axis)
            np.testing.assert_array_equal(np.asarray(getattr(tn, name)(tn.asarray(x), axis=axis)), want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 3, 31, 1000, 100_003])
def test_float_sums_are_as_right_as_pairwise_ones(dtype, n):
    x = np.random.default_rng(4).normal(size=n).astype(dtype)
    exact, size = math.fsum(x.astype(float)), math.fsum(np.abs(x).astype(float))
    steps = 20 + math.ceil(math.log2(n))  # 16 additions in a lane, the joins of lanes, the tree of blocks
    roundoff = np.finfo(dtype).eps / 2
    assert abs(float(tn.sum(tn.asarray(x))) - exact) <= steps * roundoff * size


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("extremum", [operator.attrgetter("max"), operator.attrgetter("min")])
def test_a_nan_anywhere_is_the_extremum(dtype, extremum):
    x = np.random.default_rng(5).normal(size=(37, SIZE)).astype(dtype)
    x[11, 150] = np.nan
    for axis in (None, 0, 1):
        want = extremum(np)(x, axis=axis)
        np.testing.assert_array_equal(np.asarray(extremum(tn)(tn.asarray(x), axis=axis)), want)


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_positions_of_extrema_are_the_first(dtype):
    x = np.stack([sample(dtype, seed) for seed in range(5)])
    for name in ("argmax", "argmin"):
        for axis in (None, 0, 1):
            want = getattr(np, name)(x, axis=axis)
            np.testing.assert_array_equal(np.asarray(getattr(tn, name)(tn.asarray(x), axis=axis)), want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_and_all_look_at_every_element(dtype):
    for n in (1, 64, 1000):
        for k in {0, n // 2, n - 1}:
            one, hole = np.zeros(n, dtype), np.ones(n, dtype)
            one[k], hole[k] = 1, 0
            assert bool(tn.any(tn.asarray(one)))
            assert not bool(tn.all(tn.asarray(hole)))
        assert not bool(tn.any(tn.asarray(np.zeros(n, dtype))))
        assert bool(tn.all(tn.asarray(np.ones(n, dtype))))
