"""Views and rearrangements against NumPy, in every stride, for empty and 0-d tensors."""

import numpy as np
import pytest

import taenite as tn

RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4, 5))
ARRAYS = {
    "c": X,
    "f": np.asfortranarray(X),
    "permuted": X.transpose(2, 0, 1),
    "reversed": X[::-1, :, ::-2],
    "broadcast": np.broadcast_to(X[:1], (2, 4, 5)),
    "empty": np.zeros((3, 0, 2)),
    "complex": X + 1j,
    "bool": X > 0,
    "int8": (10 * X).astype(np.int8),
}


@pytest.fixture(params=ARRAYS, ids=ARRAYS)
def x(request):
    return ARRAYS[request.param]


def same(got, expected):
    got = np.asarray(got)
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


FUNCTIONS = {
    "permute_dims": (lambda m, x: m.permute_dims(x, (2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
    "T": (lambda m, x: x.T, lambda x: x.T),
    "mT": (lambda m, x: x.mT, lambda x: x.swapaxes(-1, -2)),
    "transpose": (lambda m, x: x.transpose(-1, 0, 1), lambda x: x.transpose(-1, 0, 1)),
    "reshape": (lambda m, x: x.reshape(-1, x.shape[2], 1), lambda x: x.reshape(-1, x.shape[2], 1)),
    "flatten": (lambda m, x: m.flatten(x), lambda x: x.reshape(-1)),
    "moveaxis": (lambda m, x: m.moveaxis(x, (0, 1), (-1, 0)), lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    "swapaxes": (lambda m, x: m.swapaxes(x, 0, -1), lambda x: x.swapaxes(0, -1)),
    "expand_dims": (lambda m, x: m.expand_dims(x, (0, -1)), lambda x: np.expand_dims(x, (0, -1))),
    "squeeze": (lambda m, x: m.squeeze(m.expand_dims(x, 1), 1), lambda x: x),
    "broadcast_to": (
        lambda m, x: m.broadcast_to(x, (2, *x.shape)),
        lambda x: np.broadcast_to(x, (2, *x.shape)),
    ),
    "flip": (lambda m, x: m.flip(x, axis=(0, 2)), lambda x: np.flip(x, (0, 2))),
    "flip all": (lambda m, x: m.flip(x), np.flip),
    "roll": (lambda m, x: m.roll(x, (1, -7), axis=(0, 2)), lambda x: np.roll(x, (1, -7), (0, 2))),
    "roll together": (lambda m, x: m.roll(x, np.int64(2), axis=(0, 2)), lambda x: np.roll(x, 2, (0, 2))),
    "roll flat": (lambda m, x: m.roll(x, 3), lambda x: np.roll(x, 3)),
    "tile": (lambda m, x: m.tile(x, (2, 1, 1, 3)), lambda x: np.tile(x, (2, 1, 1, 3))),
    "repeat": (lambda m, x: m.repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, 1)),
    "repeat flat": (lambda m, x: m.repeat(x, 2), lambda x: np.repeat(x, 2)),
    "concat": (lambda m, x: m.concat([x, x[:, :1]], axis=1), lambda x: np.concatenate([x, x[:, :1]], 1)),
    "concat flat": (lambda m, x: m.concat([x, x], axis=None), lambda x: np.concatenate([x, x], None)),
    "stack": (lambda m, x: m.stack([x, x], axis=-1), lambda x: np.stack([x, x], -1)),
    "split": (lambda m, x: m.split(x, [1, 2], axis=0)[1], lambda x: np.split(x, [1, 2], 0)[1]),
    "unstack": (lambda m, x: m.unstack(x, axis=-1)[1], lambda x: x[..., 1]),
    "diagonal": (lambda m, x: m.diagonal(x, offset=1), lambda x: np.diagonal(x, 1, -2, -1)),
    "diag": (lambda m, x: m.diag(x[0, :, 0], k=-1), lambda x: np.diag(x[0, :, 0], -1)),
    "tril": (lambda m, x: m.tril(x, k=-1), lambda x: np.tril(x, -1)),
    "triu": (lambda m, x: m.triu(x, k=1), lambda x: np.triu(x, 1)),
    "tril of columns": (lambda m, x: m.tril(x.mT, k=1), lambda x: np.tril(x.swapaxes(-1, -2), 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matches_numpy(name, x):
    ours, reference = FUNCTIONS[name]
    same(ours(tn, tn.asarray(x)), reference(x))


VIEWS = (
    "permute_dims",
    "T",
    "mT",
    "moveaxis",
    "expand_dims",
    "broadcast_to",
    "flip",
    "split",
    "unstack",
    "diagonal",
)


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory(name):
    x = tn.asarray(X)
    with tn.observe() as seen:
        y = FUNCTIONS[name][0](tn, x)
    assert seen.copies.count == 0 and seen.allocations.count == 0
    assert np.shares_memory(np.asarray(y), X)


def test_reshape_copies_only_where_strides_do_not_allow_it():
    x = tn.asarray(X)
    with tn.observe() as seen:
        x.reshape(12, 5), x.mT.reshape(3, 5, 2, 2), x[:, :, ::2].reshape(12, 3)
    assert seen.copies.count == 0
    with tn.observe() as seen:
        x.mT.reshape(15, 4), x.T.reshape(-1)
    assert seen.copies.count == 2


def test_scalars():
    x = tn.asarray(2.5)
    assert x.reshape(1, 1).shape == (1, 1) and x.T.shape == () and tn.broadcast_to(x, 3).tolist() == [2.5] * 3
    assert tn.stack([x, x]).tolist() == [2.5, 2.5]


def test_dtypes_promote_in_concat():
    assert tn.concat([tn.zeros(2, dtype="float32"), tn.asarray([1, 2])]).dtype is tn.float64


def test_broadcast_arrays():
    a, b = tn.broadcast_arrays(tn.zeros((2, 1)), tn.zeros(3))
    assert a.shape == b.shape == (2, 3)
    assert tn.broadcast_shapes((5, 1), (1, 4), ()) == (5, 4)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tn.reshape(X, (7, -1)), ValueError, r"shape \(3, 4, 5\) \(60 elements\)"),
        (lambda: tn.reshape(X, (-1, -1)), ValueError, "cannot have the shape"),
        (lambda: tn.reshape(X, (60,), copy=False), ValueError, "copy must be None"),
        (lambda: tn.permute_dims(X, (0, 1)), ValueError, "each of 3 axes once"),
        (lambda: tn.permute_dims(X, (0, 1, 1)), ValueError, "axes must be different"),
        (lambda: tn.squeeze(X, 0), ValueError, "axis 0 must have size 1"),
        (lambda: tn.flip(X, axis=3), IndexError, "flip: axis 3 is out of bounds"),
        (lambda: tn.broadcast_to(X, (4, 5)), ValueError, "does not broadcast"),
        (lambda: tn.broadcast_shapes((2,), (3,)), ValueError, "do not broadcast together"),
        (lambda: tn.concat([]), ValueError, "at least one array"),
        (lambda: tn.stack([tn.zeros(2), tn.zeros(3)]), ValueError, "shapes must agree"),
        (lambda: tn.split(X, 2), ValueError, "do not split into 2 equal parts"),
        (lambda: tn.matrix_transpose(tn.zeros(3)), ValueError, "at least 2 axes"),
        (lambda: tn.tril(tn.zeros(3)), ValueError, "a matrix is needed"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_creation():
    same(tn.eye(3, 4, k=1), np.eye(3, 4, 1))
    same(tn.full((2, 3), 2, dtype="complex64"), np.full((2, 3), 2, "complex64"))
    same(tn.zeros((0, 3)), np.zeros((0, 3)))
    same(tn.ones_like(X), np.ones_like(X))
    same(tn.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False))
    same(tn.arange(2, 10, 3), np.arange(2, 10, 3))
    for ours, theirs in zip(
        tn.meshgrid(tn.arange(2), tn.arange(3)), np.meshgrid(range(2), range(3)), strict=True
    ):
        same(ours, theirs)
    assert tn.empty((2, 2), dtype="int8").shape == (2, 2)


@pytest.mark.parametrize("make", [tn.zeros, tn.ones, tn.empty, lambda s: tn.full(s, 1.0)])
def test_impossible_shapes_are_refused(make):
    with pytest.raises(ValueError, match="negative"):
        make((2, -1))
    with pytest.raises((ValueError, MemoryError)):
        make((1 << 33, 1 << 33))


def test_impossible_broadcasts_are_refused():
    with pytest.raises(ValueError, match="negative"):
        tn.broadcast_to(tn.ones(()), (-2,))
    with pytest.raises(ValueError, match="too many elements"):
        tn.broadcast_to(tn.ones(()), (1 << 33, 1 << 33))
    with pytest.raises(ValueError, match="negative"):
        tn.eye(-1)
