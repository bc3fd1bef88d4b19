"""The printed forms of a graph, and the costs in them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from build import Builder

import taenite as tn
from taenite.graph.costs import flops, moved_bytes
from taenite.graph.show import show, to_dot


def product():
    b = Builder()
    x, y = b.input(64, 128), b.input(128, 32)
    two = b.constant(2.0)
    p = b.dot(x, y, (1,), (0,), source="model.py:12")
    e = b.call("exp", b.call("multiply", p, two))
    s = b.call("sum", e, axes=(0, 1))
    r = b.call("reshape", p, sizes=(b.times(b.dim(x, 0), b.dim(y, 1)),))
    b.guard("eq", b.dim(x, 1), b.dim(y, 0))
    return b.graph(s, r, -1)


EXPECTED = """\
program(%0: f64[64, 128], %1: f64[128, 32])
  %2: f64[] = 2.0
  guard %0.shape[1] == %1.shape[0]
  %3: f64[64, 32] = dot_general(%0, %1; contract_a=(1,), contract_b=(0,), batch_a=(), batch_b=(), \
conj_a=0, conj_b=0)  # 524 kFLOP, 112 KiB  model.py:12
  group:
    %4: f64[64, 32] = multiply(%3, %2)  # 2.05 kFLOP, 32 KiB
    %5: f64[64, 32] = exp(%4)  # 2.05 kFLOP, 32 KiB
    %6: f64[] = sum(%5; axes=(0,1))  # 2.05 kFLOP, 16 KiB
  %7: f64[2048] = reshape(%3; sizes=(%0.shape[0]*%1.shape[1]))
  return %6, %7, zero
# 5 instructions: 530 kFLOP, 192 KiB"""


def test_show():
    assert show(replace(product(), groups=((1, 4),))) == EXPECTED


def test_to_dot():
    text = to_dot(replace(product(), groups=((1, 4),)))
    assert text.count("{") == text.count("}") == 2
    assert 'i1 -> i2 [label="%4: f64[64, 32]"];' in text
    assert 'r0 [label="%0: f64[64, 128]", shape=ellipse];' in text
    assert 'i3 -> out0 [label="%6: f64[]"];' in text
    assert "out2" not in text


def test_masks_and_dtypes_are_named():
    b = Builder()
    x = b.input(2, 3, 3, dtype=tn.complex64)
    _, s, _ = b.call("svd", x, full=0, mask=0b010)
    y = b.call("astype", s, dtype=10)
    text = show(b.graph(y))
    assert "_, %2: f32[2, 3], _ = svd(%0; full=0)" in text
    assert "%4: f64[2, 3] = astype(%2; dtype=float64)" in text


N = 10
COUNTS = {
    "cholesky": ({"upper": 0, "raises": 1}, (), N**3 / 3),
    "lu_factor": ({"raises": 1}, (), 2 * N**3 / 3),
    "inv": ({"raises": 1}, (), 2 * N**3),
    "solve": ({"raises": 1}, (N, 4), 2 * N**3 / 3 + 2 * N**2 * 4),
    "solve_triangular": (
        {"upper": 0, "transposed": 0, "conjugated": 0, "unit_diagonal": 0, "left": 1}, (N, 4), N**2 * 4
    ),
    "eigh": ({"lower": 1}, (), 9 * N**3),
    "qr": ({"complete": 0}, (), 2 * (2 - 2 / 3) * N**3),
    "svd": ({"full": 0}, (), 26 * N**3),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("dtype, factor", [(tn.float64, 1), (tn.complex128, 4)])
def test_textbook_counts_of_a_stack(name, dtype, factor):
    attrs, right, count = COUNTS[name]
    b = Builder()
    operands = [b.input(3, N, N, dtype=dtype)] + ([b.input(3, *right, dtype=dtype)] if right else [])
    b.call(name, *operands, **attrs)
    graph = b.graph()
    assert flops(graph.instructions[0], graph.types) == round(3 * count * factor)


def test_values_alone_cost_less():
    b = Builder()
    x = b.input(N, N)
    b.call("eigh", x, lower=1, mask=0b01)
    b.call("svd", x, full=0, mask=0b010)
    b.call("qr", x, complete=0, mask=0b10)
    graph = b.graph()
    assert [flops(i, graph.types) for i in graph.instructions] == [
        round(count * N**3) for count in (4 / 3, 4 - 4 / 3, 2 - 2 / 3)
    ]


def test_batch_and_conjugates_of_a_product():
    b = Builder()
    x, y = b.input(5, 2, 3, dtype=tn.complex128), b.input(5, 3, 4, dtype=tn.complex128)
    b.call(
        "dot_general", x, y, contract_a=(2,), contract_b=(1,), batch_a=(0,), batch_b=(0,), conj_a=1, conj_b=0
    )
    graph = b.graph()
    assert flops(graph.instructions[0], graph.types) == 8 * 5 * 2 * 3 * 4


def test_views_and_operands_read_for_their_shape_move_nothing():
    b = Builder()
    x = b.input(4, 4)
    v = b.call("transpose", x, perm=(1, 0))
    _, lu, pivots, _ = b.call("solve", x, v, raises=1, mask=0b0110)
    y = b.call("solve_with", x, lu, pivots, v, transposed=0, conjugated=0)
    graph = b.graph(y)
    transposed, _, solved = graph.instructions
    assert moved_bytes(transposed, graph.types) == 0
    assert moved_bytes(solved, graph.types) == 3 * 16 * 8 + 5 * 4
