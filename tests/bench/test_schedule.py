from collections import Counter

import pytest

from taenite.bench.schedule import balanced_orders, shuffled

NAMES = ["a", "b", "c", "d"]


def test_every_pair_of_rounds_gives_all_backends_the_same_mean_position():
    orders = balanced_orders(NAMES, 6, "seed")
    for first, second in zip(orders[::2], orders[1::2], strict=True):
        assert {first.index(n) + second.index(n) for n in NAMES} == {len(NAMES) - 1}


def test_every_round_visits_every_backend_once():
    assert all(Counter(order) == Counter(NAMES) for order in balanced_orders(NAMES, 5, "seed"))


def test_the_seed_decides():
    assert balanced_orders(NAMES, 8, "x") == balanced_orders(NAMES, 8, "x")
    assert balanced_orders(NAMES, 8, "x") != balanced_orders(NAMES, 8, "y")
    assert shuffled(range(50), "x") == shuffled(range(50), "x") != shuffled(range(50), "y")


def test_first_places_are_shared_over_many_rounds():
    first = Counter(order[0] for order in balanced_orders(NAMES, 400, "seed"))
    assert set(first) == set(NAMES) and min(first.values()) > 50


def test_no_rounds_are_refused():
    with pytest.raises(ValueError, match="rounds"):
        balanced_orders(NAMES, 0, "seed")
