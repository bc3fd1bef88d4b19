"""What every record promises of its derivative, on its own samples.

The tangent from the derived JVP against a central difference; <w, J v> against <J^H w, v>, which needs no
difference and so holds almost to round-off; the derivative of the VJP along v against its central difference.
"""

import numpy as np
import pytest

import taenite as tn
from taenite.primitive import REGISTRY, Sample

RULES = [
    pytest.param(record, sample, id=f"{record.name}-{i}")
    for record in REGISTRY.values()
    if record.differentiable and record.samples
    for i, sample in enumerate(record.samples())
]


def as_numpy(x):
    return np.asarray(x).copy()


class Case:
    """A sample as a function of its floating-point operands, with random directions and weights."""

    def __init__(self, record, sample: Sample):
        rng = np.random.default_rng(20)
        self.record, self.sample = record, sample
        self.at = [i for i, x in enumerate(sample.operands) if np.asarray(x).dtype.kind in "fc"]
        self.primals = [self.widened(sample.operands[i]) for i in self.at]
        self.tangents = [self.random(rng, x.shape, x.dtype) for x in self.primals]
        self.weights = [self.random(rng, y.shape, as_numpy(y).dtype) for y in self(*self.primals)]

    @staticmethod
    def widened(x):
        x = np.asarray(x)
        return x.astype({"f": np.float64, "c": np.complex128}[x.dtype.kind])

    @staticmethod
    def random(rng, shape, dtype):
        x = rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape)).astype(dtype) if dtype.kind == "c" else x.astype(dtype)

    def __call__(self, *primals):
        operands = [tn.asarray(x) for x in self.sample.operands]
        for i, x in zip(self.at, primals, strict=True):
            operands[i] = tn.asarray(x)
        if self.sample.prepare:
            operands = self.sample.prepare(tuple(operands))
        y = self.record(*operands, sizes=self.sample.sizes, **self.sample.attrs)
        outputs = y if isinstance(y, tuple) else (y,)
        if self.sample.observe:
            outputs = self.sample.observe(outputs)
        return tuple(o for o in outputs if o is not None and o.dtype.kind in "fc")

    def moved(self, step):
        return [x + step * t for x, t in zip(self.primals, self.tangents, strict=True)]

    def pulled(self, primals):
        _, pullback = tn.vjp(self, *primals)
        return pullback(tuple(tn.asarray(w) for w in self.weights))


def close(got, want, rtol):
    scale = max([np.max(np.abs(w), initial=0.0) for w in want] + [1e-300])
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(as_numpy(g), w, rtol=rtol, atol=rtol * scale)


def central(f, h):
    """Of fourth order: the error is about h^4 plus round-off over h."""
    return [
        (8 * (p1 - m1) - (p2 - m2)) / (12 * h)
        for p1, m1, p2, m2 in zip(f(h), f(-h), f(2 * h), f(-2 * h), strict=True)
    ]


def inner(a, b):
    return sum(np.sum((np.conj(as_numpy(x)) * as_numpy(y)).real) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("record, sample", RULES)
def test_jvp_is_the_central_difference(record, sample):
    case = Case(record, sample)
    _, tangents = tn.jvp(case, tuple(case.primals), tuple(case.tangents))
    want = central(lambda h: [as_numpy(y) for y in case(*case.moved(h))], 1e-3)
    close(tangents, want, sample.rtol)


@pytest.mark.parametrize("record, sample", RULES)
def test_vjp_is_the_adjoint_of_jvp(record, sample):
    case = Case(record, sample)
    _, tangents = tn.jvp(case, tuple(case.primals), tuple(case.tangents))
    forward = inner(case.weights, tangents)
    reverse = inner(case.pulled(case.primals), case.tangents)
    scale = sum(
        np.linalg.norm(w) * np.linalg.norm(as_numpy(t)) for w, t in zip(case.weights, tangents, strict=True)
    )
    assert abs(forward - reverse) <= 1e-11 * max(scale, abs(forward))


@pytest.mark.parametrize("record, sample", RULES)
def test_second_order_is_the_central_difference_of_the_vjp(record, sample):
    case = Case(record, sample)
    _, got = tn.jvp(lambda *p: case.pulled(p), tuple(case.primals), tuple(case.tangents))
    want = central(lambda h: [as_numpy(y) for y in case.pulled(case.moved(h))], 1e-3)
    close(got, want, 10 * sample.rtol)


@pytest.mark.parametrize("record, sample", RULES)
def test_reverse_over_reverse_agrees_with_forward_over_reverse(record, sample):
    case = Case(record, sample)
    _, forward = tn.jvp(lambda *p: case.pulled(p), tuple(case.primals), tuple(case.tangents))
    _, pullback = tn.vjp(lambda *p: case.pulled(p), *case.primals)
    # The Hessian of <weights, f> is symmetric, so pulling the tangents back is the same product.
    close(
        pullback(tuple(tn.asarray(t) for t in case.tangents)),
        [as_numpy(t) for t in forward],
        10 * sample.rtol,
    )


def test_a_wrong_rule_is_found():
    """The tester is tested: half a derivative must not pass."""
    record = REGISTRY["sin"]
    right = record.derivative
    try:
        record.derivative = lambda x, y: 0.5 * right(x, y)
        case = Case(record, Sample([np.linspace(0.1, 1.0, 7).reshape(1, 7, 1, 1, 1)]))
        with pytest.raises(AssertionError):
            _, tangents = tn.jvp(case, tuple(case.primals), tuple(case.tangents))
            close(tangents, central(lambda h: [as_numpy(y) for y in case(*case.moved(h))], 1e-3), 1e-7)
    finally:
        record.derivative = right
