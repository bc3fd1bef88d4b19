"""The promises of docs/vector_math.md, measured on every SIMD target of this CPU against mpmath."""

import cmath
import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path

import mpmath
import numpy as np
import pytest

import taenite as tn
from taenite import _core

TARGETS = _core.simd_targets()
ROWS = re.findall(
    r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \|", Path("docs/vector_math.md").read_text(encoding="utf-8"), re.M
)
BOUNDS = {name: {np.float64: float(f64), np.float32: float(f32)} for name, f64, f32 in ROWS}
BINARY = ("pow", "atan2", "hypot")
UNARY = [name for name in BOUNDS if name not in BINARY]
COUNT = 120  # points per stretch of the domain; a run over 10^6 of them raised no error by more than 0.1 ulp

# The largest errors found among all float32 numbers, and among 10^7 float64 ones.
WORST = {
    ("exp", np.float32): ["-0x1.7673aap+2", "-0x1.769ffp+2"],
    ("log", np.float32): ["0x1.65b766p+0", "0x1.67140ap-1"],
    ("tanh", np.float32): ["0x1.206166p+2", "0x1.045b6ep+2"],
    ("tanh", np.float64): ["0x1.654920ea6dbb3p-2", "0x1.644955614feb1p-2", "0x1.071d301a71895p-2", "18.28"],
}
WORST_POINTS = {
    key: np.array([float.fromhex(x) if "x" in x else float(x) for x in v]) for key, v in WORST.items()
}

REFERENCE = {
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": lambda x: mpmath.log1p(x),
    "pow": mpmath.power,
    "atan2": mpmath.atan2,
    "hypot": lambda x, y: mpmath.sqrt(x * x + y * y),
}


@pytest.fixture(autouse=True)
def restore_target() -> Iterator[None]:
    before = _core.simd_target()
    with mpmath.workprec(1300):  # enough for sin(1e300)
        yield
    _core.select_simd_target(before)


def on_target(target: str, function: str, *operands: np.ndarray) -> np.ndarray:
    assert _core.select_simd_target(target)
    return np.asarray(getattr(tn, function)(*(tn.asarray(x) for x in operands)))


def log_uniform(rng: np.random.Generator, low: float, high: float) -> np.ndarray:
    return np.exp(rng.uniform(np.log(low), np.log(high), COUNT))


def stretches(name: str, rng: np.random.Generator) -> list[np.ndarray]:
    tiny, near_one = log_uniform(rng, 1e-300, 1e-3), 1 + rng.normal(size=COUNT) * 1e-4
    anywhere = [rng.uniform(-2, 2, COUNT), rng.uniform(-30, 30, COUNT), tiny, -tiny]
    large, subnormal = log_uniform(rng, 1, 1e300), np.array([5e-324, 3e-310])
    positive = [rng.uniform(0.3, 3, COUNT), near_one, tiny, large, subnormal]
    gap = log_uniform(rng, 1e-15, 0.5)
    unit = [rng.uniform(-1, 1, COUNT), 1 - gap, gap - 1, tiny]
    multiples = np.arange(1.0, 1.0 + COUNT) * rng.integers(1, 4000, COUNT) * (np.pi / 2)
    huge = np.array([1e7, 1e15, 1e22, 1e300, 6381956970095103 * 2.0**797])  # the last: closest to n pi/2
    circular = [*anywhere, rng.uniform(-1e6, 1e6, COUNT), multiples, huge]
    domains = {
        "exp": [*anywhere, rng.uniform(-745, 709.7, COUNT)],
        "exp2": [*anywhere, rng.uniform(-1074, 1023.9, COUNT)],
        "expm1": [*anywhere, rng.uniform(-745, 709.7, COUNT)],
        "sinh": [*anywhere, rng.uniform(-710, 710, COUNT)],
        "cosh": [*anywhere, rng.uniform(-710, 710, COUNT)],
        "log1p": [*positive, -rng.uniform(0, 0.999, COUNT), -tiny],
        "acosh": [1 + log_uniform(rng, 1e-15, 10), log_uniform(rng, 1, 1e300)],
        "erfc": [*anywhere, rng.uniform(-6, 27, COUNT)],
    }
    domains |= dict.fromkeys(("sqrt", "rsqrt", "log", "log2", "log10"), positive)
    domains |= dict.fromkeys(("asin", "acos", "atanh"), unit)
    domains |= dict.fromkeys(("sin", "cos", "tan"), circular)
    return domains.get(name, [*anywhere, log_uniform(rng, 1, 1e300)])


def points(name: str, dtype: type) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        worst = WORST_POINTS.get((name, dtype), np.ones(1))
        x = np.concatenate([*stretches(name, np.random.default_rng(7)), worst]).astype(dtype)
    inside = np.isfinite(x) & (x != 0)
    if name == "atanh":
        inside &= np.abs(x) < 1
    if name == "log1p":
        inside &= x > -1
    return x[inside]


def pairs(name: str, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    x = np.concatenate([log_uniform(rng, 1e-3, 1e3) for _ in range(5)])
    if name == "pow":
        top = 88 if dtype is np.float32 else 700
        exponent = rng.uniform(-top, top, x.size) / np.maximum(np.abs(np.log(x)), 1e-3)
        return x.astype(dtype), exponent.astype(dtype)
    signs = rng.choice([-1, 1], (2, x.size))
    return (x * signs[0]).astype(dtype), (rng.permutation(x) * signs[1]).astype(dtype)


def ulp_errors(got: np.ndarray, want: list, dtype: type) -> np.ndarray:
    info = np.finfo(dtype)
    digits, smallest = info.nmant + 1, info.minexp - info.nmant
    largest = mpmath.mpf(float(info.max))

    def error(y: float, w: mpmath.mpf) -> float:
        if not np.isfinite(y):
            return 0.0 if abs(w) > largest and np.sign(y) == mpmath.sign(w) else np.inf
        unit = mpmath.ldexp(1, max(mpmath.frexp(w)[1] - digits, smallest))
        return float(abs(mpmath.mpf(float(y)) - w) / unit)

    return np.array([error(y, w) for y, w in zip(got, want, strict=True)])


def check_bound(name: str, dtype: type, operands: tuple[np.ndarray, ...]) -> None:
    f = REFERENCE.get(name) or getattr(mpmath, name)
    narrow = 1300 if name in ("sin", "cos", "tan") else 160
    with mpmath.workprec(narrow):
        want = [f(*(mpmath.mpf(float(v)) for v in row)) for row in zip(*operands, strict=True)]
        for target in TARGETS:
            errors = ulp_errors(on_target(target, name, *operands), want, dtype)
            worst = int(np.argmax(errors))
            assert errors[worst] <= BOUNDS[name][dtype] + 1e-3, (target, [float(x[worst]) for x in operands])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", UNARY)
def test_unary_functions_keep_their_bound(name, dtype):
    check_bound(name, dtype, (points(name, dtype),))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", BINARY)
def test_binary_functions_keep_their_bound(name, dtype):
    check_bound(name, dtype, pairs(name, dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["exp", "log", "tanh"])
def test_float32_lanes_agree_with_float64(name, target):
    # float64 results, right to 2^-29 of a float32 ulp, let many points be checked
    rng = np.random.default_rng(11)
    x = np.exp(rng.uniform(np.log(1e-6), np.log(100 if name == "log" else 87), 1 << 18)).astype(np.float32)
    if name != "log":
        x *= rng.choice(np.array([-1, 1], np.float32), x.size)
    want = on_target(target, name, x.astype(np.float64))
    unit = np.ldexp(1.0, np.maximum(np.frexp(want)[1] - 24, -149))
    assert np.max(np.abs(on_target(target, name, x) - want) / unit) <= BOUNDS[name][np.float32] + 1e-3


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_is_odd_rising_and_never_beyond_one(dtype, target):
    x = np.linspace(0, 25, 1 << 16, dtype=dtype)
    y = on_target(target, "tanh", x)
    np.testing.assert_array_equal(on_target(target, "tanh", -x), -y)
    assert np.all(y <= 1) and y[-1] == 1
    assert np.all(
        np.diff(y) >= -4 * np.finfo(dtype).eps * y[1:]
    )  # two results may err in opposite directions
    extreme = np.array(
        [np.inf, -np.inf, np.nan, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]
    )
    got = on_target(target, "tanh", extreme.astype(dtype))
    np.testing.assert_array_equal(got, np.array([1, -1, np.nan, 0, -0.0, 1, extreme[-1]], dtype))
    assert np.signbit(got[4]) and not np.signbit(got[3])


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, 700.0, -745.5, 1e300, -1e300, 5e-324, -1e-310]
EDGES += [np.inf, -np.inf, np.nan]
NUMPY = {
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "pow": np.power,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": np.vectorize(math.erf),
    "erfc": np.vectorize(math.erfc),
}


def assert_same_specials(got: np.ndarray, want: np.ndarray, where: object) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-15 * 16, err_msg=str(where))  # 5 ulp, and NumPy's own
    zeros = (want == 0) | np.isinf(want)
    np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(want[zeros]), err_msg=str(where))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", UNARY)
def test_special_values_of_one_argument_are_numpys(name, target):
    x = np.array(EDGES)
    with np.errstate(all="ignore"):
        want = NUMPY.get(name, getattr(np, name, None))(x)
    assert_same_specials(on_target(target, name, x), want, name)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*BINARY, "logaddexp", "floor_divide", "remainder", "copysign", "nextafter"])
def test_special_values_of_two_arguments_are_numpys(name, target):
    a, b = (np.array(v) for v in zip(*itertools.product(EDGES, EDGES), strict=True))
    with np.errstate(all="ignore"):
        want = NUMPY.get(name, getattr(np, name, None))(a, b)
    assert_same_specials(on_target(target, name, a, b), want, name)


CUT = ["sqrt", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
CUT += ["asin", "acos", "atan", "asinh", "acosh", "atanh"]
COMPLEX = [*CUT, "reciprocal", "expm1", "log2", "log10", "log1p"]
COMPLEX_REFERENCE = {
    "expm1": lambda z: mpmath.exp(z) - 1,
    "log1p": lambda z: mpmath.log(1 + z),
}


def complex_points() -> np.ndarray:
    rng = np.random.default_rng(9)

    def normal(scale: float) -> np.ndarray:
        return scale * (rng.normal(size=COUNT) + 1j * rng.normal(size=COUNT))

    circle = np.exp(1j * rng.uniform(0, 6, COUNT)) * (1 + 1e-8 * rng.normal(size=COUNT))
    return np.concatenate([normal(1), normal(20), normal(1e-5), 1 + normal(1e-5), -1 + normal(1e-5), circle])


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_functions_are_right_relative_to_the_modulus(name, dtype):
    z = complex_points().astype(dtype)
    f = COMPLEX_REFERENCE.get(name) or REFERENCE.get(name) or getattr(mpmath, name)
    roundoff, bound = float(np.finfo(dtype).eps) / 2, 5 if dtype is np.complex128 else 1.05
    with mpmath.workprec(200):
        want = [f(mpmath.mpc(complex(v))) for v in z]
        for target in TARGETS:
            got = on_target(target, name, z)
            errors = [float(abs(mpmath.mpc(complex(g)) - w) / abs(w)) for g, w in zip(got, want, strict=True)]
            worst = int(np.argmax(errors))
            assert errors[worst] <= bound * roundoff, (target, z[worst])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CUT)
def test_complex_functions_stay_on_their_side_of_the_cut(name, target):
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-310, 1e160]
    z = np.array([complex(a, b) for a, b in itertools.product(parts, parts)])
    got = on_target(target, name, z)
    for point, value in zip(z, got, strict=True):
        try:
            want = getattr(cmath, name)(point)
        except (ValueError, OverflowError):  # a pole, or beyond the largest number
            continue
        for g, w in ((value.real, want.real), (value.imag, want.imag)):
            assert abs(g - w) <= 1e-14 * abs(want), (point, value, want)
            assert w == 0 or np.signbit(g) == np.signbit(w), (point, value, want)


@pytest.mark.parametrize("target", TARGETS)
def test_complex_quotients_do_not_overflow_early(target):
    a = np.array([1e300 + 1e300j, 1 + 1j, 1e-300 + 1e-300j, 1 + 2j, 0j])
    b = np.array([1e300 + 1e300j, 1e300 + 1e300j, 1e-300 - 1e-300j, 3 - 4j, 1 + 1j])
    np.testing.assert_allclose(on_target(target, "divide", a, b), a / b, rtol=1e-15)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_short_ends_equal_whole_registers(dtype, target):
    x = np.linspace(0.1, 0.9, 67).astype(dtype)
    whole = on_target(target, "tanh", x)
    for n in range(20):
        np.testing.assert_array_equal(on_target(target, "tanh", x[:n]), whole[:n])
