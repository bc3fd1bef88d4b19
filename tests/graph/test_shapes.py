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


def of_last(graph):
    """What the sizes of the last instruction are: op, register or number, axis."""
    return [(e.op, e.a, e.b) for e in (graph.sizes[k] for k in graph.instructions[-1].sizes)]


def test_axes_that_are_broadcast_take_the_other_size():
    b = Builder()
    x, y, z, one = b.input(3, 1), b.input(4), b.input(3, 4), b.constant(1.0)
    s = b.call("add", b.call("add", x, y), z)
    after = apply(shapes, b.graph(b.call("full", one, sizes=b.dims(s))))
    assert of_last(after) == [("dim", x, 0), ("dim", y, 0)]


def test_sizes_that_must_be_equal_are_one():
    b = Builder()
    x, y, z, one = b.input(3, 4), b.input(3, 4), b.input(5, 4), b.constant(1.0)
    b.call("add", x, y)
    b.dot(y, z, (1,), (1,))
    after = apply(shapes, b.graph(b.call("full", one, sizes=(*b.dims(y), b.dim(z, 1)))))
    assert of_last(after) == [("dim", x, 0), ("dim", x, 1), ("dim", x, 1)]


def test_sizes_that_must_be_a_number_are_one():
    b = Builder()
    x, one, c = b.input(3), b.constant(1.0), b.constant([1.0, 2.0, 3.0])
    b.call("add", x, c)
    after = apply(shapes, b.graph(b.call("full", one, sizes=b.dims(x))))
    assert of_last(after) == [("const", 3, 0)]


def test_sizes_that_a_guard_makes_equal_are_one_and_the_guard_stays():
    b = Builder()
    x, y, one = b.input(3), b.input(3), b.constant(1.0)
    b.guard("eq", b.dim(x, 0), b.dim(y, 0))
    b.guard("lt", b.dim(x, 0), b.size(7))
    after = apply(shapes, b.graph(b.call("full", one, sizes=b.dims(y))))
    assert of_last(after) == [("dim", x, 0)]
    assert [(after.sizes[g.lhs].a, after.sizes[g.rhs].a) for g in after.guards] == [(x, y), (x, 7)]


def test_a_later_size_never_stands_for_an_earlier_one():
    b = Builder()
    x, g, one = b.input(3), b.input(6), b.constant(1.0)
    z = b.call("concatenate", x, x, axis=0)
    ones = b.call("full", one, sizes=b.dims(z))
    before = b.graph(ones, b.call("multiply", z, g))
    after = apply(shapes, before)
    assert [after.sizes[k].a for k in after.instructions[1].sizes] == [z]


def test_shapes_of_guards():
    b = Builder()
    x = b.input(3)
    b.guard("lt", b.dim(b.call("exp", x), 0), b.size(5))
    after = apply(shapes, b.graph(x))
    assert after.sizes[after.guards[0].lhs].a == x


def whole(b, x):
    """The sizes of a slice of everything."""
    return [s for n in b.dims(x) for s in (b.size(0), n, b.size(1))]


UNCHANGED = {
    "reshape": lambda b, x: b.call("reshape", x, sizes=b.dims(x)),
    "broadcast": lambda b, x: b.call("broadcast_in_dim", x, sizes=b.dims(x), axes=(0, 1)),
    "sum_to": lambda b, x: b.call("sum_to", x, sizes=b.dims(x)),
    "slice": lambda b, x: b.call("slice", x, sizes=whole(b, x), drop=()),
    "slice_scatter": lambda b, x: b.call("slice_scatter", x, sizes=(*b.dims(x), *whole(b, x)), drop=()),
    "of the same shape": lambda b, x: b.call("reshape", x, sizes=b.dims(b.call("exp", x))),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_shapes_that_are_there_already(name):
    b = Builder()
    x = b.input(3, 4)
    after = dead.run(apply(shapes, b.graph(b.call("sin", UNCHANGED[name](b, x)))))
    assert names(after) == ["sin"]


def test_a_scatter_that_the_caller_gets_is_new():
    b = Builder()
    x = b.input(3)
    y = b.call("slice_scatter", x, sizes=(*b.dims(x), *whole(b, x)), drop=())
    assert names(apply(shapes, b.graph(y))) == ["slice_scatter"]


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
    g, x, y = b.input(), b.input(3, 1), b.input(3, 4)
    spread = b.call("full", g, sizes=b.dims(y))
    before = b.graph(b.call("multiply", spread, x))
    after = apply(shapes, before)
    assert names(after) == ["full", "multiply"]
    assert_same(before, after)


def test_an_output_of_spread_scalars_is_dense():
    b = Builder()
    g, x = b.input(), b.input(3, 4)
    spread = b.call("broadcast_in_dim", g, sizes=b.dims(x), axes=())
    before = b.graph(b.call("transpose", b.call("exp", spread), perm=(1, 0)), b.call("sin", spread))
    after = dead.run(apply(shapes, before))
    assert names(after) == ["exp", "full", "sin", "full"]
    assert_same(before, after)


def test_shapes_of_factors():
    b = Builder()
    a, r, one = b.input(3, 3), b.input(3, 2), b.constant(1.0)
    w, v = b.call("eigh", a, lower=1)
    y, lu, *_ = b.call("solve", a, r, raises=1, mask=0b1111)
    sign, *_ = b.call("slogdet", a)
    rows = [b.call("full", one, sizes=b.dims(x)) for x in (w, v, y, lu, sign)]
    after = apply(shapes, b.graph(*rows))
    assert {after.sizes[s].a for i in after.instructions for s in i.sizes} == {a, r}


def test_slices_that_change_something_stay():
    b = Builder()
    x, n = b.input(3), b.size(2)
    part = b.call("slice", x, sizes=(b.size(0), n, b.size(1)), drop=())
    back = b.call("slice", x, sizes=(b.size(2), b.dim(x, 0), b.size(-1)), drop=())
    before = b.graph(part, back)
    scattered = b.call("slice_scatter", back, sizes=(*b.dims(x), b.size(2), b.dim(x, 0), b.size(-1)), drop=())
    before = b.graph(part, back, scattered)
    after = apply(shapes, before)
    assert names(after) == ["slice", "slice", "slice_scatter"]
    assert_same(before, after)


def test_sums_to_a_shape_are_sums_over_axes():
    b = Builder()
    x = b.input(3, 4, 5)
    one, (n, m, k) = b.size(1), b.dims(x)
    columns = b.call("reshape", b.call("sum_to", x, sizes=(n, one, k)), sizes=(n, k))
    everything = b.call("reshape", b.call("sum_to", x, sizes=(one, one)), sizes=())
    leading = b.call("sum_to", x, sizes=(k,))
    kept = b.call("sum_to", x, sizes=(one, m, k))
    before = b.graph(columns, everything, leading, kept)
    after = dead.run(apply(shapes, before))
    assert [i.attrs for i in after.instructions] == [((1,),), ((0, 1, 2),), ((0, 1),), ()]
    assert_same(before, after)


def test_a_sum_over_an_axis_of_length_1_stays():
    b = Builder()
    x, one = b.input(3, 4), b.size(1)
    row = b.call("reshape", x, sizes=(one, b.times(*b.dims(x))))
    before = b.graph(b.call("reshape", b.call("sum_to", row, sizes=(one, one)), sizes=()))
    assert_same(before, apply(shapes, before))


def test_arithmetic_of_numbers_is_done():
    b = Builder()
    x, z = b.input(3, 4), b.input()
    six = b.times(b.size(2), b.size(3))
    n = b.times(b.size(1), b.dim(x, 0))
    after = dead.run(apply(shapes, b.graph(b.call("full", z, sizes=(six, n)))))
    assert of_last(after) == [("const", 6, 0), ("dim", x, 0)]


def test_guards_that_say_nothing_go():
    b = Builder()
    x = b.input(3, 4)
    for _ in range(2):
        b.guard("lt", b.dim(x, 0), b.dim(x, 1))
        b.guard("eq", b.dim(x, 0), b.times(b.size(1), b.dim(x, 0)))
        b.guard("le", b.size(2), b.times(b.size(2), b.size(3)))
    assert len(apply(shapes, b.graph(x)).guards) == 1
