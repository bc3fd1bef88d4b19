"""All passes together, by graphs before and after."""

from __future__ import annotations

import numpy
from build import Builder, assert_same, names, run

from taenite.graph.check import check
from taenite.graph.ir import Graph
from taenite.graph.passes import DEFAULT, optimize


def gradient_of_a_chain() -> Graph:
    """exp(-(x a + b)^2) summed, and its gradient, as a trace would have it."""
    b = Builder()
    x, a, c = b.input(6, 7), b.input(), b.input()
    two, one = b.constant(2.0), b.constant(1.0)
    u = b.call("add", b.call("multiply", x, a), c)
    y = b.call("exp", b.call("negative", b.call("square", u)))
    s = b.call("sum", y, axes=(0, 1))
    g = b.call("broadcast_in_dim", one, sizes=b.dims(y), axes=())
    g = b.call("negative", b.call("multiply", g, y))
    g = b.call("multiply", g, b.call("multiply", two, u))
    return b.graph(s, b.call("multiply", g, a), b.call("sum", b.call("multiply", g, x), axes=(0, 1)))


def test_value_and_gradient_are_one_group():
    before = gradient_of_a_chain()
    after = optimize(before)
    check(after)
    assert after.groups == ((0, len(after.instructions)),)
    assert names(after).count("multiply") == names(before).count("multiply") - 1
    assert_same(before, after)


def test_other_sizes_than_those_of_the_trace():
    before = gradient_of_a_chain()
    after = optimize(before)
    inputs = [numpy.linspace(-1, 1, 10).reshape(5, 2), 0.5, 0.25]
    for x, y in zip(run(before, *inputs), run(after, *inputs), strict=True):
        numpy.testing.assert_array_equal(y, x)


def test_each_pass_leaves_an_optimised_graph_alone():
    after = optimize(gradient_of_a_chain())
    for one in DEFAULT[:-1]:
        assert one(after).instructions == after.instructions


def test_passes_are_checked_where_the_environment_says_so(monkeypatch):
    checked = []
    monkeypatch.delenv("TAENITE_CHECK_GRAPHS", raising=False)
    monkeypatch.setattr("taenite.graph.passes.check", checked.append)
    optimize(gradient_of_a_chain())
    assert not checked
    monkeypatch.setenv("TAENITE_CHECK_GRAPHS", "1")
    optimize(gradient_of_a_chain())
    assert len(checked) == len(DEFAULT)
