import gc

import pytest

from taenite.bench.measure import MAX_BATCH, Stopwatch, collector_off, grown


class FakeClock:
    """Time passes only when the timed statement says so."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now

    def work(self, ns):
        self.now += ns
        return "result"


def stopwatch(ns):
    clock = FakeClock()
    return Stopwatch("out = work(ns)", {"work": clock.work, "ns": ns}, clock, lambda: 2 * clock.now)


def test_a_sample_is_the_time_of_its_batch():
    sample = stopwatch(30).sample(7)
    assert (sample.batch, sample.wall_ns, sample.cpu_ns) == (7, 210, 420)


def test_once_returns_the_outputs():
    assert stopwatch(1).once() == "result"


@pytest.mark.parametrize("ns", [3, 250, 40_000])
def test_calibration_fills_the_interval_without_much_excess(ns):
    found = stopwatch(ns).calibrate(1_000_000)
    assert 1_000_000 <= found.batch * ns <= 1_300_000
    assert found.call_ns == ns


def test_long_calls_are_not_batched():
    found = stopwatch(5_000_000).calibrate(1_000_000)
    assert (found.batch, found.call_ns) == (1, 5_000_000)


def test_batches_grow_tenfold_at_most_and_end():
    assert grown(1, 1, 10**9) == 10
    assert grown(10, 0, 10**9) == 100
    assert grown(MAX_BATCH, 1, 10**12) == MAX_BATCH
    assert stopwatch(0).calibrate(1000).batch == MAX_BATCH


def test_setup_and_destruction_are_outside_the_clock():
    """The output of the last call is destroyed after both clocks have been read."""
    clock = FakeClock()

    class Output:
        def __del__(self):
            clock.now += 1000

    watch = Stopwatch("out = make()", {"make": Output}, clock, clock)
    assert watch.sample(1).wall_ns == 0
    assert watch.sample(3).wall_ns == 2000


def test_the_collector_is_off_inside_and_restored():
    assert gc.isenabled()
    with pytest.raises(RuntimeError), collector_off():
        assert not gc.isenabled()
        raise RuntimeError
    assert gc.isenabled()
