import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taenite.bench import stats

DRAWS = 200

times = st.floats(1.0, 1e9)
visits = st.lists(st.lists(times, min_size=1, max_size=4), min_size=1, max_size=3)
trees = st.lists(visits, min_size=2, max_size=4)


def simulated(
    rng, processes=3, visits=3, count=5, between=0.02, within=0.02, memory=0.8, drift=0.02, ns=1000.0
):
    """One program: its processes differ, readings remember the one before, and the machine drifts."""
    tree = []
    for g in range(processes):
        process = rng.normal(0, between)
        steps = rng.normal(0, within, (visits, count))
        for i in range(1, count):
            steps[:, i] = memory * steps[:, i - 1] + math.sqrt(1 - memory**2) * steps[:, i]
        slow = drift * (g * visits + np.arange(visits)) / (processes * visits)
        tree.append((ns * np.exp(process + steps + slow[:, None])).tolist())
    return tree


def test_median_and_mad_of_known_values():
    found = stats.summarize([[[1, 2, 3]], [[4, 5, 100]]])
    assert (found.n, found.median, found.mad) == (6, 3.5, 1.5)
    assert found.interval.low <= found.median <= found.interval.high


def test_constant_readings_have_a_point_interval():
    found = stats.summarize([[[7.0, 7.0]] * 2] * 2)
    assert (found.interval.low, found.interval.high, found.mad) == pytest.approx((7.0, 7.0, 0.0))


@pytest.mark.parametrize(
    ("df", "t"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (5, 2.5706), (10, 2.2281), (30, 2.0423)],
)
def test_quantiles_of_student(df, t):
    """Against the printed tables, which have four decimals."""
    assert stats.student_quantile(0.95, df) == pytest.approx(t, abs=6e-5)
    assert 2 * stats.student_upper(t, df) == pytest.approx(0.05, abs=1e-5)


@given(trees)
def test_weighted_medians_are_those_of_repeated_readings(tree):
    readings = stats.Readings(tree)
    counts = stats.drawn(readings.shape, 5, 0)
    flat = [visit for process in tree for visit in process]
    for row, found in zip(counts, readings.medians(counts), strict=True):
        repeated = [x for visit, times in zip(flat, row, strict=True) for x in visit * int(times)]
        assert found == pytest.approx(float(np.median(repeated)))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.integers(0, 9))
def test_as_many_visits_are_drawn_as_the_drawn_processes_have(shape, seed):
    counts = stats.drawn(shape, 50, seed)
    ends = np.cumsum(shape)
    for (start, end), size in zip(zip([0, *ends[:-1]], ends, strict=True), shape, strict=True):
        assert np.all(counts[:, start:end].sum(axis=1) % size == 0)


@settings(max_examples=50)
@given(trees, st.floats(0.1, 10.0))
def test_the_interval_holds_the_value_and_scales(tree, factor):
    found = stats.summarize(tree, draws=DRAWS)
    scaled = stats.summarize([[[factor * x for x in v] for v in p] for p in tree], draws=DRAWS)
    assert found.interval.low <= found.median * (1 + 1e-12) and found.median <= found.interval.high * (
        1 + 1e-12
    )
    assert scaled.interval.low == pytest.approx(factor * found.interval.low)
    assert scaled.interval.high == pytest.approx(factor * found.interval.high)


@settings(max_examples=50)
@given(trees)
def test_what_is_compared_with_itself_is_the_same(tree):
    found = stats.ratio(tree, tree, draws=DRAWS)
    assert (found.value, found.verdict, found.p) == (1.0, "same", 1.0)
    assert (found.interval.low, found.interval.high) == pytest.approx((1.0, 1.0))


@settings(max_examples=50)
@given(trees, trees, st.floats(0.0, 0.5))
def test_swapping_the_sides_inverts_the_ratio(one, other, noise):
    a = stats.unpaired_ratio(one, other, noise, draws=2000)
    b = stats.unpaired_ratio(other, one, noise, draws=2000)
    assert a.value == pytest.approx(1 / b.value)
    opposite = {"faster": "slower", "slower": "faster"}
    if a.p < 0.01 and b.p < 0.01:
        assert b.verdict == opposite[a.verdict]


@given(st.floats(0.2, 5.0), st.floats(1.0, 1.5), st.floats(0.0, 0.3), st.integers(1, 10))
def test_the_p_value_is_below_5_percent_where_the_interval_clears_the_noise(value, width, noise, df):
    interval = stats.Interval(value / width, value * width)
    clears = stats.verdict(interval, noise) in ("faster", "slower")
    p = stats.exceedance(value, interval, df, noise)
    assert 0 <= p <= 1
    if not math.isclose(p, 0.05, rel_tol=1e-6):
        assert clears == (p < 0.05)


@given(st.lists(st.floats(0, 1), max_size=20))
def test_adjusted_p_values_are_no_smaller_and_keep_their_order(p):
    found = stats.adjusted(p)
    assert all(after >= before and after <= 1 for before, after in zip(p, found, strict=True))
    assert [found[i] for i in np.argsort(p, kind="stable")] == sorted(found)


def test_adjusted_p_values_of_a_known_list():
    assert stats.adjusted([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.02, 0.04, 0.04, 0.02])
    with pytest.raises(ValueError, match="p-values"):
        stats.adjusted([float("nan")])


def test_drift_of_rounds_cancels_in_a_paired_ratio():
    """The machine slows down threefold over the run; the ratio of the two backends does not move."""
    drift = np.linspace(1.0, 3.0, 8).reshape(2, 4, 1)
    ours, theirs = drift * np.full((2, 4, 4), 80.0), drift * np.full((2, 4, 4), 100.0)
    found = stats.ratio(ours.tolist(), theirs.tolist())
    assert (found.value, found.interval.low, found.interval.high) == pytest.approx((0.8, 0.8, 0.8))
    assert found.verdict == "faster"


def test_unequal_counts_of_identical_data_are_the_same():
    """Sides that differ in processes, visits and readings per visit, all of one program without noise."""
    few, many = [[[100.0]], [[100.0]]], [[[100.0] * 9, [100.0]], [[100.0]] * 4, [[100.0] * 2]]
    assert stats.unpaired_ratio(few, many).verdict == "same"
    rng = np.random.default_rng(1)
    short = simulated(rng, 3, 2, 3, between=0.001, within=0.004, drift=0)
    long = simulated(rng, 6, 4, 40, between=0.001, within=0.004, drift=0)
    assert stats.unpaired_ratio(short, long).verdict == "same"


def test_more_rounds_do_not_make_up_for_processes():
    """With a hundred visits in each of three processes, the interval still shows how processes differ."""
    rng = np.random.default_rng(2)
    found = stats.summarize(simulated(rng, 3, 100, 5, between=0.05, within=0.001, drift=0))
    assert found.interval.half_width > 0.02


LIMIT = 18
"""Of 200 trials at 5 %, more than 18 happen in 0.9 % of all cases."""


@pytest.mark.parametrize("compare", [stats.ratio, stats.unpaired_ratio])
@pytest.mark.parametrize("processes", [2, 3, 6])
def test_identical_code_is_not_called_different_beyond_the_declared_rate(compare, processes):
    """200 simulated A/B runs without a noise floor, which only makes verdicts rarer."""
    rng = np.random.default_rng(processes)
    called = 0
    for seed in range(200):
        ours, theirs = simulated(rng, processes), simulated(rng, processes)
        called += compare(ours, theirs, seed=seed, draws=DRAWS).verdict in ("faster", "slower")
    assert called <= LIMIT


def test_a_comparison_of_many_identical_rows_calls_none_different_beyond_the_declared_rate():
    """200 simulated comparisons of 8 rows: whether any row of a run is called different counts as one."""
    rng = np.random.default_rng(9)
    called = 0
    for seed in range(200):
        pairs = [(simulated(rng), simulated(rng)) for _ in range(8)]
        found = [stats.unpaired_ratio(a, b, seed=seed, draws=100).p for a, b in pairs]
        called += min(stats.adjusted(found)) <= stats.FALSE_DISCOVERIES
    assert called <= LIMIT


def test_a_difference_that_is_there_is_found():
    rng = np.random.default_rng(3)
    found = [
        stats.unpaired_ratio(simulated(rng, 4, ns=1300.0), simulated(rng, 4), 0.03).verdict for _ in range(20)
    ]
    assert found.count("slower") >= 18


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
    "processes",
    [
        [],
        [[], [[1.0]]],
        [[[]], [[1.0]]],
        [[[1.0], [2.0]]],
        *([[[bad]], [[1.0]]] for bad in (0.0, -1.0, math.nan, math.inf)),
    ],
    ids=str,
)
def test_bad_readings_are_refused(processes):
    for function in (stats.summarize, lambda p: stats.ratio(p, p), lambda p: stats.unpaired_ratio(p, p)):
        with pytest.raises(ValueError, match=r"bench\.stats"):
            function(processes)


def test_unpaired_visits_are_refused():
    with pytest.raises(ValueError, match="paired"):
        stats.ratio([[[1.0], [1.0]], [[1.0]]], [[[1.0]], [[1.0]]])


def test_bad_noise_is_refused():
    with pytest.raises(ValueError, match="noise"):
        stats.verdict(stats.Interval(1, 1), float("nan"))


def test_null_noise_is_half_the_range_of_the_logarithms():
    assert stats.null_noise([[100.0], [121.0], [110.0]]) == pytest.approx(0.1)
    assert stats.null_noise([[5.0, 5.0], [5.0]]) == 0.0
    with pytest.raises(ValueError, match="two generations"):
        stats.null_noise([[1.0]])


@settings(max_examples=50)
@given(st.lists(st.lists(st.floats(0.1, 10), min_size=1, max_size=5), min_size=2, max_size=4))
def test_the_mean_of_ratios_is_geometric_and_inverts(processes):
    found = stats.mean_ratio(processes, draws=DRAWS)
    inverse = stats.mean_ratio([[1 / x for x in p] for p in processes], draws=DRAWS)
    assert found.value == pytest.approx(stats.geometric_mean([x for p in processes for x in p]))
    assert found.interval.low == pytest.approx(1 / inverse.interval.high)
    with pytest.raises(ValueError, match="two processes"):
        stats.mean_ratio(processes[:1])


def test_geometric_mean():
    assert stats.geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="positive"):
        stats.geometric_mean([])
