"""Common subexpressions, by graphs before and after."""

from __future__ import annotations

from build import Builder, apply, assert_same, names

import taenite as tn
from taenite.graph.passes import cse


def test_cse_equal_calls_and_what_follows_from_them():
    b = Builder()
    x = b.input(3)
    y, z = b.call("exp", x), b.call("exp", x)
    before = b.graph(b.call("multiply", b.call("sin", y), b.call("sin", z)))
    after = apply(cse, before)
    assert names(after) == ["exp", "sin", "multiply"]
    assert_same(before, after)


def test_cse_of_operands_in_the_other_order():
    b = Builder()
    x, y = b.input(3), b.input(3)
    z, w = b.input(3, dtype=tn.complex128), b.input(3, dtype=tn.complex128)
    before = b.graph(*[b.call("multiply", *pair) for pair in ((x, y), (y, x), (z, w), (w, z))])
    after = apply(cse, before)
    assert [i.inputs for i in after.instructions] == [(x, y), (z, w), (w, z)]
    assert_same(before, after)


def test_cse_compares_sizes_by_structure():
    b = Builder()
    x = b.input(3, 4)
    y, z = b.call("exp", x), b.call("exp", x)
    n, m = b.times(b.dim(y, 0), b.dim(y, 1)), b.times(b.dim(z, 0), b.dim(z, 1))
    other = b.times(b.dim(y, 1), b.dim(y, 0))
    rows = [b.call("reshape", y, sizes=(s,)) for s in (n, m, other)]
    after = apply(cse, b.graph(*rows))
    assert names(after) == ["exp", "reshape", "reshape"]
    assert after.outputs[0] == after.outputs[1] != after.outputs[2]


def test_cse_shares_a_factorization():
    b = Builder()
    x = b.input(3, 3)
    _, s, _ = b.call("svd", x, full=0, mask=0b010)
    u, t, v = b.call("svd", x, full=0)
    after = apply(cse, b.graph(s, u, t, v))
    assert [(i.primitive, i.mask) for i in after.instructions] == [("svd", 0b111)]
    assert after.outputs[0] == after.outputs[2]


def test_cse_widens_no_mask_that_is_alone():
    b = Builder()
    x, y = b.input(3, 3), b.input(3, 3)
    values = [b.call("svd", z, full=0, mask=0b010)[1] for z in (x, x, y)]
    after = apply(cse, b.graph(*values))
    assert [i.mask for i in after.instructions] == [0b010, 0b010]


def test_cse_keeps_other_attributes_apart():
    b = Builder()
    x = b.input(3, 4)
    sums = [b.call("sum", x, axes=axes) for axes in ((0,), (1,), (0,))]
    assert names(apply(cse, b.graph(*sums))) == ["sum", "sum"]


def test_cse_of_effects_asks_for_the_same_line():
    b = Builder()
    x = b.input(3)
    for line in ("a.py:1", "a.py:1", "a.py:2"):
        b.call("check_ties", x, x, x, lone_zeros=0, source=line)
    assert [i.source for i in apply(cse, b.graph(x)).instructions] == ["a.py:1", "a.py:2"]


def test_cse_of_constants_by_their_bits():
    b = Builder()
    x = b.input(3)
    values = [b.constant(0.0), b.constant(-0.0), b.constant(0.0), b.constant(0.0, tn.float32)]
    before = b.graph(*[b.call("add", x, c) for c in values])
    after = apply(cse, before)
    assert len(after.constants) == 3
    assert names(after) == ["add"] * 3
    assert_same(before, after)


def test_cse_of_guards():
    b = Builder()
    x = b.input(3)
    y, z = b.call("exp", x), b.call("exp", x)
    b.guard("le", b.dim(y, 0), b.dim(z, 0))
    after = apply(cse, b.graph(z))
    assert after.guards[0].lhs == after.guards[0].rhs
