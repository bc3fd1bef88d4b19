"""Constant folding and identities, by graphs before and after."""

from __future__ import annotations

import numpy
import pytest
from build import Builder, apply, assert_same, names, run

import taenite as tn
from taenite.graph.passes import dead, fold, transposes


def test_fold_what_is_constant():
    b = Builder()
    x, two = b.input(3), b.constant(2.0)
    four = b.call("multiply", two, two)
    eye = b.call("eye", sizes=(b.size(3), b.size(3)), dtype=10, k=0)
    before = b.graph(b.call("multiply", x, b.call("multiply", four, eye)))
    after = apply(fold, before)
    assert names(after) == ["multiply"]
    assert_same(before, after)


def test_fold_sizes_of_constants():
    b = Builder()
    x, one = b.input(2), b.constant(1.0)
    c = b.constant(numpy.arange(3.0))
    known = b.call("full", one, sizes=(b.dim(c, 0),))
    unknown = b.call("full", one, sizes=(b.dim(x, 0),))
    before = b.graph(b.call("multiply", unknown, b.call("sum", known, axes=(0,))))
    after = apply(fold, before)
    assert names(after) == ["full", "multiply"]
    assert_same(before, after)


def test_fold_leaves_large_results_effects_and_errors():
    b = Builder()
    c, zero = b.constant(1.0), b.constant(numpy.zeros((2, 2)))
    large = b.call("full", c, sizes=(b.size(1 << 18),))
    b.call("check_ties", *[b.constant([1.0, 2.0])] * 3, lone_zeros=0)
    inverse, _ = b.call("inv", zero, raises=1)
    results = [b.call("negative", x) for x in (large, inverse)]
    assert names(apply(fold, b.graph(*results))) == ["full", "check_ties", "inv", "negative", "negative"]


def test_what_the_caller_gets_is_new():
    b = Builder()
    x, z, one = b.input(3, 3), b.input(3, 3, dtype=tn.complex128), b.constant(1.0)
    same = b.call("multiply", x, one)
    minus = b.call("negative", b.call("negative", x))
    conjugate = b.call("conj", b.call("conj", z))
    ones = b.call("full", one, sizes=(b.size(3), b.size(3)))
    results = [b.call("transpose", y, perm=(1, 0)) for y in (same, minus, conjugate, ones)]
    before = b.graph(*results)
    for one_pass in (fold, transposes):
        assert names(apply(one_pass, before)) == names(before)


def test_views_of_operands_stay_views():
    b = Builder()
    x = b.input(3)
    assert apply(fold, b.graph(b.call("conj", b.call("real", x)))).outputs == (x,)


def test_fold_keeps_tracked_constants():
    b = Builder()
    c = b.constant(tn._core.variable(tn.asarray(2.0)))
    assert names(apply(fold, b.graph(b.call("sin", b.call("exp", c))))) == ["exp", "sin"]


IDENTITIES = {
    "x * 1": lambda b, x: b.call("multiply", x, b.constant(1.0)),
    "1 * x": lambda b, x: b.call("multiply", b.constant(1.0), x),
    "x / 1": lambda b, x: b.call("divide", x, b.constant(1.0)),
    "x - 0": lambda b, x: b.call("subtract", x, b.constant(0.0)),
    "--x": lambda b, x: b.call("negative", b.call("negative", x)),
    "conj of real": lambda b, x: b.call("conj", x),
    "real of real": lambda b, x: b.call("real", x),
    "cast to itself": lambda b, x: b.call("astype", x, dtype=10),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_fold_identity(name):
    b = Builder()
    x = b.input(8)
    before = b.graph(b.call("exp", IDENTITIES[name](b, x)))
    after = apply(fold, before)
    assert names(dead.run(after)) == ["exp"]
    extremes = numpy.array([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 5e-324, 1e308, -1.5])
    numpy.testing.assert_array_equal(run(after, extremes), run(before, extremes))


def test_fold_conjugate_of_the_conjugate():
    b = Builder()
    z = b.input(3, dtype=tn.complex128)
    after = dead.run(apply(fold, b.graph(b.call("exp", b.call("conj", b.call("conj", z))))))
    assert names(after) == ["exp"]


NOT_IDENTITIES = {
    "x + 0": lambda b, x, z: b.call("add", x, b.constant(0.0)),
    "x - -0": lambda b, x, z: b.call("subtract", x, b.constant(-0.0)),
    "0 - x": lambda b, x, z: b.call("subtract", b.constant(0.0), x),
    "x * 0": lambda b, x, z: b.call("multiply", x, b.constant(0.0)),
    "1 / x": lambda b, x, z: b.call("divide", b.constant(1.0), x),
    "x * [1]": lambda b, x, z: b.call("multiply", x, b.constant([1.0])),
    "z * 1": lambda b, x, z: b.call("multiply", z, b.constant(1.0, tn.complex128)),
    "x * 1 of another dtype": lambda b, x, z: b.call("multiply", x, b.constant(1.0, tn.complex128)),
    "cast": lambda b, x, z: b.call("astype", x, dtype=9),
    "conj": lambda b, x, z: b.call("conj", z),
    "negative of conj": lambda b, x, z: b.call("negative", b.call("conj", z)),
}


@pytest.mark.parametrize("name", NOT_IDENTITIES)
def test_fold_leaves(name):
    b = Builder()
    x, z = b.input(3), b.input(3, dtype=tn.complex128)
    before = b.graph(NOT_IDENTITIES[name](b, x, z))
    assert names(apply(fold, before)) == names(before)
