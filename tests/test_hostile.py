"""Random operands of every dtype, layout and degenerate shape against NumPy; threads; gradients of views.

Values are small integers, so that every dtype and every order of summation is exact; gradients of the same
numbers in two layouts differ by the order of their sums only, hence the bounds of a few hundred round-offs.
"""

import threading

import numpy as np
import pytest

import taenite as tn

DTYPES = [
    "bool",
    "int8",
    "uint8",
    "int32",
    "uint64",
    "int64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
SEEDS = range(4)


def operand(rng, shape, dtype=None):
    """Small integers in rows, columns, with gaps, backwards, repeated, or read-only."""
    a = np.asarray(rng.integers(0, 4, shape)).astype(dtype or rng.choice(DTYPES))
    layout = rng.integers(0, 6)
    if layout == 1:
        return a.copy(order="F")
    if layout == 2:
        return np.repeat(a, 3, -1)[..., ::3] if a.ndim else a
    if layout == 3:
        return np.flip(np.flip(a).copy())
    if layout == 4 and a.size:
        return np.broadcast_to(a[tuple(slice(0, 1) for _ in shape)], shape)
    if layout == 5:
        a.flags.writeable = False
    return a


def random_shape(rng):
    return tuple(rng.choice([0, 1, 2, 3, 7], rng.integers(0, 4)).tolist())


def random_key(rng, shape):
    items, count = [], rng.choice([0, 1, 3])
    for n in shape:
        kind = rng.integers(0, 5)
        start, stop = rng.integers(-n - 2, n + 3, 2).tolist()
        if kind == 0 and n:
            items.append(int(rng.integers(-n, n)))
        elif kind == 1 and n:
            items.append(rng.integers(-n, n, count))
        elif kind == 2:
            items.append(slice(start, stop, int(rng.choice([1, 2, -1, -3]))))
        elif kind == 3:
            items.append(None)
            items.append(slice(None))
        else:
            items.append(slice(None))
    return tuple(items)


def assert_same(got, want):
    got = np.asarray(got)
    assert got.shape == want.shape and np.array_equal(got, want)


@pytest.mark.parametrize("seed", SEEDS)
def test_reductions(seed):
    rng = np.random.default_rng(seed)
    for _ in range(150):
        a, keep = operand(rng, random_shape(rng)), bool(rng.integers(0, 2))
        axes = rng.permutation(a.ndim)[: rng.integers(0, a.ndim + 1)].tolist()
        axis = tuple(i - a.ndim * int(rng.integers(0, 2)) for i in axes)
        for name in ("sum", "any", "all"):
            want = getattr(np, name)(a, axis=axis, keepdims=keep)
            assert_same(getattr(tn, name)(tn.asarray(a), axis=axis, keepdims=keep), want)


@pytest.mark.parametrize("seed", SEEDS)
def test_indexing(seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        a = operand(rng, random_shape(rng))
        key, before = random_key(rng, a.shape), a.copy()
        want = a[key]
        assert_same(tn.asarray(a)[key], want)
        value = operand(rng, want.shape, a.dtype)
        written = np.array(a)
        written[key] = value
        assert_same(tn.set(tn.asarray(a), key, value), written)
        target = tn.asarray(a).copy()
        target[key] = value
        assert_same(target, written)
        assert np.array_equal(a, before)


@pytest.mark.parametrize("seed", SEEDS)
def test_einsum(seed):
    rng = np.random.default_rng(seed)
    for _ in range(100):
        sizes = {letter: int(rng.choice([0, 1, 2, 3])) for letter in "abcde"}
        terms = ["".join(rng.choice(list(sizes), rng.integers(0, 4))) for _ in range(rng.integers(1, 4))]
        used = sorted(set("".join(terms)))
        output = "".join(rng.permutation([c for c in used if rng.integers(0, 2)]))
        equation = ",".join(terms) + "->" + output
        operands = [operand(rng, tuple(sizes[c] for c in term), "float64") for term in terms]
        assert_same(tn.einsum(equation, *map(tn.asarray, operands)), np.einsum(equation, *operands))


LOSSES = {
    "sum": lambda x: (tn.sum(x, axis=0) ** 2).sum(),
    "max": lambda x: (tn.max(x, axis=0) ** 2).sum(),
    "matmul": lambda x: (x @ tn.permute_dims(x, (1, 0))).sum(),
    "svdvals": lambda x: tn.linalg.svdvals(x).sum(),
    "cumulative_sum": lambda x: (tn.cumulative_sum(x, axis=0) ** 2).sum(),
    "index": lambda x: (x[[0, -1, 0]] ** 2).sum(),
    "einsum": lambda x: (tn.einsum("ij,kj->ik", x, x) ** 2).sum(),
    "flip": lambda x: (tn.flip(x, axis=0) * x).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_do_not_depend_on_the_layout(name):
    rng, f = np.random.default_rng(3), LOSSES[name]
    whole = rng.standard_normal((8, 6))
    for a in (whole[:5], np.asfortranarray(whole), whole[::2], whole[::-1, ::-1], whole[:, ::3], whole[1:2]):
        expected = np.asarray(tn.grad(f)(tn.asarray(a.copy())))
        bound = 500 * np.finfo(float).eps * (np.abs(expected).max() + 1)
        np.testing.assert_allclose(np.asarray(tn.grad(f)(tn.asarray(a))), expected, rtol=0, atol=bound)
        t = rng.standard_normal(a.shape)
        slope = tn.jvp(f, (tn.asarray(a),), (tn.asarray(t),))[1].item()
        assert abs(slope - (expected * t).sum()) <= bound * a.size


def test_two_threads_differentiate_at_once():
    failures = []
    shared = tn.variable(tn.ones(50))

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(20):
                a = tn.asarray(rng.standard_normal((30, 30)) + 10 * np.eye(30))
                x = tn.variable(a)
                (tn.linalg.slogdet(x).logabsdet + tn.linalg.inv(x).sum()).backward()
                inverse = np.linalg.inv(a.numpy()).T
                want = inverse - np.outer(inverse.sum(1), inverse.sum(0))
                np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-10, atol=1e-12)
                with tn.no_grad():
                    assert not (x * x).requires_grad
                (shared * shared).sum().backward()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert shared.grad.tolist() == [80.0] * 50
