"""Reductions against NumPy: every dtype, layout and set of axes, accuracy, empty operands; derivatives at
ties and zeros. Values on the samples of each record: tests/registry.
"""

import itertools
import math

import numpy as np
import pytest

import taenite as tn

REDUCTIONS = ["sum", "prod", "max", "min", "any", "all"]
# Rows shorter than 16, tiles of 1024, and trees of 32 rows or 64 values are where the engine changes its way.
SHAPES = [
    (),
    (5,),
    (3000,),
    (3, 4),
    (100, 3),
    (3, 100),
    (2500, 3),
    (3, 2500),
    (4, 5, 6),
    (33, 2, 40),
    (3, 1100, 2),
]


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
    yield numbers(shape, dtype)
    if not shape:
        return
    yield np.array(numbers(shape, dtype), order="F")
    yield numbers([2 * n for n in shape], dtype)[(slice(None, None, 2),) * len(shape)]
    yield numbers(shape, dtype)[(slice(None, None, -1),) * len(shape)]
    yield np.broadcast_to(numbers(shape[-1:], dtype), shape)
    yield np.broadcast_to(numbers((*shape[:-1], 1), dtype), shape)


def sets_of_axes(ndim):
    return itertools.chain.from_iterable(itertools.combinations(range(ndim), k) for k in range(ndim + 1))


def supported(name, dtype):
    return not (name in ("max", "min") and np.dtype(dtype).kind == "c")


def assert_reduced(got, want, x):
    """To the rounding of pairwise sums on both sides; products of at most 3,000 factors near 1."""
    got = np.asarray(got)
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, want)
    else:
        eps = 64 * np.finfo(want.dtype).eps
        np.testing.assert_allclose(got, want, rtol=50 * eps, atol=eps * max(1.0, np.abs(x).sum() ** 0.5))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_any_layout_and_axes(name, shape, dtype):
    if not supported(name, dtype):
        return
    for x in views(shape, dtype):
        if name == "prod" and x.dtype.kind in "fc":
            x = np.exp(0.01 * x).astype(x.dtype)
        for axes in sets_of_axes(len(shape)):
            assert_reduced(getattr(tn, name)(x, axis=axes), getattr(np, name)(x, axis=axes), x)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
def test_sums_of_integers_are_wide(dtype):
    x = numbers((300,), dtype)
    assert tn.sum(x).dtype.numpy == x.sum().dtype
    assert tn.sum(x).item() == x.sum()


def test_sums_are_accurate():
    """Against the exact sum: log2(n) + 16 roundings, in the direction of memory and across it."""
    x = np.random.default_rng(3).random(2**18).astype("f4")
    exact = math.fsum(x.tolist())
    bound = (18 + 16) * np.finfo("f4").eps / 2
    for arranged in (x, x[::-1], x.reshape(512, 512), x.reshape(512, 512).T):
        assert abs(tn.sum(arranged).item() - exact) <= bound * exact
    columns = np.stack([x, x], axis=1)
    for total in np.asarray(tn.sum(columns, axis=0)):
        assert abs(total - exact) <= 2 * bound * exact


def test_sums_over_broadcast_axes_are_multiples():
    row = numbers((4,), "f8")
    x = np.broadcast_to(row, (10**9, 4))  # 32 GB, were it written out
    np.testing.assert_allclose(np.asarray(tn.sum(x, axis=0)), 1e9 * row, rtol=1e-15)
    np.testing.assert_array_equal(np.asarray(tn.max(x, axis=0)), row)


def test_results_follow_the_axis_order_of_the_operand():
    x = tn.asarray(np.zeros((3, 4, 5), order="F"))
    assert tn.sum(x, axis=0).strides == (1, 4)
    assert tn.sum(tn.asarray(np.zeros((3, 4, 5))), axis=0).strides == (5, 1)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (-1, 0), ()], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_axis_and_keepdims(axis, keepdims):
    x = numbers((2, 3, 4), "f8")
    for name in ("sum", "mean", "max", "std"):
        want = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
        assert_reduced(getattr(tn, name)(x, axis=axis, keepdims=keepdims), want, x)
        assert_reduced(getattr(tn.asarray(x), name)(axis=axis, keepdims=keepdims), want, x)


def test_dtype_is_that_of_the_sum():
    x = numbers((5,), "i4")
    assert tn.sum(x, dtype=tn.float32).dtype is tn.float32
    assert tn.prod(x, dtype=tn.complex128).dtype is tn.complex128


@pytest.mark.parametrize("axis", [2, -3, (0, 2)], ids=str)
def test_axes_out_of_bounds(axis):
    with pytest.raises(IndexError, match=r"sum: axis -?\d is out of bounds for a tensor of 2 dimensions"):
        tn.sum(np.zeros((2, 3)), axis=axis)


def test_axes_named_twice():
    with pytest.raises(ValueError, match="axes must be different"):
        tn.sum(np.zeros((2, 3)), axis=(0, -2))


# ---- empty operands and special values


def test_empty_reductions_give_the_identity():
    x = np.zeros((0, 3))
    for name in ("sum", "prod", "any", "all"):
        assert_reduced(getattr(tn, name)(x, axis=0), getattr(np, name)(x, axis=0), x)
    assert np.asarray(tn.sum(x, axis=1)).shape == (0,)
    assert np.asarray(tn.max(x, axis=1)).shape == (0,)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_nothing_to_choose_from(name):
    with pytest.raises(ValueError, match=rf"{name}: there is no element to choose from in shape \(0, 3\)"):
        getattr(tn, name)(np.zeros((0, 3)), axis=0)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_complex_numbers_have_no_order(name):
    with pytest.raises(TypeError, match=f"{name}: complex128 is not supported"):
        getattr(tn, name)([1j])


@pytest.mark.parametrize("at", [0, 17, 2999])
@pytest.mark.parametrize("name", ["max", "min"])
def test_nan_wins(name, at):
    x = numbers((3000,), "f8")
    x[at] = np.nan
    assert np.isnan(getattr(tn, name)(x).item())
    assert np.isnan(np.asarray(getattr(tn, name)(np.stack([x, x], axis=1), axis=0))).all()


# ---- positions


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
@pytest.mark.parametrize("shape", SHAPES[1:], ids=str)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name, shape, dtype):
    for x in views(shape, dtype):
        for axis in (None, *range(len(shape))):
            want = np.asarray(getattr(np, name)(x, axis=axis))
            np.testing.assert_array_equal(np.asarray(getattr(tn, name)(x, axis=axis)), want)


def test_the_first_of_equal_elements_and_the_first_nan():
    assert tn.argmax([1.0, 3.0, 3.0]).item() == 1
    assert tn.argmin([[2.0, np.nan], [np.nan, 0.0]]).item() == 1
    assert tn.argmax(np.ones((2, 3)), axis=1, keepdims=True).shape == (2, 1)


# ---- running sums and products


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", ["f8", "c16", "i4", "u1", "?"])
def test_running_sums_and_products(axis, dtype):
    for x in views((7, 9), dtype):
        assert_reduced(tn.cumulative_sum(x, axis=axis), np.cumulative_sum(x, axis=axis), x)
        assert_reduced(tn.cumulative_prod(x, axis=axis), np.cumulative_prod(x, axis=axis), x)
    got = tn.cumulative_sum(x, axis=axis, include_initial=True)
    assert_reduced(got, np.cumulative_sum(x, axis=axis, include_initial=True), x)


def test_running_sums_need_an_axis():
    with pytest.raises(ValueError, match="cumulative_sum: axis is needed for a tensor of 2 dimensions"):
        tn.cumulative_sum(np.zeros((2, 3)))


# ---- statistics


@pytest.mark.parametrize("dtype", ["f8", "c16", "i4"])
@pytest.mark.parametrize("correction", [0, 1])
def test_variance(dtype, correction):
    x = numbers((4, 5), dtype)
    assert_reduced(tn.var(x, axis=0, correction=correction), np.var(x, axis=0, ddof=correction), x)
    assert_reduced(tn.std(x, correction=correction), np.asarray(np.std(x, ddof=correction)), x)
    assert_reduced(tn.mean(x, axis=1), np.mean(x, axis=1), x)


# ---- derivatives


def test_equal_elements_share_the_derivative_of_the_largest():
    assert tn.grad(tn.max)(tn.asarray([1.0, 3.0, 3.0])).tolist() == [0.0, 0.5, 0.5]
    assert tn.grad(lambda x: tn.min(x, axis=0).sum())(tn.asarray([[1.0, 2.0], [1.0, 3.0]])).tolist() == [
        [0.5, 1.0],
        [0.5, 0.0],
    ]


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_derivatives_of_products_with_zeros(zeros):
    x = np.array([2.0, 3.0, 5.0, 7.0])
    x[:zeros] = 0.0
    n = len(x)
    others = [math.prod(np.delete(x, i)) for i in range(n)]
    second = [[0.0 if i == j else math.prod(np.delete(x, [i, j])) for j in range(n)] for i in range(n)]
    gradient = tn.grad(tn.prod)
    assert gradient(tn.asarray(x)).tolist() == others
    rows = [tn.grad(lambda x, i=i: gradient(x)[i])(tn.asarray(x)).tolist() for i in range(n)]
    assert rows == second


def test_derivatives_of_running_products():
    x = tn.asarray([2.0, 0.0, 3.0])
    gradient = tn.grad(lambda x: tn.cumulative_prod(x).sum())(x)
    assert gradient.tolist() == [1.0, 8.0, 0.0]


def test_derivatives_of_statistics():
    x = numbers((6,), "f8")
    d = x - x.mean()
    np.testing.assert_allclose(np.asarray(tn.grad(tn.mean)(tn.asarray(x))), np.full(6, 1 / 6), rtol=1e-15)
    np.testing.assert_allclose(np.asarray(tn.grad(tn.var)(tn.asarray(x))), d / 3, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", ["sum", "prod", "any"])
def test_a_tall_tensor_without_columns(name):
    assert getattr(tn, name)(tn.zeros((3000, 0)), axis=0).shape == (0,)
