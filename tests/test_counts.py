"""What a derivative costs in provider calls, fills, copies, Python calls and memory: numbers, no clocks."""

import gc
import sys

import numpy as np
import pytest

import taenite as tn

N = 64
FORBIDDEN = ("gesvd", "syevr")


def matrix(seed=0, n=N):
    """Well-conditioned, with distinct singular values."""
    return tn.asarray(np.random.default_rng(seed).standard_normal((n, n)) + n * np.eye(n))


def symmetric(n=N):
    a = np.random.default_rng(1).standard_normal((n, n))
    return tn.asarray(a + a.T)


def differentiate(loss, *inputs):
    leaves = [tn.variable(a) for a in inputs]
    with tn.observe() as calls:
        loss(*leaves).backward()
    assert not any(calls.counts[name] for name in FORBIDDEN)
    return calls


def test_svdvals_is_one_gesdd():
    calls = differentiate(lambda a: tn.sum(tn.linalg.svdvals(a)), matrix())
    assert calls.counts["gesdd"] == 1
    assert calls.counts["gemm"] <= 1


@pytest.mark.parametrize("columns", [(), (3,)])
def test_solve_is_one_getrf_and_two_getrs(columns):
    b = tn.asarray(np.ones((N, *columns)))
    calls = differentiate(lambda a, b: tn.sum(tn.linalg.solve(a, b)), matrix(), b)
    assert (calls.counts["getrf"], calls.counts["getrs"]) == (1, 2)


def test_eigvalsh_is_one_syevd_and_at_most_one_gemm():
    calls = differentiate(lambda a: tn.sum(tn.linalg.eigvalsh(a)), symmetric())
    assert calls.counts["syevd"] == 1
    assert calls.counts["gemm"] <= 1


def test_a_matrix_product_is_three_gemm():
    w = matrix(2)
    calls = differentiate(lambda a, b: tn.sum(w * (a @ b)), matrix(0), matrix(1))
    assert calls.counts["gemm"] == 3


def test_cholesky_is_one_potrf():
    a = matrix()
    calls = differentiate(lambda a: tn.sum(tn.linalg.cholesky(a)), tn.asarray(np.asarray(a @ a.T)))
    assert calls.counts["potrf"] == 1


def test_qr_is_one_geqrf_and_one_orgqr():
    calls = differentiate(lambda a: sum(tn.sum(x) for x in tn.linalg.qr(a)), matrix())
    assert (calls.counts["geqrf"], calls.counts["orgqr"]) == (1, 1)


@pytest.mark.parametrize("function", ["inv", "det", "slogdet"])
def test_what_an_lu_answers_is_one_getrf(function):
    def loss(a):
        result = getattr(tn.linalg, function)(a)
        return tn.sum(result[1] if isinstance(result, tuple) else result)

    assert differentiate(loss, matrix()).counts["getrf"] == 1


def test_a_second_order_solve_still_factors_once():
    a, b = matrix(), tn.asarray(np.ones(N))

    def loss(x):
        return tn.sum(tn.linalg.solve(x, b))

    with tn.observe() as calls:
        tn.grad(lambda x: tn.sum(tn.grad(loss)(x) ** 2))(a)
    assert calls.counts["getrf"] == 1


LOSSES = {
    "matmul": lambda a, b: tn.sum(a @ b),
    "transposed": lambda a, b: tn.sum(a.T @ b.T),
    "solve": lambda a, b: tn.sum(tn.linalg.solve(a, b)),
    "svdvals": lambda a, b: tn.sum(tn.linalg.svdvals(a)) + tn.sum(b),
}


@pytest.mark.parametrize("name", LOSSES)
def test_nothing_is_filled_that_will_be_overwritten(name):
    assert differentiate(LOSSES[name], matrix(0), matrix(1)).fills.count == 0


@pytest.mark.parametrize("name", ["matmul", "transposed"])
def test_a_transposed_operand_is_a_flag_and_never_a_copy(name):
    calls = differentiate(LOSSES[name], matrix(0), matrix(1))
    assert calls.copies.count == 0 and calls.materialisations.count == 0


def python_calls(function):
    """How many Python functions run inside `function`, itself left out."""
    count = 0

    def profile(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count - 1


@pytest.mark.parametrize("name", LOSSES)
def test_a_second_backward_of_the_same_kind_runs_no_python(name):
    a, b = tn.variable(matrix(0)), tn.variable(matrix(1))
    LOSSES[name](a, b).backward()
    loss = LOSSES[name](a, b)
    assert python_calls(lambda: loss.backward()) == 0


def test_python_calls_are_counted():
    assert python_calls(lambda: len([f() for f in (lambda: 1, lambda: 2)])) >= 2


def bytes_in_use():
    gc.collect()
    return tn.pool.stats()["bytes_in_use"]


@pytest.mark.parametrize("name", LOSSES)
def test_all_memory_is_back_after_backward_and_del(name):
    def run():
        a, b = tn.variable(matrix(0)), tn.variable(matrix(1))
        loss = LOSSES[name](a, b)
        loss.backward()

    run()
    before = bytes_in_use()
    run()
    assert bytes_in_use() == before


def test_all_memory_is_back_after_a_graph_that_was_never_differentiated():
    before = bytes_in_use()
    x = tn.variable(matrix())
    y = tn.linalg.solve(x, x @ x)
    del x, y
    assert bytes_in_use() == before


def test_all_memory_is_back_after_an_error_in_backward():
    def run():
        x = tn.variable(tn.asarray(np.array([[1 + 2j, 3 - 1j], [0.5j, 2]])))
        with pytest.raises(tn.errors.GaugeError):
            tn.real(tn.linalg.svd(x)[0][0, 0]).backward()

    run()
    before = bytes_in_use()
    run()
    assert bytes_in_use() == before


def test_a_chain_of_100_000_operations_differentiates_and_is_freed():
    before = bytes_in_use()
    x = tn.variable(tn.asarray(np.array(1.0)))
    y = x
    for _ in range(100_000):
        y = y * 1.00001
    y.backward()
    assert float(x.grad) == pytest.approx(1.00001**100_000, rel=1e-9)
    del x, y
    assert bytes_in_use() == before
