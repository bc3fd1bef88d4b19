"""Dead code, by graphs before and after."""

from __future__ import annotations

from build import Builder, apply, assert_same, names

from taenite.graph.passes import dead


def test_dead_code_goes_and_effects_stay():
    b = Builder()
    x = b.input(3)
    b.call("exp", b.call("sin", x))
    y = b.call("cos", x)
    b.call("check_ties", y, y, y, lone_zeros=0)
    b.constant(1.0)
    after = apply(dead, b.graph(x))
    assert names(after) == ["cos", "check_ties"]
    assert not after.constants


def test_dead_outputs_are_not_demanded():
    b = Builder()
    x = b.input(3, 3)
    _, s, _ = b.call("svd", x, full=0)
    after = apply(dead, b.graph(s))
    assert after.instructions[0].mask == 0b010


def test_dead_keeps_hidden_outputs_that_are_read():
    b = Builder()
    x, y = b.input(3, 3), b.input(3)
    z, lu, pivots, _ = b.call("solve", x, y, raises=1, mask=0b1111)
    after = apply(dead, b.graph(z, b.call("solve_with", x, lu, pivots, y, transposed=1, conjugated=0)))
    assert after.instructions[0].mask == 0b0111


def test_dead_keeps_what_only_lends_its_shape():
    b = Builder()
    x, z = b.input(3), b.input()
    y = b.call("concatenate", x, x, axis=0)
    b.call("exp", y)
    before = b.graph(b.call("full", z, sizes=(b.dim(y, 0),)))
    after = apply(dead, before)
    assert names(after) == ["concatenate", "full"]
    assert_same(before, after)


def test_dead_keeps_what_a_guard_reads():
    b = Builder()
    x = b.input(3)
    y = b.call("concatenate", x, x, axis=0)
    b.guard("lt", b.dim(x, 0), b.dim(y, 0))
    assert names(apply(dead, b.graph(x))) == ["concatenate"]


def test_dead_sizes_go():
    b = Builder()
    x = b.input(3, 4)
    b.dim(x, 0)
    n = b.times(b.dim(x, 0), b.dim(x, 1))
    b.size(7)
    before = b.graph(b.call("reshape", x, sizes=(n,)))
    after = apply(dead, before)
    assert [e.op for e in after.sizes] == ["dim", "dim", "mul"]
    assert_same(before, after)
