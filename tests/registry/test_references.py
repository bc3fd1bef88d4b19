"""What every record promises of its values, on its own samples: those of its reference, for operands of any
layout, which it leaves as they are; and the errors that it declares.
"""

import inspect
import re

import numpy as np
import pytest

import taenite as tn
from taenite.primitive import REGISTRY

SAMPLES = [
    pytest.param(record, sample, id=f"{record.name}-{i}")
    for record in REGISTRY.values()
    if record.samples
    for i, sample in enumerate(record.samples())
]
REFERENCED = [param for param in SAMPLES if param.values[0].reference]
ERRORS = [
    pytest.param(error, id=f"{record.name}-{i}")
    for record in REGISTRY.values()
    if record.errors
    for i, error in enumerate(record.errors())
]
# Sums of a few products of numbers near 1, and decompositions of matrices with a condition below 1e3.
RTOL = 1e-11


def takes(function):
    try:
        return inspect.signature(function).parameters
    except ValueError:  # NumPy's own functions
        return ()


def outputs(record, sample, operands):
    operands = [tn.asarray(x) for x in operands]
    if sample.prepare:
        operands = sample.prepare(tuple(operands))
    y = record(*operands, sizes=sample.sizes, **sample.attrs)
    y = y if isinstance(y, tuple) else (y,)
    return [np.asarray(o) for o in (sample.observe(y) if sample.observe else y) if o is not None]


def reference(record, sample):
    named = {**sample.attrs, "sizes": sample.sizes} if "sizes" in takes(record.reference) else sample.attrs
    y = record.reference(*sample.operands, **named)
    return [np.asarray(o) for o in (y if isinstance(y, tuple) else (y,))]


def assert_close(got, want):
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0.0) if want.dtype.kind in "fc" else 0.0
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=RTOL, atol=RTOL * scale)


@pytest.mark.parametrize("record, sample", REFERENCED)
def test_values_are_those_of_the_reference(record, sample):
    if sample.observe:
        return
    got = outputs(record, sample, sample.operands)
    assert got
    for y, want in zip(got, reference(record, sample), strict=False):  # hidden outputs have no reference
        assert_close(y, want)


def column_major(x):
    return np.array(x, order="F")


def every_second(x):
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    view = wide[(slice(None, None, 2),) * x.ndim + (...,)]
    view[...] = x
    return view


def backwards(x):
    flipped = (slice(None, None, -1),) * x.ndim + (...,)
    return x[flipped].copy()[flipped]


@pytest.mark.parametrize("arrange", [column_major, every_second, backwards])
@pytest.mark.parametrize("record, sample", SAMPLES)
def test_strides_do_not_matter(record, sample, arrange):
    operands = [np.array(x) for x in sample.operands]
    arranged = [arrange(x) for x in operands]
    want = outputs(record, sample, operands)
    for got, expected in zip(outputs(record, sample, arranged), want, strict=True):
        if record.name != "empty":
            assert_close(got, expected)
    for x, before in zip(arranged, operands, strict=True):
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("error", ERRORS)
def test_errors_say_what_is_wrong(error):
    with pytest.raises(error.error, match=re.escape(error.match)):
        error.call()
