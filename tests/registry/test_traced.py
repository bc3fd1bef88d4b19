"""The traced column: what a compiled function gives for every record, beside eager."""

import numpy as np
import pytest
from test_rules import RULES, Case, as_numpy, close

import taenite as tn
from taenite.primitive import REGISTRY

SAMPLES = [
    pytest.param(record, sample, id=f"{record.name}-{i}")
    for record in REGISTRY.values()
    if record.samples
    for i, sample in enumerate(record.samples())
]


def call(record, sample, *operands):
    y = record(*operands, sizes=sample.sizes, **sample.attrs)
    outputs = y if isinstance(y, tuple) else (y,)
    return tuple(o for o in outputs if o is not None)


def same_bits(got, want):
    got, want = as_numpy(got), as_numpy(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("record, sample", SAMPLES)
def test_traced_equals_eager_to_the_bit(record, sample):
    operands = [tn.asarray(x) for x in sample.operands]
    if sample.prepare:
        operands = [tn.asarray(x) for x in sample.prepare(tuple(operands))]
    program = tn.compile(lambda *xs: call(record, sample, *xs))
    for got, want in zip(program(*operands), call(record, sample, *operands), strict=True):
        same_bits(got, want)


@pytest.mark.parametrize("record, sample", RULES)
def test_traced_pullback_is_the_eager_one(record, sample):
    """Inside the program: cotangents are operands of it."""
    case = Case(record, sample)
    weights = tuple(tn.asarray(w) for w in case.weights)

    def pulled(primals, weights):
        return tn.vjp(case, *primals)[1](weights)

    primals = tuple(tn.asarray(x) for x in case.primals)
    close(tn.compile(pulled)(primals, weights), [as_numpy(g) for g in pulled(primals, weights)], 1e-12)


@pytest.mark.parametrize("record, sample", RULES)
def test_a_program_is_differentiated_as_one_node(record, sample):
    """Outside of the program: reverse, forward, and forward over reverse."""
    case = Case(record, sample)
    program = tn.compile(lambda *xs: case(*xs))
    weights = tuple(tn.asarray(w) for w in case.weights)

    def pulled(*primals):
        return tn.vjp(program, *primals)[1](weights)

    close(pulled(*case.primals), [as_numpy(g) for g in case.pulled(case.primals)], 1e-12)
    _, got = tn.jvp(program, tuple(case.primals), tuple(case.tangents))
    _, want = tn.jvp(case, tuple(case.primals), tuple(case.tangents))
    close(got, [as_numpy(t) for t in want], 1e-12)
    _, got = tn.jvp(pulled, tuple(case.primals), tuple(case.tangents))
    _, want = tn.jvp(lambda *p: case.pulled(p), tuple(case.primals), tuple(case.tangents))
    close(got, [as_numpy(t) for t in want], 1e-10)
