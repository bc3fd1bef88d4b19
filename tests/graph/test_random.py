"""Random functions and their gradients: every pass keeps what they compute, at the sizes of the trace and at
others."""

from __future__ import annotations

import numpy
import pytest
from build import run

import taenite as tn
from taenite.graph.check import check
from taenite.graph.passes import DEFAULT
from taenite.graph.trace import trace

SCALARS = (0, 1, -1, 2.0)


def random_function(seed: int, complex: bool):
    """A function of matrices x: m n, y: m n, z: n m and a scalar, whose result is a real scalar."""

    def f(*operands):
        rng = numpy.random.default_rng(seed)
        pool = list(operands)

        def pick(like=None):
            fitting = [t for t in pool if like is None or t.ndim == 0 or form[id(t)] == form[id(like)]]
            return fitting[rng.integers(len(fitting))]

        form = {id(t): k for t, k in zip(operands, ("mn", "mn", "nm", ""), strict=True)}
        for _ in range(14):
            a = pick()
            t, k = random_step(rng, a, pick(a), form[id(a)], pool, form)
            pool.append(t)
            form[id(t)] = k
        total = sum(tn.real(t).sum() if complex else t.sum() for t in pool[-4:])
        return total / 16

    return f


def random_step(rng, a, b, k, pool, form):
    """A tensor and its form: made from a, or from a and b."""
    longer = k or form[id(b)]
    match int(rng.integers(12)):
        case 0:
            return tn.sin(a), k
        case 1:
            return tn.exp(-(a * tn.conj(a))), k
        case 2:
            return a * b, longer
        case 3:
            return a - b / 3, longer
        case 4:
            return a * SCALARS[rng.integers(len(SCALARS))], k
        case 5 if k:
            return a.T, k[::-1]
        case 6 if k:
            return tn.conj(a).T, k[::-1]
        case 7 if k:
            c = next(t for t in reversed(pool) if form[id(t)] == k[::-1])
            return tn.tanh((a @ c)[:1, :1] / 9).sum(), ""
        case 8 if k:
            c = next(t for t in reversed(pool) if form[id(t)] == k)
            return tn.sin((a @ c.T) @ a / 30), k
        case 9 if k:
            return tn.sum(a, axis=0, keepdims=True) / 4 + a, k
        case 10 if k:
            return tn.reshape(tn.reshape(a, (-1,)), a.shape) * tn.mean(a), k
        case 11 if k:
            return tn.where(tn.real(a) > 0, a, b), k
        case _:
            return -a, k


def operands(m: int, n: int, complex: bool):
    rng = numpy.random.default_rng(m)
    found = [rng.normal(size=shape) for shape in ((m, n), (m, n), (n, m), ())]
    return [x + 1j * rng.normal(size=x.shape) for x in found] if complex else found


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_random_function(seed, complex):
    f = random_function(seed, complex)

    def value_and_gradients(*xs):
        value, gradients = tn.value_and_grad(f, argnums=(0, 1, 2, 3))(*xs)
        return (value, *gradients)

    traced = trace(value_and_gradients, [tn.asarray(x) for x in operands(3, 4, complex)])
    check(traced)
    graph = traced
    for one in DEFAULT:
        graph = one(graph)
        check(graph)
    for m, n in ((3, 4), (5, 2), (6, 6)):
        inputs = operands(m, n, complex)
        for want, got in zip(run(traced, *inputs), run(graph, *inputs), strict=True):
            # some 40 operations with terms of order 1 to 1e2, a few of them reassociated
            numpy.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
