"""Backends that cheat or break the rules, through whole runs: each is found out, and the message says how."""

import os
from pathlib import Path

import pytest

from taenite.bench import machine, run, validity
from taenite.bench.case import all_rows
from taenite.bench.survey import Profile, Settings

TINY = Profile("tiny", 1, 1, 1.0, 0, 2, 20_000_000, 1_000_000, 20, 10**9)
ABOUT = {"governor": None, "simd": [], "environment": {}}


class Silent:
    def start(self, total): ...
    def advance(self, what): ...


@pytest.fixture
def measured(monkeypatch):
    """Run one row on a planted backend; its result, and what the run is accused of."""

    def measure(name, row, threads=1):
        file = Path(__file__).parent / "planted" / f"{name}_backend.py"
        monkeypatch.setenv("TAENITE_BENCH_ADAPTERS", str(file))
        chosen = next(one for one in all_rows() if str(one) == row)
        monkeypatch.setattr(run, "choose", lambda settings: [chosen])
        survey = run.run(Settings(chosen.suites, (name,), (threads,), TINY, 1), Silent())
        return survey.results[chosen.key, name, threads], validity.check(survey, ABOUT, None)

    return measure


def test_a_wrong_gradient_has_no_time(measured):
    result, _ = measured("doubled", "grad_sum_matmul_backward 64x64")
    assert (result.status, result.timed) == ("wrong", False)
    assert result.note.startswith("gradient 0: off by 1.00e+00")


def test_outputs_that_come_after_the_clock_has_stopped_are_an_error(measured):
    result, _ = measured("unawaited", "matmul 128x128")
    assert (result.status, result.timed) == ("error", False)
    assert "after the clock had stopped" in result.note and "must wait" in result.note


def test_an_answer_from_before_the_clock_is_faster_than_the_machine(measured):
    result, warnings = measured("cached", "matmul 128x128")
    assert result.timed and "is below the" in result.suspect and "flops" in result.suspect
    assert any("is below the" in warning for warning in warnings)


def test_a_second_thread_that_works_is_noticed(measured):
    _, warnings = measured("crowded", "matmul 128x128")
    assert any(warning.startswith("crowded") and "preempted" in warning for warning in warnings), warnings


@pytest.mark.skipif(len(machine.affinity()) < 2, reason="needs two CPUs")
def test_a_thread_that_is_pinned_below_the_domain_is_noticed(measured):
    _, warnings = measured("confined", "matmul 128x128", threads=2)
    assert any("a thread is confined to CPUs" in warning for warning in warnings), warnings


def test_honest_backends_are_accused_of_nothing_that_is_theirs(measured, monkeypatch):
    monkeypatch.delenv("TAENITE_BENCH_ADAPTERS", raising=False)
    chosen = next(one for one in all_rows() if str(one) == "matmul 128x128")
    monkeypatch.setattr(run, "choose", lambda settings: [chosen])
    survey = run.run(Settings(chosen.suites, ("eager", "numpy"), (1,), TINY, 1), Silent())
    assert all(result.status == "ok" and not result.suspect for result in survey.results.values())
    theirs = ("confined", "outside", "used up to", "is below", "lacks", "not complete", "changed")
    assert not [w for w in validity.check(survey, ABOUT, None) if any(text in w for text in theirs)]
    assert os.environ.get("TAENITE_BENCH_ADAPTERS") is None
