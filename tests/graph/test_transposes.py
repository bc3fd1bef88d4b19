"""Transposes and conjugates as axes and flags, by graphs before and after."""

from __future__ import annotations

import pytest
from build import Builder, apply, assert_same, names

import taenite as tn
from taenite.graph.passes import dead, fold, transposes


def test_transposes_compose_and_cancel():
    b = Builder()
    x = b.input(2, 3, 4)
    once = b.call("transpose", x, perm=(1, 2, 0))
    twice = b.call("transpose", once, perm=(1, 2, 0))
    thrice = b.call("transpose", twice, perm=(1, 2, 0))
    before = b.graph(twice, thrice)
    after = dead.run(apply(transposes, before))
    assert [i.attrs for i in after.instructions] == [((2, 0, 1),)]
    assert after.outputs[1] == x
    assert_same(before, after)


def test_a_permuted_operand_of_a_product():
    b = Builder()
    x, y = b.input(4, 3, 5), b.input(5, 4, 2, 3)
    x_turned = b.call("transpose", x, perm=(1, 2, 0))  # 3 5 4
    y_turned = b.call("transpose", y, perm=(3, 1, 2, 0))  # 3 4 2 5
    before = b.graph(b.dot(x_turned, y_turned, (2,), (1,), (0,), (0,)))
    after = dead.run(apply(transposes, before))
    assert names(after) == ["transpose", "dot_general"]  # the free axes 2 5 of y are not in order
    assert after.instructions[1].attrs == ((0,), (1,), (1,), (0,), 0, 0)
    assert_same(before, after)


def test_a_permutation_of_an_operand_cancels_one_of_the_product():
    b = Builder()
    x, y = b.input(3, 4, 5), b.input(3, 2)
    p = b.dot(b.call("transpose", x, perm=(2, 1, 0)), y, (2,), (0,))  # 5 4 2
    before = b.graph(b.call("transpose", p, perm=(1, 0, 2)))
    after = dead.run(apply(transposes, before))
    assert names(after) == ["dot_general"]
    assert_same(before, after)


def test_conjugates_are_flags():
    b = Builder()
    x, y = b.input(3, 4, dtype=tn.complex128), b.input(3, 2, dtype=tn.complex128)
    adjoint = b.call("transpose", b.call("conj", x), perm=(1, 0))
    before = b.graph(b.dot(adjoint, b.call("conj", y), (1,), (0,), conj_b=1))
    after = dead.run(apply(transposes, before))
    assert names(after) == ["dot_general"]
    assert after.instructions[0].attrs == ((0,), (0,), (), (), 1, 0)
    assert_same(before, after, rtol=1e-14)  # products of 3 terms in another order


def test_the_transpose_of_a_product():
    b = Builder()
    x, y = b.input(2, 3, 4, dtype=tn.complex128), b.input(2, 4, 5, dtype=tn.complex128)
    p = b.dot(x, y, (2,), (1,), (0,), (0,), conj_b=1)
    before = b.graph(b.call("transpose", p, perm=(0, 2, 1)))
    after = dead.run(apply(transposes, before))
    assert names(after) == ["dot_general"]
    assert after.instructions[0].inputs == (y, x)
    assert_same(before, after, rtol=1e-14)  # products of 4 terms in another order


def test_a_product_that_is_read_as_it_is_stays():
    b = Builder()
    x, y = b.input(3, 4), b.input(4, 5)
    p = b.dot(x, y, (1,), (0,))
    before = b.graph(b.call("transpose", p, perm=(1, 0)), p)
    assert names(apply(transposes, before)) == ["dot_general", "transpose"]


def test_a_product_is_computed_once_for_two_permutations():
    b = Builder()
    x, y = b.input(3, 4, 2), b.input(4, 5)
    p = b.dot(x, y, (1,), (0,))  # 3 2 5
    turned = b.call("transpose", p, perm=(0, 2, 1))
    before = b.graph(turned, b.call("transpose", turned, perm=(1, 0, 2)))
    after = dead.run(apply(transposes, before))
    assert names(after).count("dot_general") == 1
    assert_same(before, after)


@pytest.mark.parametrize("dtype", [tn.float64, tn.complex128])
@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("transposed", [0, 1])
def test_the_other_triangle(dtype, left, transposed):
    b = Builder()
    x, y = b.input(2, 3, 3, dtype=dtype), b.input(2, 3, 3, dtype=dtype)
    turned = b.call("transpose", b.call("conj", x), perm=(0, 2, 1))
    solved = b.call("solve_triangular", turned, y, upper=1, transposed=transposed, conjugated=1,
                    unit_diagonal=1, left=left)  # fmt: skip
    before = b.graph(solved)
    after = dead.run(apply(transposes, fold.run(before)))
    assert names(after) == ["solve_triangular"]
    assert after.instructions[0].attrs == (0, 1 - transposed, int(dtype is tn.float64), 1, left)
    assert_same(before, after, rtol=1e-13)  # solves of order 3


@pytest.mark.parametrize("left", [0, 1])
def test_the_transpose_of_a_solve_of_a_transpose(left):
    b = Builder()
    x, y = b.input(3, 3, dtype=tn.complex128), b.input(3, 3, dtype=tn.complex128)
    solved = b.call("solve_triangular", x, b.call("transpose", y, perm=(1, 0)), upper=1, transposed=0,
                    conjugated=1, unit_diagonal=0, left=left)  # fmt: skip
    before = b.graph(b.call("transpose", solved, perm=(1, 0)))
    after = dead.run(apply(transposes, before))
    assert names(after) == ["solve_triangular"]
    assert after.instructions[0].attrs == (1, 1, 1, 0, 1 - left)
    assert_same(before, after, rtol=1e-12)  # solves of order 3, random triangles


def test_reductions_of_a_transpose():
    b = Builder()
    x = b.input(2, 3, 4)
    turned = b.call("transpose", x, perm=(2, 0, 1))
    results = [b.call("max", turned, axes=axes) for axes in ((0,), (0, 2), (0, 1, 2), (1,))]
    before = b.graph(*results)
    after = dead.run(apply(transposes, before))
    assert [i.attrs for i in after.instructions if i.primitive == "max"] == [
        ((2,),), ((1, 2),), ((0, 1, 2),), ((1,),)
    ]  # fmt: skip
    assert names(after).count("transpose") == 1  # the last one leaves axes out of order
    assert_same(before, after)


def test_elementwise_results_of_transposes():
    b = Builder()
    x, y, z, two = b.input(4, 3), b.input(4, 3), b.input(4, 2), b.constant(2.0)
    x_turned, y_turned = (b.call("transpose", r, perm=(1, 0)) for r in (x, y))
    left = b.call("exp", b.call("add", b.call("multiply", x_turned, two), y_turned))
    before = b.graph(b.dot(left, z, (1,), (0,)))
    after = dead.run(apply(transposes, before))
    assert names(after) == ["multiply", "add", "exp", "dot_general"]
    assert after.instructions[-1].attrs[0] == (0,)
    assert_same(before, after)


@pytest.mark.parametrize("reader", ["output", "sum", "mixed", "broadcast"])
def test_elementwise_results_that_are_read_in_their_order_stay(reader):
    b = Builder()
    x, w, z, row = b.input(4, 3), b.input(3, 4), b.input(4, 2), b.input(4)
    other = {"mixed": w, "broadcast": row}.get(reader, b.constant(2.0))
    scaled = b.call("multiply", b.call("transpose", x, perm=(1, 0)), other)
    product = b.dot(scaled, z, (1,), (0,))
    more = {"output": [scaled], "sum": [b.call("sum", scaled, axes=(0,))]}.get(reader, [])
    before = b.graph(product, *more)
    after = dead.run(apply(transposes, before))
    assert names(after)[:2] == ["transpose", "multiply"]
    assert_same(before, after)
