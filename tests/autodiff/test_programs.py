"""Rules as programs: traced once, valid at every size, with nothing saved that they do not read."""

import numpy as np
import pytest

import taenite as tn
from taenite import _core


def traces():
    return _core.rule_stats()[1]


def test_a_second_size_needs_no_second_trace():
    def work(n):
        x = tn.variable(np.linspace(0.0, 1.0, n))
        (tn.sin(x) * x).sum().backward()
        return x.grad.numpy()

    work(3)
    before = traces()
    for n in (1, 2, 7, 100):
        t = np.linspace(0.0, 1.0, n)
        np.testing.assert_allclose(work(n), np.cos(t) * t + np.sin(t), rtol=1e-14)
    assert traces() == before


def test_broadcasting_is_no_part_of_the_key():
    def work(shape):
        x = tn.variable(np.ones(shape))
        y = tn.variable(np.full((4, 3), 2.0))
        (x * y).sum().backward()
        return x.grad.numpy()

    work((4, 3))
    before = traces()
    assert work((1, 3)).tolist() == [[8.0, 8.0, 8.0]]
    assert work((4, 1)).tolist() == [[6.0]] * 4
    assert traces() == before


def test_only_what_the_rule_reads_is_saved():
    x = tn.variable(np.ones(1 << 16))
    a = tn.asarray(np.full(1 << 16, 2.0))
    before = tn.pool.stats()["bytes_in_use"]
    y = x + a
    z = y + a
    del y
    # The sum of the first addition is read by nobody, so it is gone.
    assert tn.pool.stats()["bytes_in_use"] - before < 1.1 * 8 * (1 << 16)
    assert z.requires_grad


def test_programs_print_themselves():
    x = tn.variable([1.0, 2.0])
    tn.exp(x).sum().backward()
    listing = _core.show_rules("exp")
    assert "vjp of exp" in listing
    assert "multiply" in listing


def test_guards_keep_variants_apart():
    """qr of tall and of wide matrices follow different formulas."""
    for shape in ((4, 3), (3, 4), (5, 2), (2, 5)):
        a = np.random.default_rng(1).standard_normal(shape)
        g = tn.grad(lambda x: (tn.linalg.qr(x).R ** 2).sum())(a).numpy()
        # ||R||^2 = ||A||^2
        np.testing.assert_allclose(g, 2 * a, rtol=1e-10, atol=1e-12)


def test_a_missing_rule_is_an_error_when_it_is_recorded():
    from taenite.primitive import REGISTRY

    record = REGISTRY.pop("cosh")
    try:
        # A rank that no other test uses, so that no traced rule is at hand.
        x = tn.variable(np.ones((1,) * 7))
        with pytest.raises(NotImplementedError, match="cosh"):
            tn.cosh(x)
    finally:
        REGISTRY["cosh"] = record
