"""Every rule of the checker, by a graph that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from build import Builder

import taenite as tn
from taenite.graph.check import check
from taenite.graph.ir import Graph, Guard, SizeExpr, Type


def small() -> Graph:
    """exp(x) * 2 reshaped, its singular values, a check."""
    b = Builder()
    x = b.input(3, 4)
    two = b.constant(2.0)
    y = b.call("multiply", b.call("exp", x), two)
    z = b.call("reshape", y, sizes=(b.dim(y, 1), b.dim(y, 0)))
    _, s, _ = b.call("svd", z, full=0, mask=0b010)
    b.call("check_ties", s, s, s, lone_zeros=0)
    b.guard("le", b.dim(x, 0), b.dim(x, 1))
    return b.graph(z, s)


def change(graph: Graph, at: int, **changes) -> Graph:
    instructions = list(graph.instructions)
    instructions[at] = replace(instructions[at], **changes)
    return graph.with_instructions(tuple(instructions))


def test_a_graph_that_is_well_formed():
    check(small())


def test_zero_outputs_are_allowed():
    check(replace(small(), outputs=(-1, 4)))


EXP, MULTIPLY, RESHAPE, SVD, CHECK = range(5)
FAULTS = {
    "read early": (lambda g: change(g, EXP, inputs=(3,)), r"written before it is read, got %3"),
    "undemanded": (lambda g: change(g, CHECK, inputs=(5, 6, 6)), r"written before it is read, got %5"),
    "written twice": (lambda g: change(g, MULTIPLY, outputs=(2,)), r"written once, got %2 again"),
    "an input written": (lambda g: change(g, EXP, outputs=(0,)), r"written once, got %0 again"),
    "a constant written": (lambda g: change(g, EXP, outputs=(1,)), r"written once, got %1 again"),
    "operand out of range": (lambda g: change(g, EXP, inputs=(99,)), r"below 8, got %99 as an operand"),
    "output out of range": (lambda g: change(g, EXP, outputs=(99,)), r"below 8, got %99 as an output"),
    "no such primitive": (lambda g: change(g, EXP, primitive="exq"), r"call a primitive, got 'exq'"),
    "operands": (lambda g: change(g, MULTIPLY, inputs=(2,)), r"multiply takes 2 operands, got 1"),
    "attributes": (lambda g: change(g, SVD, attrs=()), r"svd takes the attributes \('full',\), got \(\)"),
    "outputs": (lambda g: change(g, SVD, outputs=(5, 6)), r"svd has 3 outputs, got 2"),
    "mask": (lambda g: change(g, SVD, mask=0b1010), r"demand outputs of 3, got 0b1010"),
    "mask of an effect": (lambda g: change(g, CHECK, mask=1), r"demand outputs of 0, got 0b1"),
    "no such size": (lambda g: change(g, RESHAPE, sizes=(0, 7)), r"sizes must be below 4, got 7"),
    "misfits": (
        lambda g: change(g, RESHAPE, sizes=(0, 0)),
        r"accept its operands, got reshape",
    ),
    "types": (
        lambda g: replace(g, types=(*g.types[:3], Type(tn.float32, (3, 4)), *g.types[4:])),
        r"%3 must be float64\[3, 4\] by inference, got f32\[3, 4\]",
    ),
    "size of a later register": (
        lambda g: replace(g, sizes=(SizeExpr("dim", 6, 0, 4), *g.sizes[1:])),
        r"before its shape is read, got %6 in %6.shape\[0\]",
    ),
    "size of no register": (
        lambda g: replace(g, sizes=(SizeExpr("dim", 70, 0, 4), *g.sizes[1:])),
        r"size 0 must be of one of 8 registers, got %70",
    ),
    "size of no axis": (
        lambda g: replace(g, sizes=(SizeExpr("dim", 3, 2, 4), *g.sizes[1:])),
        r"size 0 must be of an axis of %3, got axis 2",
    ),
    "cyclic size": (
        lambda g: replace(g, sizes=(SizeExpr("add", 0, 1, 4), *g.sizes[1:])),
        r"size 0 must be computed from sizes before it, got 0 and 1",
    ),
    "size of another kind": (
        lambda g: replace(g, sizes=(SizeExpr("pow", 0, 1, 4), *g.sizes[1:])),
        r"size 0 must be const, dim or one of add, .*, got pow",
    ),
    "guard": (lambda g: replace(g, guards=(Guard("eq", 9, 0, True),)), r"two of 4 sizes, got size 9"),
    "constant over an input": (lambda g: replace(g, constants={0: g.constants[1]}), r"from %1 on .* got %0"),
    "type of a constant": (
        lambda g: replace(g, constants={1: tn.asarray([2.0])}),
        r"the constant %1 must be f64\[\], got f64\[1\]",
    ),
    "output": (lambda g: replace(g, outputs=(5,)), r"an output must be written, got %5"),
    "overlap": (
        lambda g: replace(g, groups=((0, 2), (1, 3))),
        r"disjoint .* got \(1, 3\) after 2",
    ),
    "disorder": (
        lambda g: replace(g, groups=((2, 4), (0, 1))),
        r"disjoint .* got \(0, 1\) after 4",
    ),
    "an empty group": (lambda g: replace(g, groups=((2, 2),)), r"disjoint .* got \(2, 2\)"),
    "beyond the end": (
        lambda g: replace(g, groups=((4, 6),)),
        r"disjoint .* got \(4, 6\) after 0 of 5",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name):
    spoil, message = FAULTS[name]
    with pytest.raises(ValueError, match="graph: .*" + message):
        check(spoil(small()))


def test_the_neighbourhood_is_printed():
    with pytest.raises(ValueError) as caught:
        check(change(small(), RESHAPE, inputs=(6,)))
    marked = [line for line in str(caught.value).splitlines() if line.startswith("->")]
    assert marked == ["-> 2: %4: f64[4, 3] = reshape(%6; sizes=(%3.shape[1], %3.shape[0]))"]
    assert [line.split(":")[0].strip(" ->") for line in str(caught.value).splitlines()[1:]] == list("01234")
