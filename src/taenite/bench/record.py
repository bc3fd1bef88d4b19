"""The bundle: everything that a run found, in files that outlive it."""

from __future__ import annotations

import csv
import hashlib
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import html, machine, report, stats, thresholds
from .case import Row, all_rows, destruction
from .compare import Analysis
from .rates import from_document
from .run import choose
from .survey import STATUSES, Block, Plan, Profile, Result, Settings, Survey
from .toggles import parse_toggle

SCHEMA = 2
REQUIRED = {"protocol.json", "run.json", "samples.jsonl"}
ROW = ("op", "phase", "shape", "dtype")
IDENTITY = (*ROW, "threads", "backend")
COLUMNS = (
    "suite",
    "op",
    "phase",
    "shape",
    "dtype",
    "threads",
    "backend",
    "n",
    "median_ns",
    "mad_ns",
    "ci_low_ns",
    "ci_high_ns",
    "status",
)


def begin(directory: Path, settings: Settings, about: dict[str, Any]) -> None:
    """Write the protocol, before anything is measured; a directory that holds one already is refused."""
    if (directory / "protocol.json").exists():
        raise FileExistsError(f"bench: {directory} holds a bundle already.")
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "protocol.json", protocol(settings, about))


def protocol(settings: Settings, about: dict[str, Any]) -> dict[str, Any]:
    """What will be measured and how it will be judged."""
    chosen = choose(settings)
    return {
        "schema": SCHEMA,
        **settings_document(settings),
        "expected_results": len(chosen) * len(settings.arms) * len(settings.threads),
        "rows": [row.key for row in chosen],
        "statistics": {
            "level": stats.LEVEL,
            "same": stats.SAME,
            "bootstrap_draws": stats.DRAWS,
            "false_discoveries": stats.FALSE_DISCOVERIES,
        },
        "thresholds": thresholds.document(settings.thresholds),
        "taenite": machine.package_version("taenite"),
        "machine": about,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }


def write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n")


def write(directory: Path, survey: Survey, about: dict[str, Any], warnings: list[str]) -> None:
    """Write what a run found beside its protocol."""
    if (directory / "run.json").exists():
        raise FileExistsError(f"bench: {directory} holds the results of a run already.")
    write_json(directory / "run.json", run_document(survey, about, warnings))
    write_samples(directory / "samples.jsonl", survey)
    write_summary(directory / "summary.csv", survey)
    write_reports(directory, Analysis(survey), about, warnings)


def write_reports(directory: Path, analysis: Analysis, about: dict[str, Any], warnings: list[str]) -> None:
    """The reports, for people, and the checksums of everything; the HTML only where it can be made."""
    (directory / "report.md").write_text(report.markdown(analysis, about, warnings))
    if not html.missing():
        (directory / "report.html").write_text(html.page(analysis, about, warnings), encoding="utf-8")
    write_checksums(directory)


def settings_document(settings: Settings) -> dict[str, Any]:
    return {
        "suites": settings.suites,
        "backends": settings.backends,
        "arms": [arm.document() for arm in settings.arms],
        "toggles": [str(toggle) for toggle in settings.toggles],
        "threads": settings.threads,
        "profile": asdict(settings.profile),
        "seed": settings.seed,
        "only": settings.only,
        "budget_s": settings.budget_s,
    }


def run_document(survey: Survey, about: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        **settings_document(survey.settings),
        "seconds": survey.seconds,
        "valid": not warnings,
        "warnings": warnings,
        "notes": survey.notes,
        "noise": survey.noise,
        "expected_results": survey.expected,
        "statuses": {status: survey.count(status) for status in STATUSES},
        "machine": about,
        "rates": {str(threads): rates.document() for threads, rates in survey.rates.items()},
        "workers": survey.workers,
        "rounds": survey.rounds,
        "rows": [row_document(survey, result) for result in survey.results.values()],
        "controls": [row_document(survey, result) for result in survey.controls],
    }


def row_document(survey: Survey, result: Result) -> dict[str, Any]:
    floor, timed = survey.floor(result), result.timed
    return {
        **identity(result),
        "scope": result.row.scope,
        "output": result.row.output,
        "destruction": destruction(result.plan.batch) if result.plan else None,
        "status": result.status,
        "note": result.note,
        "suspect": result.suspect,
        "plan": asdict(result.plan) if result.plan else None,
        "setup_ns": result.setup_ns,
        "first_call_ns": result.first_call_ns,
        "floor": asdict(floor) if floor else None,
        "effective_threads": round(result.effective_threads, 4) if timed else None,
        "faults_per_call": round(result.faults_per_call, 2) if timed else None,
        "suite_effect": result.suite_effect,
        "noise": result.noise if timed else None,
    }


def row_identity(row: Row) -> dict[str, Any]:
    return {"op": row.op, "phase": row.phase, "shape": row.size.label, "dtype": row.dtype}


def identity(result: Result) -> dict[str, Any]:
    return {**row_identity(result.row), "threads": result.threads, "backend": result.backend}


def write_samples(path: Path, survey: Survey) -> None:
    """One line per visit with all its readings: integer nanoseconds, each for ``batch`` calls."""
    with path.open("w") as file:
        for result in (*survey.results.values(), *survey.controls):
            for context, blocks in contexts(result).items():
                for block in blocks:
                    visit = {**identity(result), "context": context, **asdict(block)}
                    file.write(json.dumps(visit, separators=(",", ":")) + "\n")


def contexts(result: Result) -> dict[str, list[Block]]:
    """The visits among other rows, and those in a process of their own."""
    return {"suite": result.blocks, "clean": result.clean}


def write_summary(path: Path, survey: Survey) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for result in survey.results.values():
            writer.writerow(summary_row(result, survey.settings.suites))


def summary_row(result: Result, suites: tuple[str, ...]) -> dict[str, Any]:
    suite = next(s for s in suites if s in result.row.suites)
    row = {"suite": suite, **identity(result), "n": 0, "status": result.status}
    if not result.timed:
        return row
    found = result.summary
    return row | {
        "n": found.n,
        "median_ns": round(found.median, 1),
        "mad_ns": round(found.mad, 1),
        "ci_low_ns": round(found.interval.low, 1),
        "ci_high_ns": round(found.interval.high, 1),
    }


class BadBundle(ValueError):
    """A directory that is no bundle, or one that was changed after it was written."""


class OtherSchema(BadBundle):
    """A bundle that another version of taenite wrote."""


def load_protocol(directory: Path) -> dict[str, Any]:
    protocol: dict[str, Any] = json.loads((directory / "protocol.json").read_text())
    return protocol


def load(directory: Path) -> tuple[Survey, dict[str, Any], list[str]]:
    """A bundle as it was written: the survey, the machine, and the warnings.

    Raises BadBundle for a directory that is none or was changed, OtherSchema for one of another version.
    """
    verify_checksums(directory)
    run = json.loads((directory / "run.json").read_text())
    if run.get("schema") != SCHEMA:
        raise OtherSchema(
            f"{directory} has schema {run.get('schema')}; this version reads {SCHEMA}: measure again."
        )
    try:
        return rebuilt(directory, run)
    except (KeyError, TypeError) as error:
        raise BadBundle(f"{directory} is not what schema {SCHEMA} describes: {error!r}.") from error


def rebuilt(directory: Path, run: dict[str, Any]) -> tuple[Survey, dict[str, Any], list[str]]:
    """The survey from its documents."""
    declared = load_protocol(directory)["thresholds"].get("rows", {})
    survey = Survey(
        load_settings(run, declared), workers=run["workers"], rounds=run["rounds"], notes=run["notes"]
    )
    survey.seconds, survey.expected = run["seconds"], run["expected_results"]
    survey.rates = {int(threads): from_document(rates) for threads, rates in run["rates"].items()}
    known = {tuple(row_identity(row).values()): row for row in all_rows()}

    def row_of(entry: dict[str, Any]) -> Row:
        key = tuple(entry[name] for name in ROW)
        if key not in known:
            raise BadBundle(f"{directory} has a row that this version does not know: {' '.join(key)}.")
        return known[key]

    for entry in run["rows"]:
        load_row(survey.result(row_of(entry), entry["backend"], entry["threads"]), entry)
    for entry in run["controls"]:
        load_row(survey.control(row_of(entry), entry["backend"], entry["threads"]), entry)
    load_samples(directory / "samples.jsonl", survey)
    return survey, run["machine"], run["warnings"]


def load_row(result: Result, entry: dict[str, Any]) -> None:
    result.status, result.note, result.suspect = entry["status"], entry["note"], entry["suspect"]
    result.plan = Plan(**entry["plan"]) if entry["plan"] else None
    result.setup_ns, result.first_call_ns = entry["setup_ns"], entry["first_call_ns"]


def load_settings(run: dict[str, Any], declared: dict[str, float]) -> Settings:
    return Settings(
        tuple(run["suites"]),
        tuple(run["backends"]),
        tuple(run["threads"]),
        Profile(**run["profile"]),
        run["seed"],
        run["only"],
        tuple(map(parse_toggle, run["toggles"])),
        run["budget_s"],
        tuple(declared.items()),
    )


def load_samples(path: Path, survey: Survey) -> None:
    """Put the visits back where they came from; the file has them in order."""
    by_name = {tuple(identity(r).values()): r for r in (*survey.results.values(), *survey.controls)}
    for visit in map(json.loads, path.read_text().splitlines()):
        result, context = by_name[tuple(visit.pop(k) for k in IDENTITY)], visit.pop("context")
        wall, cpu = tuple(visit.pop("wall_ns")), tuple(visit.pop("cpu_ns"))
        contexts(result)[context].append(Block(**visit, wall_ns=wall, cpu_ns=cpu))


def verify_checksums(directory: Path) -> None:
    """Refuse a directory whose files are not those that ``SHA256SUMS`` lists."""
    sums = directory / "SHA256SUMS"
    if not sums.exists():
        raise BadBundle(f"{directory} is no bundle: it has no SHA256SUMS.")
    lines = [line.partition("  ") for line in sums.read_text(errors="replace").splitlines()]
    if missing := sorted(REQUIRED - {name for _, _, name in lines}):
        raise BadBundle(f"{directory} is no bundle: its SHA256SUMS does not list {', '.join(missing)}.")
    for digest, _, name in lines:
        path = directory / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise BadBundle(f"{directory}: {name} is not the file that was recorded.")


def write_checksums(directory: Path) -> None:
    """``SHA256SUMS`` over every other file, in the format of ``sha256sum --check``."""
    names = sorted(p.name for p in directory.iterdir() if p.is_file() and p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((directory / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (directory / "SHA256SUMS").write_text("".join(lines))
