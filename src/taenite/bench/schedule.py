"""Who is measured when: rows in random order, backends in balanced random order, all from one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def shuffled(items: Sequence[T], seed: str) -> list[T]:
    """A random order that the seed alone decides."""
    order = list(items)
    random.Random(seed).shuffle(order)
    return order


def balanced_orders(backends: Sequence[str], rounds: int, seed: str) -> list[list[str]]:
    """An order of the backends for each round: a random one, then its reverse (A B B A), then anew.

    Over each pair of rounds every backend has the same mean position, so a linear drift of the machine
    adds the same to all of them.
    """
    if rounds < 1:
        raise ValueError(f"bench.schedule: rounds must be positive, got {rounds}.")
    source = random.Random(seed)
    orders: list[list[str]] = []
    while len(orders) < rounds:
        order = list(backends)
        source.shuffle(order)
        orders += [order, order[::-1]]
    return orders[:rounds]
