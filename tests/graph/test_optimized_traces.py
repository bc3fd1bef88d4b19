"""What the passes make of traced functions: the graphs that the measured programs hang on."""

from __future__ import annotations

import numpy
import pytest
from build import assert_same, names

import taenite as tn
from taenite.graph.ir import Graph
from taenite.graph.passes import optimize
from taenite.graph.trace import trace
from taenite.tree import flatten

N = 6


def traced(f, *operands) -> Graph:
    return trace(lambda *xs: flatten(f(*xs))[0], [tn.asarray(x) for x in operands])


def optimized(f, *operands, rtol: float = 0) -> Graph:
    before = traced(f, *operands)
    after = optimize(before)
    assert_same(before, after, rtol)
    return after


def matrix(seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng(seed).normal(size=(N, N)) + N * numpy.eye(N)


def with_gradient(f, *argnums: int):
    return tn.value_and_grad(f, argnums=argnums)


FUSED = {
    "bell": lambda x, a, b: tn.exp(-((x * a + b) ** 2)).sum(),
    "two tensors": lambda x, w, b: ((x * w + w) * x + x * w).sum() + 0 * b,
}


@pytest.mark.parametrize("argnums", [(0,), (0, 1)])
@pytest.mark.parametrize("name", FUSED)
def test_a_function_of_each_element_and_its_gradient_run_in_one_pass(name, argnums):
    x = numpy.linspace(-1, 1, 12)
    w = 0.5 if name == "bell" else numpy.linspace(1, 2, 12)
    after = optimized(with_gradient(FUSED[name], *argnums), x, w, 0.25)
    long = [
        (first, last)
        for first, last in after.groups
        if after.types[after.instructions[first].outputs[0]].shape
    ]
    assert len(long) == 1
    first, last = long[0]
    outside = [i for k, i in enumerate(after.instructions) if not first <= k < last]
    assert all(not after.types[r].shape for i in outside for r in i.outputs)


def test_a_weighted_product_is_three_products():
    after = optimized(
        with_gradient(lambda a, b, w: (w * (a @ b)).sum(), 0, 1), matrix(), matrix(1), matrix(2)
    )
    assert names(after) == ["dot_general"] * 3 + ["multiply", "sum"]


def test_factorizations_are_shared():
    after = optimized(
        lambda a: (
            tn.linalg.svdvals(a).sum(),
            *tn.linalg.svd(a, full_matrices=False),
            tn.linalg.svdvals(a).max(),
        ),
        matrix(),
        rtol=1e-12,  # values alone are computed by another algorithm
    )
    assert names(after).count("svd") == 1


def test_an_eigendecomposition_is_shared_with_the_gradient():
    after = optimized(with_gradient(lambda a: tn.linalg.eigvalsh(a).sum(), 0), matrix())
    assert names(after).count("eigh") == 1


def test_a_nuclear_norm_has_no_spread_cotangent():
    after = optimized(with_gradient(lambda a: tn.linalg.svdvals(a).sum(), 0), matrix())
    assert names(after) == ["svd", "sum", "dot_general"]


def test_transposes_go_into_the_products():
    after = optimized(lambda a, b: ((a.T @ b.T).T @ tn.conj(a).T).sum(), matrix(), matrix(1), rtol=1e-14)
    assert names(after) == ["dot_general", "dot_general", "sum"]


def test_a_tangent_of_a_sum_is_a_sum():
    after = optimized(
        lambda x, t: tn.jvp(lambda x: tn.sin(x).sum(), (x,), (t,)), numpy.ones(N), numpy.ones(N)
    )
    assert names(after) == ["sin", "cos", "multiply", "sum", "sum"]
    assert after.groups == ((0, 5),)


def test_passes_take_long_chains():
    def chain(x):
        for _ in range(3000):
            x = tn.sin(x) * x
        return x.sum()

    after = optimize(traced(with_gradient(chain, 0), numpy.ones(2)))
    assert after.groups == ((0, len(after.instructions)),)
