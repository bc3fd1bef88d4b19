"""Products: against NumPy, their counts of provider calls, and their errors."""

import numpy as np
import pytest

import taenite as tn

RNG = np.random.default_rng(4)


def numbers(shape, dtype="float64"):
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((5, 2, 3), (5, 3, 4)),
    ((6, 1, 2, 3), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 40, 30), (30, 50)),
    ((40, 30), (5, 30, 50)),
    ((5, 40, 30), (5, 30, 50)),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_matmul(shapes, dtype):
    a, b = (numbers(s, dtype) for s in shapes)
    expected = a @ b
    bound = 0 if dtype == "int64" else 64 * max(shapes[0][-1], 1) * np.finfo(dtype).eps
    for got in (tn.asarray(a) @ tn.asarray(b), tn.matmul(a, b), tn.asarray(a) @ b, a @ tn.asarray(b)):
        assert got.shape == expected.shape
        np.testing.assert_allclose(np.asarray(got), expected, rtol=0, atol=bound)


def test_matmul_promotes():
    y = tn.matmul(numbers((2, 3), "float32"), numbers((3, 2), "complex64"))
    assert y.dtype is tn.complex64
    assert (tn.ones((2, 2), dtype="int8") @ tn.ones((2, 2))).dtype is tn.float64


@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_forward_and_backward_of_a_matrix_product_are_three_gemms(transposed):
    a, b, w = (tn.asarray(numbers((40, 40))) for _ in range(3))
    a, b = (x.mT.copy().mT if t else x for x, t in zip((a, b), transposed, strict=True))
    x, y = tn.variable(a), tn.variable(b)
    (w * (x @ y)).sum().backward()
    x.grad = y.grad = None
    with tn.observe() as seen:
        (w * (x @ y)).sum().backward()
    assert seen.counts["gemm"] == 3
    assert seen.copies.count == seen.fills.count == seen.materialisations.count == 0
    w, a, b = (np.asarray(t) for t in (w, a, b))
    bound = 64 * 40 * np.finfo(float).eps
    np.testing.assert_allclose(np.asarray(x.grad), w @ b.T, rtol=0, atol=bound)
    np.testing.assert_allclose(np.asarray(y.grad), a.T @ w, rtol=0, atol=bound)


def test_batched_backward_makes_no_copies():
    x, y = tn.variable(tn.asarray(numbers((6, 40, 40)))), tn.variable(tn.asarray(numbers((40, 40))))
    w = tn.asarray(numbers((6, 40, 40)))
    with tn.observe() as seen:
        (w * (x @ y)).sum().backward()
    assert seen.counts["gemm"] == 3
    assert seen.copies.count == seen.materialisations.count == 0


@pytest.mark.parametrize("axes", [0, 1, 2, ((0, 2), (2, 0)), ((-1,), (-1,))], ids=str)
def test_tensordot(axes):
    a, b = numbers((4, 3, 5)), numbers((5, 3, 4))
    if axes == 2:
        b = numbers((3, 5, 2))
    if axes == ((-1,), (-1,)):
        b = numbers((2, 5))
    np.testing.assert_allclose(
        np.asarray(tn.tensordot(a, b, axes=axes)), np.tensordot(a, b, axes), atol=1e-13
    )


def test_vector_products():
    a, b = numbers((3, 1, 5), "complex128"), numbers((4, 5), "complex128")
    close = lambda got, expected: np.testing.assert_allclose(np.asarray(got), expected, atol=1e-13)  # noqa: E731
    close(tn.vecdot(a, b), np.vecdot(a, b))
    close(tn.vecdot(a, a, axis=0), np.vecdot(a, a, axis=0))
    close(tn.vecdot(b[0], b[1]), np.vdot(b[0], b[1]))
    close(tn.inner(a, b), np.inner(a, b))
    close(tn.inner(2.0, b), 2 * b)
    close(tn.outer(b[0], b[1]), np.outer(b[0], b[1]))
    close(tn.dot(a, b.T), np.dot(a, b.T))
    close(tn.dot(a, b[0]), np.dot(a, b[0]))
    close(tn.trace(a.reshape(5, 3, 1), offset=-1), np.trace(a.reshape(5, 3, 1), -1, -2, -1))


@pytest.mark.parametrize("shapes", [s for s in SHAPES if 0 not in s[0]], ids=str)
def test_gradient_of_matmul(shapes):
    a, b = (numbers(s, "complex128") for s in shapes)
    g = numbers((a @ b).shape, "complex128")
    x, y = tn.variable(tn.asarray(a)), tn.variable(tn.asarray(b))
    (x @ y).backward(tn.asarray(g))
    da, db = numbers(a.shape, "complex128"), numbers(b.shape, "complex128")
    pairing = lambda u, v: np.sum(np.conj(u) * v).real  # noqa: E731
    bound = 1e-10 if a.size > 1000 else 1e-12
    assert (
        abs(pairing(g, da @ b) - pairing(np.asarray(x.grad), da))
        < bound * np.linalg.norm(g) * np.linalg.norm(da) * 10
    )
    assert (
        abs(pairing(g, a @ db) - pairing(np.asarray(y.grad), db))
        < bound * np.linalg.norm(g) * np.linalg.norm(db) * 10
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tn.ones((2, 3)) @ tn.ones((2, 3)), ValueError, r"got shapes \(2, 3\) and \(2, 3\)"),
        (lambda: tn.ones((2, 3)) @ tn.ones(2), ValueError, "the only axis of x2"),
        (lambda: tn.ones((2, 2, 3)) @ tn.ones((3, 3, 2)), ValueError, "do not broadcast"),
        (lambda: tn.ones(2) @ tn.ones(()), ValueError, "at least 1 axis"),
        (lambda: tn.ones(2) @ "text", TypeError, "unsupported operand"),
        (lambda: tn.tensordot(tn.ones(2), tn.ones(2), axes=2), ValueError, "axes=2 does not fit"),
        (lambda: tn.trace(tn.ones(2)), IndexError, "diagonal: axis -2"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()
