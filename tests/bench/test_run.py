"""Whole runs of a tiny profile on NumPy, through the command line and through the driver."""

import csv
import dataclasses
import hashlib
import json
import shutil

import pytest
from typer.testing import CliRunner

from taenite.bench import commands, record, run, validity
from taenite.bench.case import Disagreement, rows
from taenite.bench.survey import PROFILES, Block, Plan, Profile, Result, Settings, Survey, plan, visits

TINY = Profile("tiny", 2, 2, 1.0, 1, 2, 1_000_000, 100_000, 3, 10**9)


@pytest.fixture(autouse=True)
def tiny_profile(monkeypatch):
    monkeypatch.setitem(PROFILES, "tiny", TINY)


def invoke(*arguments):
    return CliRunner().invoke(commands.app, list(map(str, arguments)))


def survey_numpy(directory, only="64x64"):
    return invoke(
        "run", "large_ad", "--backends", "numpy", "--profile", "tiny", "--only", only, "--out", directory
    )


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    directory = tmp_path_factory.mktemp("bundle") / "run"
    PROFILES["tiny"] = TINY
    outcome = survey_numpy(directory)
    assert outcome.exit_code == 0, outcome.output
    return directory, outcome.output


def test_terminal_shows_table_and_bundle(bundle):
    directory, output = bundle
    assert "svd 64x64" in output and "unsupported" in output
    assert f"bundle: {directory}" in output


def test_summary_has_the_columns_and_rows(bundle):
    directory, _ = bundle
    with (directory / "summary.csv").open() as file:
        reader = csv.DictReader(file)
        lines = list(reader)
    assert tuple(reader.fieldnames) == record.COLUMNS
    timed = [line for line in lines if line["status"] == "ok"]
    assert {line["op"] for line in timed} == {"svd", "qr", "eigh", "solve", "grad_sum_matmul"}
    for line in timed:
        assert float(line["ci_low_ns"]) <= float(line["median_ns"]) <= float(line["ci_high_ns"])
        assert int(line["n"]) >= 4
    refused = [line for line in lines if line["status"] == "unsupported"]
    assert refused and all(line["median_ns"] == "" and line["n"] == "0" for line in refused)


def test_samples_are_complete_and_integer(bundle):
    directory, _ = bundle
    visits = [json.loads(line) for line in (directory / "samples.jsonl").read_text().splitlines()]
    with (directory / "summary.csv").open() as file:
        timed = sum(int(line["n"]) for line in csv.DictReader(file))
    among_others = [v for v in visits if v["context"] == "suite" and not v["op"].startswith("control")]
    assert sum(len(v["wall_ns"]) for v in among_others) == timed
    assert all(isinstance(ns, int) and ns > 0 for v in visits for ns in v["wall_ns"])
    assert all(len(v["cpu_ns"]) == len(v["wall_ns"]) and v["batch"] >= 1 for v in visits)
    assert {v["generation"] for v in visits} == {0, 1} and {v["round"] for v in among_others} == {0, 1}


def test_run_document_says_where_and_how(bundle):
    directory, _ = bundle
    run_json = json.loads((directory / "run.json").read_text())
    assert run_json["schema"] == record.SCHEMA and run_json["seed"] == 1
    assert run_json["machine"]["cpu"] and run_json["machine"]["affinity"]
    assert len(run_json["workers"]) == 2 * TINY.generations  # NumPy and its twin
    assert all(worker["masks"] and worker["backend"]["numpy"] for worker in run_json["workers"])
    assert run_json["valid"] == (not run_json["warnings"])
    assert "# Survey" in (directory / "report.md").read_text()


def test_checksums_cover_every_file(bundle):
    directory, _ = bundle
    listed = dict(reversed(line.split("  ")) for line in (directory / "SHA256SUMS").read_text().splitlines())
    assert set(listed) == {p.name for p in directory.iterdir()} - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert hashlib.sha256((directory / name).read_bytes()).hexdigest() == digest


def test_a_bundle_is_never_overwritten(bundle):
    directory, _ = bundle
    assert survey_numpy(directory).exit_code == 2


def test_a_bundle_is_read_back_as_it_was_written(bundle, tmp_path):
    directory, _ = bundle
    survey, about, warnings = record.load(directory)
    record.begin(tmp_path / "again", survey.settings, about)
    record.write(tmp_path / "again", survey, about, warnings)
    for name in ("samples.jsonl", "summary.csv", "report.md"):
        assert (tmp_path / "again" / name).read_bytes() == (directory / name).read_bytes()
    assert invoke("report", directory).exit_code == 0


def test_a_bundle_that_was_changed_is_refused(bundle, tmp_path):
    directory, _ = bundle
    copy = tmp_path / "copy"
    shutil.copytree(directory, copy)
    (copy / "summary.csv").write_text("nothing")
    with pytest.raises(record.BadBundle, match=r"summary\.csv"):
        record.load(copy)
    assert invoke("report", copy).exit_code == 2
    for sums, text in (("", "does not list protocol.json"), ("garbage", "does not list")):
        (copy / "SHA256SUMS").write_text(sums)
        with pytest.raises(record.BadBundle, match=text):
            record.load(copy)
    run_json = json.loads((copy / "run.json").read_text())
    del run_json["rows"]
    (copy / "run.json").write_text(json.dumps(run_json))
    record.write_checksums(copy)
    with pytest.raises(record.BadBundle, match="is not what schema"):
        record.load(copy)
    assert invoke("report", tmp_path).exit_code == 2


def rewritten(directory, target, spoil):
    """A copy of a bundle with its survey changed."""
    survey, about, warnings = record.load(directory)
    spoil(survey, about)
    record.begin(target, survey.settings, about)
    record.write(target, survey, about, warnings)
    return target


def test_a_run_does_not_differ_from_itself(bundle):
    directory, _ = bundle
    assert invoke("compare", directory, directory).exit_code == 0
    outcome = invoke("check", directory, "--against", directory)
    assert outcome.exit_code == 0 and "none of ours is slower" in outcome.output


def test_check_tells_wrong_from_another_machine(bundle, tmp_path):
    directory, _ = bundle

    def spoil(survey, about):
        next(r for r in survey.results.values() if r.timed).fail("wrong", "planted")

    failed = rewritten(directory, tmp_path / "failed", spoil)
    assert invoke("check", failed, "--against", directory).exit_code == commands.WRONG
    other = rewritten(directory, tmp_path / "other", lambda survey, about: about.update(cpu="another"))
    assert invoke("check", other, "--against", directory).exit_code == 3


class Silent:
    def start(self, total): ...
    def advance(self, what): ...


def settings(only):
    return Settings(("large_ad",), ("numpy",), (1,), TINY, 1, only)


def test_a_wrong_row_has_no_time_and_fails_the_run(monkeypatch, tmp_path):
    row = next(r for r in rows("large_ad") if str(r) == "qr 64x64")

    def never(fixture):
        def check(phase, outputs):
            raise Disagreement("planted")

        return check

    wrong = dataclasses.replace(row, case=dataclasses.replace(row.case, oracle=never))
    monkeypatch.setattr(run, "choose", lambda settings: [wrong])
    survey = run.run(settings("qr 64x64"), Silent())
    result, twin = survey.results.values()
    assert twin.status == "wrong"
    assert (result.status, result.note, result.blocks, result.timed) == ("wrong", "planted", [], False)


def test_a_product_with_another_tangent_is_wrong(monkeypatch):
    """The oracle is told of a tangent twice as long, so that a right answer is half of what it wants."""
    row = next(r for r in rows("second_order") if str(r) == "grad_damped_sine_hvp 64x64")

    def doubled(fixture):
        longer = tuple(2 * tangent for tangent in fixture.tangents)
        return row.case.oracle(dataclasses.replace(fixture, tangents=longer))

    planted = dataclasses.replace(row, case=dataclasses.replace(row.case, oracle=doubled))
    asked = Settings(("second_order",), ("eager",), (1,), TINY, 1)
    for chosen, status in ((row, "ok"), (planted, "wrong")):
        monkeypatch.setattr(run, "choose", lambda settings, chosen=chosen: [chosen])
        result, twin = run.run(asked, Silent()).results.values()
        assert result.status == status, result.note
        assert result.timed == twin.timed == (status == "ok")
    assert "product 0: off by 5.00e-01" in result.note


def test_a_crash_costs_one_row_and_the_worker_is_replaced(monkeypatch):
    """The worker is killed at the first row; the second one is measured by its successor."""
    original = run.Driver.prepared
    doomed = []

    def killing(self, team, name, result, path, **options):
        if not doomed and name == "numpy":
            doomed.append(str(result.row))
            team.client("numpy")._process.kill()
        return original(self, team, name, result, path, **options)

    monkeypatch.setattr(run.Driver, "prepared", killing)
    survey = run.run(settings("solve 64x64,rhs=1"), Silent())
    by_row = {
        str(r.row): r for r in survey.results.values() if r.backend == "numpy" and r.status != "unsupported"
    }
    crashed = by_row.pop(doomed[0])
    assert crashed.status == "error" and "worker died" in crashed.note
    assert by_row and all(r.timed for r in by_row.values())


def test_usage_errors_exit_with_two():
    for arguments in (
        ("run", "nonsense"),
        ("run", "large_ad", "--backends", "nonsense"),
        ("run", "large_ad", "--backends", "numpy,numpy"),
        ("run", "large_ad", "--profile", "nonsense"),
        ("run", "large_ad", "--threads", "4096"),
        ("run", "large_ad", "--threads", "none"),
        ("run", "large_ad", "--only", "no such row"),
    ):
        assert invoke(*arguments).exit_code == 2, arguments


def test_a_missing_backend_is_an_error_only_when_it_was_asked_for(monkeypatch):
    monkeypatch.setattr(commands.adapters, "available", lambda name: name != "torch")
    names, notes = commands.chosen_backends(None)
    assert "torch" not in names and any("torch" in note for note in notes)
    assert invoke("run", "large_ad", "--backends", "torch").exit_code == 2


def test_list_names_suites_cases_and_sizes():
    outcome = invoke("list")
    assert outcome.exit_code == 0
    for text in ("large_ad:", "grad_sum_svd_s", "1024x1024"):
        assert text in outcome.output


def test_plans_fill_a_visit_and_long_rows_are_visited_once():
    assert plan(TINY, 10, 1000) == Plan(10, 3, 1000)
    assert plan(TINY, 1, 10**10).count == 1
    assert visits(TINY, [Plan(1, 1, 10)]) == 2
    assert visits(TINY, [Plan(1, 1, 10), Plan(1, 1, 2 * 10**9)]) == 1


QUIET = {"foreign": 0, "throttled": 0, "cpus": 2}
ABOUT = {"governor": None, "simd": ["avx2"], "environment": {}}


def drifting():
    """A control that takes twice as long in half of its visits."""
    control = Result(rows("control")[0], "numpy@control", 1)
    control.blocks = [Block(0, i, 0, 1, (1000 * (1 + i % 2),), (1000,)) for i in range(12)]
    return control


def failed_control():
    control = Result(rows("control")[0], "numpy@control", 1)
    control.fail("error", "planted")
    return control


def sound_survey():
    survey = Survey(settings(None))
    result = survey.result(rows("large_ad")[0], "numpy", 1)
    survey.expected = 1
    result.blocks = [Block(g, 0, 0, 1, (1000, 1000), (1000, 1000)) for g in range(2)]
    survey.workers = [{"name": "numpy", "threads": 1, "affinity": [1], "masks": {"1": 2}, "libraries": []}]
    survey.rounds = [dict(QUIET), dict(QUIET)]
    return survey, result


def test_a_sound_run_has_no_warnings():
    survey, _ = sound_survey()
    assert validity.check(survey, ABOUT, 0.0) == []


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (lambda s, r, a: r.blocks.append(Block(1, 0, 0, 1, (1000,), (9000,))), "up to"),
        (lambda s, r, a: r.blocks.append(Block(1, 0, 0, 1, (9000,), (1000,))), "shared"),
        (lambda s, r, a: s.workers[0].update(masks={"0-1": 3}), "outside"),
        (lambda s, r, a: s.workers[0].update(affinity=[0, 1]), "pinned"),
        (lambda s, r, a: s.workers[0].update(libraries=[{"architecture": "Prescott"}]), "prescott"),
        (lambda s, r, a: s.workers[0].update(affinity=[0, 1], threads=2, masks={"0": 1}), "confined"),
        (lambda s, r, a: s.rounds[0].update(foreign=3), "quiet"),
        (lambda s, r, a: s.rounds[1].update(throttled=2), "quota stopped the run 2 times"),
        (lambda s, r, a: s.rounds[1].update(cpus=1), "from 2 to 1"),
        (lambda s, r, a: r.blocks.append(Block(1, 0, 0, 1, (1000,), (1000,), switches=9)), "preempted"),
        (lambda s, r, a: r.blocks.pop(), "lacks readings"),
        (lambda s, r, a: setattr(s, "expected", 2), "not complete"),
        (lambda s, r, a: setattr(r, "suspect", "too fast"), "too fast"),
        (lambda s, r, a: s.workers.append({**s.workers[0], "libraries": [{"filepath": "x"}]}), "changed"),
        (lambda s, r, a: s.controls.append(drifting()), "drifted by 100%"),
        (lambda s, r, a: s.controls.append(failed_control()), "control_matmul 256x256 failed: planted"),
        (lambda s, r, a: a.update(governor="powersave"), "powersave"),
        (lambda s, r, a: a.update(environment={"OPENBLAS_CORETYPE": "Haswell"}), "unset"),
    ],
)
def test_each_fault_is_reported(spoil, text):
    survey, result = sound_survey()
    about = dict(ABOUT)
    spoil(survey, result, about)
    warnings = validity.check(survey, about, 0.0)
    assert any(text in warning for warning in warnings), warnings


def test_stolen_time_is_reported():
    survey, _ = sound_survey()
    assert any("hypervisor" in warning for warning in validity.check(survey, ABOUT, 0.05))
