"""x[...], take, set and writing in place, against NumPy."""

import numpy as np
import pytest

import taenite as tn

RNG = np.random.default_rng(2)
X = RNG.normal(size=(4, 5, 6))
I, J = np.array([[2, 0, -1], [1, 1, 3]]), np.array([4, 0, -5])
MASK = RNG.random((4, 5)) < 0.5

KEYS = {
    "integer": 1,
    "negative": (-1, 2),
    "all integers": (1, -2, 3),
    "slice": slice(1, 3),
    "steps": (slice(None, None, 2), slice(None, None, -1), slice(4, 0, -2)),
    "beyond": (slice(-100, 100), slice(3, 1)),
    "none": (None, 1, None, slice(2)),
    "ellipsis": (..., 0),
    "ellipsis inside": (0, ..., slice(1, 4)),
    "nothing": (),
    "whole": ...,
    "array": I,
    "second axis": (slice(None), J),
    "two arrays": (I, J),
    "two arrays inside": (slice(None), J, np.array([1, 0, 5])),
    "arrays apart": (J % 4, slice(None), np.array([1, 0, 5])),
    "array and integer": (2, slice(1, 3), J),
    "integer beside": (2, J),
    "list": [0, 2, 2],
    "array and none": (None, slice(None), J),
    "slices and array": (slice(1, 3), slice(None, None, -2), J),
    "mask": MASK,
    "mask of elements": X > 0,
    "mask of one axis": (slice(None), np.array([True, False, True, True, False])),
    "mask and array": (MASK, np.array(3)),
    "no elements": np.zeros((0,), int),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("order", ["c", "transposed"])
def test_getitem(key, order):
    x = X if order == "c" else X.transpose(2, 1, 0).copy().transpose(2, 1, 0)
    got = tn.asarray(x)[key]
    assert isinstance(got, tn.Tensor)
    np.testing.assert_array_equal(np.asarray(got), x[key], strict=True)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_set_and_setitem(key):
    expected = X.copy()
    shape = X[key].shape
    # One value wherever an index repeats, so that the order of writing does not matter.
    expected[key] = 7.5
    x = tn.asarray(X.copy())
    np.testing.assert_array_equal(np.asarray(tn.set(x, key, 7.5)), expected)
    np.testing.assert_array_equal(np.asarray(x), X)
    x[key] = np.full(shape, 7.5)
    np.testing.assert_array_equal(np.asarray(x), expected)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_gradients(key):
    weights = RNG.normal(size=X[key].shape)
    expected = np.zeros_like(X)
    np.add.at(expected, key, weights)
    x = tn.variable(tn.asarray(X))
    (x[key] * tn.asarray(weights)).sum().backward()
    np.testing.assert_allclose(np.asarray(x.grad), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    "key", [slice(1, 3), (0, ..., slice(1, 4)), (None, 1), J[:2] % 4, (slice(2), np.array([4, 0]))]
)
def test_gradients_of_set(key):
    v = RNG.normal(size=X[key].shape)
    w = RNG.normal(size=X.shape)
    x, y = tn.variable(tn.asarray(X)), tn.variable(tn.asarray(v))
    (tn.set(x, key, y) * tn.asarray(w)).sum().backward()
    masked = w.copy()
    masked[key] = 0
    np.testing.assert_array_equal(np.asarray(x.grad), masked)
    writer, places = np.zeros(X.shape, int), np.arange(v.size).reshape(v.shape)
    writer[key] = places
    np.testing.assert_array_equal(np.asarray(y.grad), np.where(writer[key] == places, w[key], 0))


def test_views_of_basic_keys_share_memory():
    x = X.copy()
    with tn.observe() as seen:
        y = tn.asarray(x)[1:, None, ::-1, 2]
    assert seen.copies.count == 0 and np.shares_memory(np.asarray(y), x)


def test_setitem_broadcasts_casts_and_copes_with_overlap():
    x = np.arange(12.0).reshape(3, 4)
    t = tn.asarray(x.copy())
    t[1:] = t[:2]
    x[1:] = x[:2].copy()
    np.testing.assert_array_equal(np.asarray(t), x)
    t[:, 1] = [1, 2, 3]
    t[0] = tn.asarray(9, dtype="int8")
    assert t[:, 1].tolist() == [9, 2, 3]
    n = tn.zeros(3, dtype="int64")
    n[0] = 2.7
    assert n.tolist() == [2, 0, 0]


def test_take():
    same = np.testing.assert_array_equal
    same(np.asarray(tn.take(X, I, axis=1)), X[:, I])
    same(np.asarray(tn.take(tn.asarray(X).T, I, axis=-1)), X.T[..., I])
    same(np.asarray(tn.take(X[0, 0], tn.asarray(np.uint8(3)))), X[0, 0, 3])
    along = RNG.integers(-4, 4, size=(2, 1, 6))
    same(
        np.asarray(tn.take_along_axis(X, along, axis=0)),
        np.take_along_axis(X, np.broadcast_to(along, (2, 5, 6)), 0),
    )
    for ours, theirs in zip(tn.nonzero(X > 1), np.nonzero(X > 1), strict=True):
        same(np.asarray(ours), theirs)


def read_only():
    x = np.zeros(3)
    x.flags.writeable = False
    return tn.asarray(x)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tn.asarray(X)[4], IndexError, "index 4 is out of bounds for axis 0 of size 4"),
        (lambda: tn.asarray(X)[0, -6], IndexError, "index -6 is out of bounds for axis 1 of size 5"),
        (lambda: tn.asarray(X)[0, 0, 0, 0], IndexError, "at most as many indices, got 4"),
        (lambda: tn.asarray(X)[..., ...], IndexError, "at most one Ellipsis"),
        (lambda: tn.asarray(X)[:, [5]], IndexError, "index 5 is out of bounds for axis 1 of size 5"),
        (lambda: tn.asarray(X)[[0.5]], TypeError, "indices must be integers, got float64"),
        (lambda: tn.asarray(X)["a"], IndexError, "integers, slices"),
        (lambda: tn.asarray(X)[MASK[:3]], IndexError, r"a mask of shape \(3, 5\) does not fit"),
        (lambda: tn.asarray(X)[::0], ValueError, "step"),
        (lambda: tn.take(X, [0]), ValueError, "axis is needed"),
        (lambda: tn.set(X, 0, np.zeros((2, 5, 6))), ValueError, "does not fit the selection"),
        (lambda: read_only().__setitem__(0, 1.0), ValueError, "read-only"),
        (lambda: tn.asarray(X.copy()).__setitem__(0, np.zeros(7)), ValueError, "broadcast"),
        (lambda: tn.variable(tn.zeros(3)).__setitem__(0, 1.0), ValueError, r"tn\.set\(x, index, value\)"),
        (lambda: tn.zeros(3).__setitem__(0, tn.variable(tn.ones(()))), ValueError, "the value is tracked"),
        (lambda: tn.broadcast_to(tn.zeros(()), 3).__setitem__(0, 1.0), ValueError, "repeats its memory"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_leaf_can_be_written_under_no_grad():
    x = tn.variable(tn.zeros(3))
    with tn.no_grad():
        x[0] = 1.0
    assert x.detach().tolist() == [1.0, 0.0, 0.0]


def test_writing_a_saved_tensor_is_an_error_at_backward():
    x, w = tn.variable(tn.ones(3)), tn.ones(3)
    y = (x * w).sum()
    w[0] = 2.0
    with pytest.raises(RuntimeError, match="multiply"):
        y.backward()


def test_keys_in_traced_functions():
    x = tn.asarray(X)
    for key in (1, (..., -1), (slice(1, None, 2), None), (slice(None, -1), 0), I):
        dy = tn.jvp(lambda v, key=key: v[key], (x,), (x,))[1]
        np.testing.assert_array_equal(np.asarray(dy), X[key])


def test_set_at_repeated_indices_differentiates_the_last_that_wins():
    x, at = tn.asarray([1.0, 2.0, 3.0]), tn.asarray([0, -1, 0, 2, 0])
    v, w = tn.asarray([10.0, 20.0, 30.0, 40.0, 50.0]), tn.asarray([1.0, 2.0, 4.0])

    def f(x, v):
        return (w * tn.set(x, at, v) ** 2).sum()

    assert tn.set(x, at, v).tolist() == [50.0, 2.0, 40.0]
    gx, gv = tn.grad(f, argnums=(0, 1))(x, v)
    assert gx.tolist() == [0.0, 8.0, 0.0]
    assert gv.tolist() == [0.0, 0.0, 0.0, 320.0, 100.0]
    assert tn.jvp(f, (x, v), (tn.zeros(3), tn.ones(5)))[1].item() == 420.0


def test_set_at_repeated_rows_and_pairs():
    x = tn.zeros((3, 4))
    for key, shape in (([1, 1], (2, 4)), (([1, 1, 2], [3, 3, 0]), (3,)), ((slice(None), [2, 2]), (3, 2))):
        v = tn.asarray(np.arange(1.0, 1 + np.prod(shape)).reshape(shape))
        g = tn.grad(lambda v, key=key: tn.set(x, key, v).sum())(v)
        written = np.zeros((3, 4))
        written[key] = v.numpy()
        assert (g * v).sum().item() == written.sum()


@pytest.mark.parametrize("key", [True, np.True_, np.array(False), (slice(None), True)], ids=str)
def test_one_bool_is_not_an_index(key):
    x = tn.ones((3, 3))
    with pytest.raises(IndexError, match="one bool is neither an index nor a mask"):
        x[key]
    with pytest.raises(IndexError, match="one bool"):
        tn.set(x, key, 1.0)


def test_an_empty_list_selects_nothing():
    x = tn.variable(tn.ones((2, 3)))
    assert x[:, []].shape == (2, 0)
    x[:, []].sum().backward()
    assert not np.asarray(x.grad).any()


def test_giant_indices_are_out_of_bounds():
    for key in (2**70, -(2**70)):
        with pytest.raises(IndexError, match=rf"index {key} is out of bounds for axis 0 of size 3"):
            tn.ones(3)[key]
    assert tn.ones(3)[: 2**70].shape == (3,)
