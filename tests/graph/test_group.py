"""Groups of elementwise instructions and their reductions, by graphs before and after."""

from __future__ import annotations

import pytest
from build import Builder, apply, assert_same, names

import taenite as tn
from taenite.graph.ir import Graph
from taenite.graph.passes import group


def members(graph: Graph) -> list[list[str]]:
    return [names(graph)[first:last] for first, last in graph.groups]


def test_a_chain_and_its_sum_are_a_group():
    b = Builder()
    x, a = b.input(4, 5), b.input()
    y = b.call("exp", b.call("multiply", x, a))
    before = b.graph(
        b.call("sum", y, axes=(0, 1)), b.call("sum", y, axes=(0,)), b.call("sum_to", y, sizes=())
    )
    after = apply(group, before)
    assert members(after) == [["multiply", "exp", "sum", "sum_to"]]
    assert names(after)[-1] == "sum"
    assert_same(before, after)


@pytest.mark.parametrize("name", ["max", "min", "prod"])
def test_other_reductions_end_a_group(name):
    b = Builder()
    x = b.input(4, 5)
    y = b.call("abs", x)
    whole, rows = b.call(name, y, axes=(0, 1)), b.call(name, y, axes=(1,))
    assert members(apply(group, b.graph(whole, rows))) == [["abs", name]]


def test_members_come_together_past_others():
    b = Builder()
    x, m = b.input(4, 4), b.input(4, 4)
    e = b.call("exp", x)
    p = b.dot(m, m, (1,), (0,))
    q = b.call("sin", b.call("multiply", e, p))
    r = b.dot(q, m, (1,), (0,))
    before = b.graph(b.call("add", r, b.call("cos", e)))
    after = apply(group, before)
    assert members(after) == [["exp", "multiply", "sin", "cos"]]
    assert names(after) == ["dot_general", "exp", "multiply", "sin", "cos", "dot_general", "add"]
    assert_same(before, after)


def test_what_reads_a_reduction_is_not_in_its_group():
    b = Builder()
    x = b.input(4)
    s = b.call("sum", b.call("exp", x), axes=(0,))
    before = b.graph(b.call("negative", b.call("divide", x, s)))
    after = apply(group, before)
    assert members(after) == [["exp", "sum"], ["divide", "negative"]]
    assert_same(before, after)


def test_shapes_and_dtypes_that_do_not_group():
    b = Builder()
    x, row, n = b.input(4, 5), b.input(5), b.input(4, 5, dtype=tn.int64)
    before = b.graph(b.call("add", x, row), b.call("negative", b.call("add", n, n)), b.call("exp", row))
    assert apply(group, before).groups == ()


def test_comparisons_group_with_what_they_choose():
    b = Builder()
    x, zero = b.input(4), b.constant(0.0)
    before = b.graph(b.call("where", b.call("greater", x, zero), b.call("sqrt", x), zero))
    assert members(apply(group, before)) == [["greater", "sqrt", "where"]]


@pytest.mark.parametrize("n", [4, 5])
def test_what_nothing_links_are_two_groups(n):
    """Of one shape while tracing, but not at other sizes."""
    b = Builder()
    x, y = b.input(4), b.input(n)
    results = [b.call(name, z) for name in ("exp", "sin") for z in (x, y)]
    after = apply(group, b.graph(*results))
    assert members(after) == [["exp", "sin"], ["exp", "sin"]]


def test_a_later_link_makes_one_group():
    b = Builder()
    x, y = b.input(4), b.input(4)
    before = b.graph(b.call("add", b.call("exp", x), b.call("sin", y)))
    assert members(apply(group, before)) == [["exp", "sin", "add"]]


def test_scalars_group():
    b = Builder()
    x, y = b.input(), b.input()
    assert members(apply(group, b.graph(b.call("exp", x), b.call("sin", y)))) == [["exp", "sin"]]


def test_effects_keep_their_order_and_their_place_behind_what_they_read():
    b = Builder()
    x = b.input(3)
    y = b.call("exp", x)
    b.call("check_ties", y, y, y, lone_zeros=0, source="a.py:1")
    z = b.call("sin", x)
    b.call("check_ties", z, z, z, lone_zeros=1, source="a.py:2")
    after = apply(group, b.graph(z))
    assert [i.source for i in after.instructions] == ["", "", "a.py:1", "a.py:2"]
    assert members(after) == [["exp", "sin"]]


def test_members_do_not_wait_for_ever():
    """A sum of products is added up as they come: they are not all alive at once."""
    b = Builder()
    x = b.input(4, 4)
    total, p = x, x
    for _ in range(40):
        p = b.dot(p, x, (1,), (0,))
        total = b.call("add", total, p)
    before = b.graph(total)
    after = apply(group, before)
    waiting = [0]
    for i in after.instructions:
        waiting.append(waiting[-1] + (1 if i.primitive == "dot_general" else -1))
    assert max(waiting) <= 10
    assert_same(before, after)


def test_members_are_not_made_long_before_they_are_read():
    b = Builder()
    x = b.input(4, 4)
    p = y = b.call("exp", x)
    for _ in range(40):
        p = b.dot(p, x, (1,), (0,))
    before = b.graph(b.dot(p, b.call("sin", y), (1,), (0,)))
    assert names(apply(group, before)).index("sin") > 20
