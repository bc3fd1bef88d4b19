"""dot_general against numpy.einsum: every grouping of axes, strides of every kind, all dtypes."""

from dataclasses import dataclass

import numpy as np
import pytest

import taenite as tn
from taenite.ops.contraction import dot_general
from taenite.ops.convert import asarray

DTYPES = ("float64", "float32", "complex128", "complex64", "int64", "int8", "bool")


def numbers(rng, shape, dtype):
    kind = np.dtype(dtype).kind
    if kind in "iub":
        return rng.integers(0, 2 if kind == "b" else 5, size=shape).astype(dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if kind == "c" else x).astype(dtype)


def strided(rng, shape, dtype):
    """An array of that shape in a random memory order, with steps, reversed and broadcast axes."""
    perm = rng.permutation(len(shape))
    base = numbers(rng, [2 * shape[i] for i in perm], dtype)
    cuts = (slice(None, None, 2), slice(None, None, -2), None)
    pick = [cuts[rng.integers(3)] or slice(0, shape[i]) for i in perm]
    x = base[tuple(pick)].transpose(np.argsort(perm))
    for axis in range(x.ndim):
        if rng.random() < 0.1 and x.shape[axis] > 0:
            x = np.broadcast_to(x.take([0], axis), x.shape)
    return x.copy() if rng.random() < 0.3 else x


@dataclass
class Case:
    a: np.ndarray
    b: np.ndarray
    attrs: dict
    equation: str

    def expected(self):
        a = self.a.conj() if self.attrs["conj_a"] else self.a
        b = self.b.conj() if self.attrs["conj_b"] else self.b
        return np.einsum(self.equation, a, b, optimize=True)


def random_case(rng, dtype, sizes, labels=("xy", "mn", "pq", "uvw")):
    batch, m, n, k = (list(s)[: rng.integers(0, len(s) + 1)] for s in labels)
    size = {c: int(rng.choice(sizes)) for c in batch + m + n + k}
    a, b = list(rng.permutation(batch + m + k)), list(rng.permutation(batch + n + k))
    k, batch = list(rng.permutation(k)), list(rng.permutation(batch))
    out = batch + [c for c in a if c in m] + [c for c in b if c in n]
    attrs = {
        "contract_a": tuple(a.index(c) for c in k),
        "contract_b": tuple(b.index(c) for c in k),
        "batch_a": tuple(a.index(c) for c in batch),
        "batch_b": tuple(b.index(c) for c in batch),
        "conj_a": int(rng.integers(2)),
        "conj_b": int(rng.integers(2)),
    }
    operands = (strided(rng, [size[c] for c in labels], dtype) for labels in (a, b))
    return Case(*operands, attrs, f"{''.join(a)},{''.join(b)}->{''.join(out)}")


def tolerance(dtype, terms):
    """Rounding of a sum of that many products of numbers of unit size, and some room."""
    kind = np.dtype(dtype).kind
    return 0 if kind in "iub" else 16 * terms * np.finfo(dtype).eps


def check(case, dtype):
    got = np.asarray(dot_general(asarray(case.a), asarray(case.b), **case.attrs))
    expected = case.expected()
    terms = max(1, int(np.prod([case.a.shape[i] for i in case.attrs["contract_a"]])))
    assert got.shape == expected.shape
    assert got.dtype == case.a.dtype
    bound = tolerance(dtype, terms)
    np.testing.assert_allclose(got, expected, rtol=0, atol=bound, err_msg=case.equation)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 2, 3), (0, 1, 3)], ids=["small", "empty"])
def test_matches_einsum(dtype, sizes):
    rng = np.random.default_rng(7)
    for _ in range(60):
        check(random_case(rng, dtype, sizes), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matches_einsum_at_sizes_of_a_provider(dtype):
    rng = np.random.default_rng(8)
    for _ in range(20):
        check(random_case(rng, dtype, (1, 17, 24), ("x", "m", "n", "k")), dtype)
    for _ in range(10):
        check(random_case(rng, dtype, (1, 5, 8), ("x", "mn", "p", "uv")), dtype)


def plain(contract_a=(1,), contract_b=(0,), batch_a=(), batch_b=()):
    axes = {"contract_a": contract_a, "contract_b": contract_b, "batch_a": batch_a, "batch_b": batch_b}
    return {**axes, "conj_a": 0, "conj_b": 0}


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_transposed_operands_are_not_copied(transpose_a, transpose_b):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(40, 50)), rng.normal(size=(50, 60))
    x = asarray(a.T.copy().T if transpose_a else a)
    y = asarray(b.T.copy().T if transpose_b else b)
    with tn.observe() as calls:
        c = dot_general(x, y, **plain())
    assert calls.counts.get("gemm") == 1
    assert calls.copies.count == 0 and calls.fills.count == 0 and calls.materialisations.count == 0
    np.testing.assert_allclose(np.asarray(c), a @ b, rtol=1e-12, atol=1e-12)


def test_broadcast_batch_is_one_product():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(8, 30, 40)), rng.normal(size=(40, 50))
    x, y = asarray(a), asarray(np.broadcast_to(b, (8, 40, 50)))
    with tn.observe() as calls:
        c = dot_general(x, y, **plain((2,), (1,), (0,), (0,)))
    assert calls.counts.get("gemm") == 1
    assert calls.materialisations.count == 0
    np.testing.assert_allclose(np.asarray(c), a @ b, rtol=1e-12, atol=1e-12)


def test_axes_that_do_not_move_are_not_multiplied():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(64, 64))
    ones = asarray(np.broadcast_to(np.float64(1.0), (64, 64)))
    with tn.observe() as calls:
        c = np.asarray(dot_general(ones, asarray(a), **plain()))
    assert not calls.counts.get("gemm") and not calls.counts.get("gemv")
    assert c.strides[0] == 0
    np.testing.assert_allclose(c, np.ones((64, 64)) @ a, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "attrs", "error", "text"),
    [
        ((2, 3), (4, 5), plain(), ValueError, r"contracted axes \(1,\) of shape \(2, 3\)"),
        ((2, 3), (3, 5), plain(contract_a=(2,)), IndexError, "axis 2 of a"),
        ((2, 3), (3, 5), plain(batch_a=(0,)), ValueError, "batch axes"),
        ((2, 3), (3, 5), plain(contract_a=(1, 1), contract_b=(0, 1)), IndexError, "named twice"),
    ],
)
def test_errors(a, b, attrs, error, text):
    with pytest.raises(error, match=text):
        dot_general(asarray(np.zeros(a)), asarray(np.zeros(b)), **attrs)


def test_dtypes_must_agree():
    with pytest.raises(TypeError, match="dot_general: dtypes must agree, got float64 and float32"):
        dot_general(asarray(np.zeros((2, 2))), asarray(np.zeros((2, 2), np.float32)), **plain())
