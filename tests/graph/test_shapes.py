"""Sizes in terms of inputs, and scalars that were spread, by graphs before and after."""

from __future__ import annotations

import numpy
import pytest
from build import Builder, apply, assert_same, names, run

from taenite.graph.passes import dead, shapes


def test_shapes_in_terms_of_inputs():
    b = Builder()
    x, y, one = b.input(3, 4), b.input(4, 5), b.constant(1.0)
    p = b.dot(x, y, (1,), (0,))
    t = b.call("transpose", b.call("exp", p), perm=(1, 0))
    s = b.call("sum", t, axes=(0,))
    after = apply(shapes, b.graph(b.call("full", one, sizes=(*b.dims(t), *b.dims(s)))))
    (last,) = [i for i in after.instructions if i.primitive == "full"]
    sizes = [after.sizes[k] for k in last.sizes]
    assert [(e.op, e.a, e.b) for e in sizes] == [("dim", y, 1), ("dim", x, 0), ("dim", x, 0)]


def test_shapes_that_may_broadcast_stay():
    b = Builder()
    x, y, one = b.input(3, 4), b.input(4), b.constant(1.0)
    s = b.call("add", x, y)
    before = b.graph(b.call("full", one, sizes=b.dims(s)))
    after = apply(shapes, before)
    last = after.instructions[-1]
    assert [after.sizes[k].a for k in last.sizes] == [x, s]
    for arrays in ((numpy.ones((3, 1)), numpy.ones(4)), (numpy.ones((3, 4)), numpy.ones(1))):
        assert run(after, *arrays)[0].shape == run(before, *arrays)[0].shape == (3, 4)


def test_shapes_of_guards():
    b = Builder()
    x = b.input(3)
    b.guard("lt", b.dim(b.call("exp", x), 0), b.size(5))
    after = apply(shapes, b.graph(x))
    assert after.sizes[after.guards[0].lhs].a == x


UNCHANGED = {
    "reshape": lambda b, x: b.call("reshape", x, sizes=b.dims(x)),
    "broadcast": lambda b, x: b.call("broadcast_in_dim", x, sizes=b.dims(x), axes=(0, 1)),
    "sum_to": lambda b, x: b.call("sum_to", x, sizes=b.dims(x)),
    "of the same shape": lambda b, x: b.call("reshape", x, sizes=b.dims(b.call("exp", x))),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_shapes_that_are_there_already(name):
    b = Builder()
    x = b.input(3, 4)
    after = apply(shapes, b.graph(UNCHANGED[name](b, x)))
    assert after.outputs == (x,)


def test_shapes_that_agree_by_chance_are_kept():
    b = Builder()
    x, y = b.input(3, 4), b.input(3, 4)
    before = b.graph(b.call("broadcast_in_dim", x, sizes=b.dims(y), axes=(0, 1)))
    after = apply(shapes, before)
    assert names(after) == ["broadcast_in_dim"]
    assert run(after, numpy.ones((1, 4)), numpy.ones((2, 4)))[0].shape == (2, 4)


def test_a_spread_scalar_meets_a_tensor_of_that_shape():
    b = Builder()
    g, x = b.input(), b.input(3, 4)
    y = b.call("exp", x)
    spread = b.call("broadcast_in_dim", g, sizes=b.dims(y), axes=())
    before = b.graph(b.call("multiply", b.call("negative", spread), y))
    after = dead.run(apply(shapes, before))
    assert names(after) == ["exp", "negative", "multiply"]
    assert after.types[after.instructions[1].outputs[0]].shape == ()
    assert_same(before, after)


def test_a_spread_scalar_stays_where_it_decides_the_shape():
    b = Builder()
    g, x, y = b.input(), b.input(3, 4), b.input(3, 4)
    spread = b.call("full", g, sizes=b.dims(y))
    before = b.graph(b.call("multiply", spread, x))
    after = apply(shapes, before)
    assert names(after) == ["full", "multiply"]
    assert run(after, 2.0, numpy.ones((1, 4)), numpy.ones((2, 4)))[0].shape == (2, 4)


def test_an_output_of_spread_scalars_is_dense():
    b = Builder()
    g, x = b.input(), b.input(3, 4)
    spread = b.call("broadcast_in_dim", g, sizes=b.dims(x), axes=())
    before = b.graph(b.call("transpose", b.call("exp", spread), perm=(1, 0)), b.call("sin", spread))
    after = dead.run(apply(shapes, before))
    assert names(after) == ["exp", "full", "sin", "full"]
    assert_same(before, after)
