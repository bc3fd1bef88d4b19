import pytest

from taenite.bench import compare, report
from taenite.bench.case import rows
from taenite.bench.survey import PROFILES, Block, Settings, Survey

ROWS = [row for row in rows("large_ad") if row.op == "qr"]


def made_up(times):
    """A survey in which each backend takes the given nanoseconds on each row of qr; None is `wrong`."""
    survey = Survey(Settings(("large_ad",), tuple(times), (1,), PROFILES["quick"], 1))
    for name, values in times.items():
        for row, ns in zip(ROWS, values, strict=True):
            result = survey.result(row, name, 1)
            if ns is None:
                result.fail("wrong", "made up")
            else:
                result.blocks = [Block(g, 0, 0, 1, (ns, ns), (ns, ns)) for g in range(3)]
    return survey


EAGER = [50, 50, 50, 50, 100]
NUMPY = [100, 100, 100, 100, 50]
TORCH = [200, 200, 25, None, None]


@pytest.fixture
def survey():
    return made_up({"eager": EAGER, "numpy": NUMPY, "torch": TORCH})


def test_each_row_is_compared_with_its_fastest_peer(survey):
    found = compare.Analysis(survey).comparisons
    assert [c.peer for c in found] == ["numpy", "numpy", "torch", "numpy", "numpy"]
    assert [c.ratio.value for c in found] == [0.5, 0.5, 2.0, 0.5, 2.0]
    assert [c.ratio.verdict for c in found] == ["faster", "faster", "slower", "faster", "slower"]


def test_groups_split_sizes_and_keep_peers_apart(survey):
    small, large = compare.groups(survey)
    assert (small.name, small.rows) == ("eager: primal, n <= 128", 2)
    assert small.against["torch"].value == pytest.approx(0.25)
    assert (large.name, large.rows) == ("eager: primal, n >= 256", 3)
    assert large.against[compare.BEST].value == pytest.approx(2 ** (1 / 3))
    assert large.against["numpy"].value == pytest.approx(1 / 2 ** (1 / 3))
    assert large.against["numpy"].worst_row == "qr 1024x1024"


def test_without_our_own_the_first_backend_is_compared():
    assert compare.ours(["jax", "torch"]) == ["jax"]
    assert compare.ours(["numpy", "eager", "torch"]) == ["eager"]


def test_report_shows_every_row_and_why_some_have_no_time(survey):
    text = report.markdown(compare.Analysis(survey), {"cpu": "made up", "system": "none"}, ["a warning"])
    for row in ROWS:
        assert str(row) in text
    assert "NOT VALID" in text and "a warning" in text and "wrong: made up" in text
    assert "0.50 [0.50, 0.50]" in text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (3.21, "3.21 ns"),
        (45.2, "45.2 ns"),
        (999, "999 ns"),
        (1500, "1.50 us"),
        (2.5e6, "2.50 ms"),
        (3e9, "3.00 s"),
    ],
)
def test_durations_have_three_digits(ns, text):
    assert report.duration(ns) == text
