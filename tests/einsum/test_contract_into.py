"""contract_into: products written into memory that is there, with alpha and beta."""

import numpy as np
import pytest

import taenite as tn

EQUATIONS = [
    ("ij,jk->ik", (5, 6), (6, 7)),
    ("ij,jk->ki", (50, 60), (60, 70)),
    ("bij,bjk->kbi", (3, 5, 6), (3, 6, 7)),
    ("i,i->i", (5,), (5,)),
    ("ij,ij->", (5, 600), (5, 600)),
    ("iji,jk->k", (5, 6, 5), (6, 7)),
    ("bi,bi->b", (40, 3), (40, 3)),
    ("ij,kl->jl", (3, 4), (5, 6)),
    ("i,j->ij", (20,), (30,)),
    ("ij,jk->ik", (4, 0), (0, 3)),
]
FACTORS = [(1.0, 0.0), (2.5, 0.0), (1.0, 1.0), (-1.5, 0.5)]


def numbers(rng, shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("equation, of_a, of_b", EQUATIONS)
def test_matches_einsum(equation, of_a, of_b, dtype):
    rng = np.random.default_rng(6)
    a, b = numbers(rng, of_a, dtype), numbers(rng, of_b, dtype)
    product = np.einsum(equation, a, b)
    bound = 50 * max(a.size, b.size) * np.finfo(dtype).eps
    for alpha, beta in FACTORS:
        if np.dtype(dtype).kind == "c":
            alpha, beta = alpha * (1 - 0.5j), beta * (0.5 + 1j)
        held = numbers(rng, product.shape, dtype)
        out = tn.asarray(held.copy())
        assert tn.contract_into(out, equation, a, b, alpha=alpha, beta=beta) is out
        np.testing.assert_allclose(np.asarray(out), alpha * product + beta * held, rtol=0, atol=bound)


def test_beta_zero_does_not_read_the_output():
    out = tn.full((20, 20), np.nan)
    tn.contract_into(out, "ij,jk->ik", tn.ones((20, 20)), tn.ones((20, 20)))
    np.testing.assert_array_equal(np.asarray(out), 20.0)
    tn.contract_into(out, "ij,jk->ik", tn.ones((20, 0)), tn.ones((0, 20)))
    np.testing.assert_array_equal(np.asarray(out), 0.0)


def test_writes_into_strides_and_nothing_else():
    whole = tn.zeros((40, 60))
    tn.contract_into(whole[1::2, ::-3], "ij,jk->ik", tn.ones((20, 7)), tn.ones((7, 20)))
    got = np.asarray(whole).copy()
    np.testing.assert_array_equal(got[1::2, ::-3], 7.0)
    got[1::2, ::-3] = 0
    assert not got.any()


def test_a_saved_tensor_that_was_written_is_noticed():
    x, out = tn.variable(tn.ones(3)), tn.ones(3)
    y = (x * out).sum()
    tn.contract_into(out, "i,i->i", tn.ones(3), tn.ones(3))
    with pytest.raises(RuntimeError, match="modified in place"):
        y.backward()


def test_integers_take_plain_factors():
    out = tn.ones((2, 2), dtype=tn.int64)
    eye = tn.eye(2, dtype=tn.int64)
    tn.contract_into(out, "ij,jk->ik", eye, eye, beta=1)
    np.testing.assert_array_equal(np.asarray(out), np.ones((2, 2)) + np.eye(2))
    with pytest.raises(ValueError, match=r"contract_into: alpha and beta must be 1, and 0 or 1"):
        tn.contract_into(out, "ij,jk->ik", eye, eye, alpha=2)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16", "bool", "float64"])
def test_repeated_terms_are_counted_once_beside_what_is_there(dtype):
    a = np.broadcast_to(np.asarray([[3], [1]], dtype), (2, 300))
    b = np.broadcast_to(np.asarray([[1, 7]], dtype), (300, 2))
    out = np.ones((2, 2), dtype)
    tn.contract_into(tn.asarray(out), "ij,jk->ik", tn.asarray(a), tn.asarray(b), beta=1.0)
    np.testing.assert_array_equal(out, (np.einsum("ij,jk->ik", a, b) + np.ones((2, 2), dtype)).astype(dtype))


@pytest.mark.parametrize(
    "out, kwargs, error, text",
    [
        (lambda x: tn.zeros((2, 3)), {}, ValueError, r"out must have the shape \(2, 2\), got \(2, 3\)"),
        (lambda x: tn.zeros((2, 2), dtype=tn.float32), {}, TypeError, "out must have the dtype"),
        (np.asarray, {}, TypeError, "out must be a Tensor, got ndarray"),
        (lambda x: x, {}, ValueError, "out shares memory with an operand"),
        (lambda x: tn.variable(tn.zeros((2, 2))) * 1.0, {}, ValueError, "a tracked tensor cannot be written"),
        (lambda x: tn.zeros((2, 2)), {"alpha": 1j}, ValueError, "must be real for real dtypes"),
        (lambda x: tn.broadcast_to(tn.zeros(2), (2, 2)), {}, ValueError, "repeats its memory"),
    ],
)
def test_refuses(out, kwargs, error, text):
    x = tn.ones((2, 2))
    with pytest.raises(error, match=text):
        tn.contract_into(out(x), "ij,jk->ik", x, x, **kwargs)


def test_refuses_tracked_operands():
    x = tn.variable(tn.ones((2, 2)))
    with pytest.raises(ValueError, match="an operand is tracked"):
        tn.contract_into(tn.zeros((2, 2)), "ij,jk->ik", x, x)
