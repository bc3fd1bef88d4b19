"""Variables and backward: accumulation, release, seeds, versions, memory, and chains of any length."""

import gc
import threading
import warnings

import numpy as np
import pytest

import taenite as tn


def test_gradients_accumulate_until_reset():
    x = tn.variable([1.0, 2.0])
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    x.grad = None
    (x * 3.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_held_gradient_is_not_changed_by_the_next_backward():
    x = tn.variable([1.0, 2.0])
    (x * x).sum().backward()
    held = x.grad
    (x * x).sum().backward()
    assert held.tolist() == [2.0, 4.0]


def test_one_operand_used_twice_and_one_leaf_reached_twice():
    x = tn.variable(3.0)
    y = x * x + x
    y.backward()
    assert x.grad.item() == 7.0


def test_second_backward_needs_retain_graph():
    x = tn.variable([1.0, 2.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_seed():
    x = tn.variable([1.0, 2.0])
    y = x * x
    with pytest.raises(ValueError, match=r"one element, got shape \(2,\)"):
        y.backward()
    with pytest.raises(ValueError, match=r"seed must have the shape of the output, \(2,\), got \(3,\)"):
        y.backward(tn.asarray([1.0, 2.0, 3.0]))
    y.backward(tn.asarray([1.0, 10.0]))
    assert x.grad.tolist() == [2.0, 40.0]


def test_complex_loss_needs_a_seed():
    z = tn.variable(np.array(3 + 4j))
    with pytest.raises(TypeError, match="a loss must be real, got complex128"):
        (z * z).backward()


def test_gradient_of_a_complex_variable_is_the_steepest_ascent():
    z = tn.variable(np.array(3 + 4j))
    (z.real * z.real + z.imag * z.imag).backward()
    assert z.grad.item() == 6 + 8j


def test_only_variables_have_a_gradient():
    x = tn.variable([1.0])
    y = x * 2.0
    assert y.grad is None
    with pytest.raises(ValueError, match="only a variable has one"):
        y.grad = tn.asarray([1.0])
    with pytest.raises(ValueError, match=r"shape \(1,\) and dtype float64"):
        x.grad = tn.asarray([1.0, 2.0])


def test_integers_are_no_variables():
    with pytest.raises(TypeError, match="floating-point dtype, got int64"):
        tn.variable([1, 2])


def test_backward_without_variables():
    with pytest.raises(ValueError, match="does not depend on a variable"):
        tn.asarray([1.0]).sum().backward()


def test_detach_shares_memory_and_forgets():
    x = tn.variable([1.0, 2.0])
    y = x * 1.0
    d = y.detach()
    assert not d.requires_grad
    assert x.requires_grad and y.requires_grad
    assert np.shares_memory(np.asarray(d), np.asarray(y.detach()))


def test_no_grad_as_context_and_decorator():
    x = tn.variable([1.0, 2.0])
    with tn.no_grad():
        assert not (x * x).requires_grad
        with tn.no_grad():
            assert not (x * x).requires_grad
        assert not (x * x).requires_grad
        assert tn.grad(lambda a: (a * a).sum())(x).tolist() == [2.0, 4.0]

    @tn.no_grad()
    def f(a):
        return a * a

    assert not f(x).requires_grad
    assert (x * x).requires_grad


def test_no_grad_is_for_one_thread():
    x = tn.variable([1.0])
    seen = []
    with tn.no_grad():
        worker = threading.Thread(target=lambda: seen.append((x * x).requires_grad))
        worker.start()
        worker.join()
    assert seen == [True]


def test_writing_to_a_saved_value_is_found():
    x = tn.variable([1.0, 2.0])
    a = tn.asarray(np.array([3.0, 4.0]))
    y = (x * a).sum()
    a[0] = 7.0
    with pytest.raises(RuntimeError, match=r"multiply saved .*modified in place"):
        y.backward()


def test_a_long_chain_differentiates_and_is_freed():
    x = tn.variable([1.0, 2.0])
    x.grad = tn.zeros(2)
    before = tn.pool.stats()["bytes_in_use"]
    y = x
    for _ in range(100_000):
        y = tn.sin(y)
    y.sum().backward()
    del y
    assert tn.pool.stats()["bytes_in_use"] == before


def test_a_long_chain_is_freed_without_backward():
    x = tn.variable([1.0, 2.0])
    before = tn.pool.stats()["bytes_in_use"]
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y
    assert tn.pool.stats()["bytes_in_use"] == before


def test_all_memory_returns_to_the_pool():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 64, 64))

    def work():
        x, y = tn.variable(a), tn.variable(b)
        loss = (tn.exp(x @ y * 1e-2) * x).sum() + tn.linalg.svdvals(x).sum()
        loss.backward()

    work()
    gc.collect()
    before = tn.pool.stats()["bytes_in_use"]
    work()
    gc.collect()
    assert tn.pool.stats()["bytes_in_use"] == before


def test_saved_values_go_with_backward():
    x = tn.variable(np.ones(1 << 16))
    before = tn.pool.stats()["bytes_in_use"]
    loss = tn.exp(x).sum()
    loss.backward()
    x.grad = None
    # What is left of the loss: its scalar, its node and that of exp.
    assert tn.pool.stats()["bytes_in_use"] - before < 16_384


def test_an_error_in_the_middle_leaves_nothing_stale():
    x = tn.variable([1.0, 2.0])
    a = tn.asarray(np.array([3.0, 4.0]))
    bad = ((x * x) * a).sum()
    a[0] = 5.0
    with pytest.raises(RuntimeError):
        bad.backward()
    assert x.grad is None
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_graphs_of_two_threads_do_not_meet():
    results = {}

    def work(seed):
        x = tn.variable(np.full(1000, float(seed)))
        y = x
        for _ in range(50):
            y = y * 1.01
        (y * y).sum().backward()
        results[seed] = x.grad.numpy()[0]

    workers = [threading.Thread(target=work, args=(s,)) for s in range(1, 9)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    for seed, g in results.items():
        np.testing.assert_allclose(g, 2 * seed * 1.01**100, rtol=1e-12)


def test_a_backward_inside_a_backward_is_refused(monkeypatch):
    """A warning of the running backward is where user code can get a word in."""
    x = tn.variable(np.diag([1.0, 1.0, 2.0]))
    u, s, vh = tn.linalg.svd(x, full_matrices=False)
    loss = ((u * s) @ vh * tn.asarray(np.arange(9.0).reshape(3, 3))).sum()

    def go_back_again(*args, **kwargs):
        (x * x).sum().backward()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", go_back_again)
        with pytest.raises(RuntimeError, match="inside a backward pass"):
            loss.backward()
    monkeypatch.undo()
    x.grad = None
    (x * x).sum().backward()
    assert x.grad.tolist() == np.diag([2.0, 2.0, 4.0]).tolist()
