import numpy as np
import pytest

from taenite.bench import stats


def test_median_and_mad_of_known_values():
    found = stats.summarize([[1, 2, 3], [4, 5, 100]])
    assert (found.n, found.median, found.mad) == (6, 3.5, 1.5)
    assert found.interval.low <= found.median <= found.interval.high


def test_constant_readings_have_a_point_interval():
    found = stats.summarize([[7.0, 7.0]] * 4)
    assert (found.interval.low, found.interval.high, found.mad) == (7.0, 7.0, 0.0)


def test_interval_of_the_median_covers_the_truth():
    """A 95 % interval from 12 independent blocks misses the true median in well under 15 % of trials."""
    rng = np.random.default_rng(0)
    misses = 0
    for trial in range(200):
        interval = stats.summarize(rng.lognormal(0.0, 0.2, (12, 5)), seed=trial, draws=400).interval
        misses += not interval.low <= 1.0 <= interval.high
    assert misses / 200 < 0.15


def test_drift_of_rounds_cancels_in_a_paired_ratio():
    """The machine slows down threefold over the run; the ratio of the two backends does not move."""
    drift = np.linspace(1.0, 3.0, 8)[:, None]
    ours, theirs = drift * np.full((8, 4), 80.0), drift * np.full((8, 4), 100.0)
    found = stats.ratio(ours, theirs)
    assert found.value == pytest.approx(0.8)
    assert found.interval.low == pytest.approx(0.8) and found.interval.high == pytest.approx(0.8)
    assert found.verdict == "faster"


@pytest.mark.parametrize(
    ("low", "high", "noise", "expected"),
    [
        (0.5, 0.8, 0.1, "faster"),
        (1.2, 1.5, 0.1, "slower"),
        (0.99, 1.01, 0.0, "same"),
        (0.98, 1.02, 0.05, "same"),
        (0.85, 0.95, 0.20, "inconclusive"),
        (0.7, 1.4, 0.0, "inconclusive"),
    ],
)
def test_verdicts(low, high, noise, expected):
    assert stats.verdict(stats.Interval(low, high), noise) == expected


@pytest.mark.parametrize(
    "blocks",
    [[], [[]], [[1.0], [1.0, 2.0]], [[0.0]], [[-1.0]], [[float("nan")]], [[float("inf")]]],
    ids=str,
)
def test_bad_readings_are_refused(blocks):
    with pytest.raises(ValueError, match=r"bench\.stats"):
        stats.summarize(blocks)


def test_unpaired_blocks_are_refused():
    with pytest.raises(ValueError, match="paired"):
        stats.ratio([[1.0], [1.0]], [[1.0]])


def test_bad_noise_is_refused():
    with pytest.raises(ValueError, match="noise"):
        stats.verdict(stats.Interval(1, 1), float("nan"))


def test_null_noise_is_half_the_range_of_the_logarithms():
    assert stats.null_noise([[100.0], [121.0], [110.0]]) == pytest.approx(0.1)
    assert stats.null_noise([[5.0, 5.0], [5.0]]) == 0.0
    with pytest.raises(ValueError, match="two generations"):
        stats.null_noise([[1.0]])


def test_geometric_mean():
    assert stats.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="positive"):
        stats.geometric_mean([])
