"""The machine's rates, and the floors that follow from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taenite.bench import rates
from taenite.bench.rates import COPY_BYTES, Floor, Rates, Turn, floor, from_document

KNOWN = Rates(1e11, {1 << 14: 1e11, 1 << 20: 5e10, 1 << 26: 1e10})


def test_measured_rates_are_plausible(monkeypatch):
    monkeypatch.setattr(rates, "ROUND_S", 1e-3)
    monkeypatch.setattr(rates, "REPEATS", 2)
    monkeypatch.setattr(rates, "COPY_BYTES", (1 << 13, 1 << 20))
    found = rates.measure(1)
    assert 1e8 < found.flops < 1e13
    assert all(1e7 < rate < 1e13 for rate in found.copies.values())
    assert from_document(found.document()) == found


def test_bandwidth_is_the_best_of_what_touches_as_much_or_more():
    assert KNOWN.bandwidth(1000) == 1e11
    assert KNOWN.bandwidth(1 << 20) == 5e10
    assert KNOWN.bandwidth(1 << 40) == 1e10


def test_floor_is_what_takes_longer():
    assert floor(KNOWN, 0, 1e11) == Floor(1e9, "flops")
    assert floor(KNOWN, 0, 1e11, single=True) == Floor(5e8, "flops")
    assert floor(KNOWN, 1e10, 1) == Floor(1e9, "bytes")


@given(st.floats(0, 1e12), st.floats(0, 1e15), st.floats(1, 10))
def test_more_work_never_has_a_lower_floor(n_bytes, flops, factor):
    assert floor(KNOWN, n_bytes, factor * flops).ns >= floor(KNOWN, n_bytes, flops).ns * (1 - 1e-12)
    assert floor(KNOWN, factor * n_bytes, flops).ns >= floor(KNOWN, n_bytes, flops).ns * (1 - 1e-12)


def test_the_better_of_two_looks():
    other = Rates(2e11, {1 << 14: 1e10, 1 << 20: 6e10, 1 << 26: 1e10})
    assert KNOWN.best_of(other) == Rates(2e11, {1 << 14: 1e11, 1 << 20: 6e10, 1 << 26: 1e10})


def test_threads_count_together():
    assert rates.together([Turn(10, 0.0, 1.0), Turn(10, 1.0, 2.0)]) == 10.0


def test_sizes_reach_from_the_first_cache_to_memory():
    assert COPY_BYTES[0] <= 1 << 14 and COPY_BYTES[-1] >= 1 << 27


def test_an_unknown_document_is_an_error():
    with pytest.raises(KeyError):
        from_document({})
