"""Copies of permuted views, into fresh memory and over another tensor: what it costs to move data, from plain
transposes to tensors of many tiny axes such as contraction paths leave behind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import fixtures
from ..case import Array, Fixture, Size, case
from ..verify import elementwise_oracle
from ..work import Cost

SUITE = ("permutation",)

PATTERNS: tuple[tuple[str, str, tuple[int, ...], tuple[int, ...]], ...] = (
    ("transpose_2d", "2048x2048", (2048, 2048), (1, 0)),
    ("transpose_odd", "1999x2003", (1999, 2003), (1, 0)),
    ("rotate_3d", "256^3", (256, 256, 256), (1, 2, 0)),
    ("swap_3d", "256^3", (256, 256, 256), (0, 2, 1)),
    ("swap_short_runs", "512x512x3", (512, 512, 3), (1, 0, 2)),
    ("interleave_6d", "16^6", (16,) * 6, (3, 2, 4, 1, 5, 0)),
    ("reverse_2", "2^20", (2,) * 20, tuple(range(20))[::-1]),
    ("reverse_3", "3^13", (3,) * 13, tuple(range(13))[::-1]),
    ("cycle_3", "3^13", (3,) * 13, (12, *range(12))),
    ("scatter_runs", "2x2x2^17x2x16", (2, 2, 1 << 17, 2, 16), (2, 0, 3, 1, 4)),
    ("front_3d", "256^3", (256, 256, 256), (2, 0, 1)),
    ("in_order", "2^22", (2,) * 22, tuple(range(22))),
    ("two_of_many", "2^22", (2,) * 22, (*range(15), 16, 17, 15, 18, 19, 21, 20)),
)
"""Name, label, shape, and the source's axes in the order of the result."""

COPY = Cost(lambda *shape: math.prod(shape), lambda *shape: 0.0, lambda *shape: math.prod(shape))


def numbers(*shape: int) -> Fixture:
    rng = fixtures.generator(18, *shape)
    return Fixture((rng.standard_normal(shape),))


def permuted(perm: tuple[int, ...]) -> tuple[Callable[[Any, Any], Any], Callable[[Array], Array]]:
    """The formula and its reference: flattening a permuted view has to copy it."""

    def formula(xp: Any, x: Any) -> Any:
        return xp.reshape(xp.permute_dims(x, perm), (-1,))

    def reference(x: Array) -> Array:
        return np.ascontiguousarray(x.transpose(perm)).reshape(-1)

    formula.__doc__ = f"The elements of x in the order of the axes {perm}, in new memory."
    return formula, reference


def shuffled(rank: int, extent: int) -> tuple[str, str, tuple[int, ...], tuple[int, ...]]:
    """A pattern that the rank and the extent decide: axes of one extent in a random order."""
    order = fixtures.generator(23, rank, extent).permutation(rank)
    return f"shuffle_{extent}", f"{extent}^{rank}", (extent,) * rank, tuple(int(axis) for axis in order)


def written(perm: tuple[int, ...]) -> Callable[[Any, Any, Any], Any]:
    """The formula that writes a permuted view into memory that is there already."""

    def formula(xp: Any, out: Any, x: Any) -> Any:
        out[...] = xp.permute_dims(x, perm)
        return out

    formula.__doc__ = f"x with its axes in the order {perm}, written over another tensor."
    return formula


def destination(perm: tuple[int, ...]) -> Callable[..., tuple[int, ...]]:
    return lambda *shape: tuple(shape[axis] for axis in perm)


PATTERNS += (shuffled(21, 2), shuffled(10, 4), shuffled(7, 8))

for name, label, shape, perm in PATTERNS:
    if perm != tuple(sorted(perm)):  # one in order is a view already
        formula, reference = permuted(perm)
        case(
            name,
            suites=SUITE,
            phases={"primal": (Size(label, shape),)},
            fixture=numbers,
            oracle=elementwise_oracle(reference, 0.0),
            work=COPY,
        )(formula)
    case(
        f"{name}_into",
        suites=SUITE,
        phases={"primal": (Size(label, shape),)},
        fixture=numbers,
        oracle=elementwise_oracle(lambda x, perm=perm: x.transpose(perm), 0.0),
        work=COPY,
        destination=destination(perm),
    )(written(perm))
