"""Two runs side by side, and the gate: made-up bundles with planted differences."""

import json

import made
import pytest
from typer.testing import CliRunner

from taenite.bench import baseline, commands, html, record, stats, thresholds

ONLY = "solve"
THREADS = (1,)


@pytest.fixture(autouse=True)
def no_html(monkeypatch):
    monkeypatch.setattr(html, "missing", lambda: ["matplotlib"])


def survey(seed=0, **options):
    return made.made_survey(seed=seed, only=options.pop("only", ONLY), **options)


def invoke(*arguments):
    return CliRunner().invoke(commands.app, list(map(str, arguments)))


@pytest.fixture
def written(tmp_path):
    """Write surveys as bundles of their names."""

    def write(name, found, about=made.ABOUT):
        return made.write_bundle(tmp_path / name, found, about)

    return write


def check(now, then, *options):
    return invoke("check", now, "--against", then, *options)


def test_two_runs_of_one_program_differ_in_nothing():
    found = baseline.changes(survey(1), survey(2))
    counted = baseline.counts(found)
    assert counted["faster"] == counted["slower"] == 0 and sum(counted.values()) == len(found)
    assert not any("@aa" in c.now.backend for c in found)


def test_what_became_slower_is_found_among_many_rows():
    now = survey(1, speeds={**made.SPEEDS, "eager": 1.5})
    found = baseline.changes(now, survey(2))
    slower = baseline.regressions(now, found)
    assert {c.now.backend for c in slower} == {"eager"} and len(slower) == len(found) // 2


def test_verdicts_hold_for_all_rows_together():
    """A p-value that is enough for one row is not enough for one among many."""
    ratio = stats.Ratio(1.5, stats.Interval(1.2, 1.9), "slower", 0.04)
    result = next(iter(survey().results.values()))
    assert baseline.Change(result, result, ratio, 0.1, 0.04).verdict == "slower"
    assert baseline.Change(result, result, ratio, 0.1, 0.5).verdict == "inconclusive"


def test_a_machine_that_slowed_down_takes_verdicts_away_and_is_told(written):
    """Everything takes 1.3 times as long, the controls too: that is the machine, not the program."""
    now, then = survey(1, shift=1.3), survey(2)
    assert all(shift.size == pytest.approx(0.3, abs=0.02) for shift in baseline.shifts(now, then))
    assert baseline.counts(baseline.changes(now, then))["slower"] == 0
    outcome = check(written("now", now), written("then", then))
    assert outcome.exit_code == 0 and "now / then 1.30" in outcome.output


def test_compare_prints_counts(written):
    outcome = invoke("compare", written("now", survey(1)), written("then", survey(2)))
    assert outcome.exit_code == 0 and "rows compared: 0 slower, 0 faster" in outcome.output


@pytest.mark.parametrize("command", ["compare", "check"])
def test_unlike_machines_are_refused(written, command):
    now, then = written("now", survey()), written("then", survey(), {**made.ABOUT, "cpu": "another"})
    outcome = check(now, then) if command == "check" else invoke("compare", now, then)
    assert outcome.exit_code == commands.INCOMPARABLE and "differ in cpu" in outcome.output


def test_another_schema_is_refused(written):
    now, then = written("now", survey()), written("then", survey())
    run = json.loads((then / "run.json").read_text())
    record.write_json(then / "run.json", {**run, "schema": 1})
    record.write_checksums(then)
    assert check(now, then).exit_code == commands.INCOMPARABLE


def test_runs_without_a_common_row_are_refused(written):
    now, then = written("now", survey(only="qr 64")), written("then", survey(only="svd 64"))
    outcome = invoke("compare", now, then)
    assert outcome.exit_code == commands.INCOMPARABLE and "no timed row in common" in outcome.output


def swapped():
    found = survey(1)
    for worker in found.workers:
        if worker["name"] == "eager":
            worker["libraries"] = [{**worker["libraries"][0], "sha256": "1" * 64}]
    return found


def test_another_library_is_told_and_stops_the_gate(written):
    now, then = written("now", swapped()), written("then", survey(2))
    outcome = check(now, then)
    assert outcome.exit_code == commands.INCOMPARABLE
    assert "eager ran other libraries then: eager.so (sha256 000000000000); now: eager.so" in outcome.output
    assert check(now, then, "--allow-library-change").exit_code == 0
    compared = invoke("compare", now, then)
    assert compared.exit_code == 0 and "ran other libraries" in compared.output


def test_a_peer_may_change_its_libraries(written):
    found = survey(1)
    for worker in found.workers:
        if worker["name"] == "numpy":
            worker["libraries"] = []
    assert check(written("now", found), written("then", survey(2))).exit_code == 0


def test_slower_is_one(written):
    slow = survey(1, speeds={**made.SPEEDS, "eager": 1.5})
    now, then = written("now", slow), written("then", survey(2))
    assert check(now, then).exit_code == commands.SLOWER
    assert check(then, now).exit_code == 0


def test_thresholds_of_the_baseline_decide(written):
    """Half as long again is within a threshold of 80 %; the last pattern that matches counts."""
    slow = written("now", survey(1, speeds={**made.SPEEDS, "eager": 1.5}))
    lenient = written("lenient", survey(2, thresholds=(("*", 0.8),)))
    strict = written("strict", survey(2, thresholds=(("*", 0.8), ("solve 64x64*", 0.05))))
    assert check(slow, lenient).exit_code == 0
    outcome = check(slow, strict)
    assert outcome.exit_code == commands.SLOWER and "solve 128" not in outcome.output
    assert json.loads((strict / "protocol.json").read_text())["thresholds"]["rows"] == {
        "*": 0.8,
        "solve 64x64*": 0.05,
    }
    assert record.load(strict)[0].settings.thresholds == (("*", 0.8), ("solve 64x64*", 0.05))


@pytest.mark.parametrize(("status", "code"), [("wrong", 4), ("error", 6), ("unsupported", 3)])
def test_a_row_that_lost_its_time_is_no_pass(written, status, code):
    found = survey(1)
    next(r for r in found.results.values() if r.backend == "eager").fail(status, "planted")
    now, then = written("now", found), written("then", survey(2))
    assert check(now, then).exit_code == code
    assert check(now, then, "--allow-missing").exit_code == (0 if status == "unsupported" else code)


def test_fewer_rows_than_the_baseline_are_no_pass(written):
    now, then = written("now", survey(1, only="solve 64x64")), written("then", survey(2))
    outcome = check(now, then)
    assert outcome.exit_code == commands.INCOMPARABLE and "has no time now" in outcome.output
    assert check(now, then, "--allow-missing").exit_code == 0


def test_nothing_measured_is_no_pass(written):
    found = survey(1)
    for result in found.results.values():
        result.fail("unsupported", "made up")
    assert check(written("now", found), written("then", survey(2))).exit_code == commands.NOTHING
    assert commands.outcome(found) == commands.NOTHING


def test_a_run_exits_with_the_worst_that_happened():
    found = survey()
    results = iter(found.results.values())
    assert commands.outcome(found) == 0
    next(results).fail("error", "planted")
    assert commands.outcome(found) == commands.ERROR
    next(results).fail("wrong", "planted")
    assert commands.outcome(found) == commands.WRONG


def test_what_is_no_bundle_is_a_usage_error(written, tmp_path):
    assert check(written("now", survey()), tmp_path).exit_code == commands.USAGE


def test_rows_that_are_timed_in_another_way_are_not_compared():
    now, then = survey(1), survey(2)
    result = next(iter(now.results.values()))
    result.plan = type(result.plan)(8, 3, 100)
    assert (result.row.key, result.backend) not in {
        (c.now.row.key, c.now.backend) for c in baseline.changes(now, then)
    }
    assert any("destroyed inside" in text for text in baseline.differences(now, then))


@pytest.mark.parametrize(
    ("text", "expected"), [("svd *=10", ("svd *", 0.1)), ("*rhs=1*=2.5", ("*rhs=1*", 0.025))]
)
def test_thresholds_are_percentages(text, expected):
    assert thresholds.parse_threshold(text) == expected


@pytest.mark.parametrize("text", ["svd", "=3", "svd=", "svd=fast", "svd=-1", "svd=nan", "svd=inf"])
def test_bad_thresholds_are_refused(text):
    with pytest.raises(ValueError, match="PATTERN=PERCENT"):
        thresholds.parse_threshold(text)
    assert invoke("run", "large_ad", "--backends", "numpy", "--threshold", text).exit_code == 2
