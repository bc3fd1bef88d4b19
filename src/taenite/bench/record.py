"""The bundle: everything that a run found, in files that outlive it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from . import report
from .case import all_rows
from .survey import STATUSES, Block, Profile, Result, Settings, Survey

SCHEMA = 1
IDENTITY = ("op", "phase", "shape", "dtype", "threads", "backend")
PLACE = ("generation", "round", "position", "batch")
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


def write(directory: Path, survey: Survey, about: dict[str, Any], warnings: list[str]) -> None:
    """Write the bundle; a directory that holds one already is refused."""
    if (directory / "run.json").exists():
        raise FileExistsError(f"bench: {directory} holds a bundle already.")
    directory.mkdir(parents=True, exist_ok=True)
    run = run_document(survey, about, warnings)
    (directory / "run.json").write_text(json.dumps(run, indent=1, default=str) + "\n")
    write_samples(directory / "samples.jsonl", survey)
    write_summary(directory / "summary.csv", survey)
    (directory / "report.md").write_text(report.markdown(survey, about, warnings))
    write_checksums(directory)


def run_document(survey: Survey, about: dict[str, Any], warnings: list[str]) -> dict[str, Any]:
    settings = survey.settings
    return {
        "schema": SCHEMA,
        "suites": settings.suites,
        "backends": settings.backends,
        "threads": settings.threads,
        "profile": asdict(settings.profile),
        "seed": settings.seed,
        "only": settings.only,
        "seconds": survey.seconds,
        "valid": not warnings,
        "warnings": warnings,
        "notes": survey.notes,
        "noise": survey.noise,
        "statuses": {status: survey.count(status) for status in STATUSES},
        "machine": about,
        "workers": survey.workers,
        "loads": survey.loads,
        "rows": [row_document(result) for result in survey.results.values()],
    }


def row_document(result: Result) -> dict[str, Any]:
    return {
        **identity(result),
        "status": result.status,
        "note": result.note,
        "plan": asdict(result.plan) if result.plan else None,
        "setup_ns": result.setup_ns,
        "first_call_ns": result.first_call_ns,
        "effective_threads": round(result.effective_threads, 4) if result.timed else None,
        "noise": result.noise if result.timed else None,
    }


def identity(result: Result) -> dict[str, Any]:
    row = result.row
    values = (row.op, row.phase, row.size.label, row.dtype, result.threads, result.backend)
    return dict(zip(IDENTITY, values, strict=True))


def write_samples(path: Path, survey: Survey) -> None:
    """One line per reading, integer nanoseconds for ``batch`` calls."""
    with path.open("w") as file:
        for result in survey.results.values():
            for block in result.blocks:
                for sample in samples(block):
                    file.write(json.dumps({**identity(result), **sample}) + "\n")


def samples(block: Block) -> Iterator[dict[str, int]]:
    for index, (wall, cpu) in enumerate(zip(block.wall_ns, block.cpu_ns, strict=True)):
        yield {
            "generation": block.generation,
            "round": block.round,
            "position": block.position,
            "index": index,
            "batch": block.batch,
            "wall_ns": wall,
            "cpu_ns": cpu,
        }


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


def load(directory: Path) -> tuple[Survey, dict[str, Any], list[str]]:
    """A bundle as it was written: the survey, the machine, and the warnings."""
    verify_checksums(directory)
    run = json.loads((directory / "run.json").read_text())
    if run["schema"] != SCHEMA:
        raise BadBundle(f"{directory} has schema {run['schema']}; this version reads {SCHEMA}.")
    survey = Survey(load_settings(run), workers=run["workers"], loads=run["loads"], notes=run["notes"])
    survey.seconds = run["seconds"]
    known = {(row.op, row.size.label, row.dtype): row for row in all_rows()}
    for entry in run["rows"]:
        key = (entry["op"], entry["shape"], entry["dtype"])
        if key not in known:
            raise BadBundle(f"{directory} has a row that this version does not know: {entry['op']}.")
        result = survey.result(known[key], entry["backend"], entry["threads"])
        result.status, result.note = entry["status"], entry["note"]
    load_samples(directory / "samples.jsonl", survey)
    return survey, run["machine"], run["warnings"]


def load_settings(run: dict[str, Any]) -> Settings:
    return Settings(
        tuple(run["suites"]),
        tuple(run["backends"]),
        tuple(run["threads"]),
        Profile(**run["profile"]),
        run["seed"],
        run["only"],
    )


def load_samples(path: Path, survey: Survey) -> None:
    """Put the readings back into the blocks that they came from; the file has them in order."""
    by_name = {tuple(identity(r).values()): r for r in survey.results.values()}
    lines = (json.loads(line) for line in path.read_text().splitlines())
    for _, group in groupby(lines, key=lambda s: tuple(s[k] for k in (*IDENTITY, *PLACE))):
        samples = list(group)
        place = {name: samples[0][name] for name in PLACE}
        wall, cpu = (tuple(s[clock] for s in samples) for clock in ("wall_ns", "cpu_ns"))
        block = Block(**place, wall_ns=wall, cpu_ns=cpu)
        by_name[tuple(samples[0][k] for k in IDENTITY)].blocks.append(block)


def verify_checksums(directory: Path) -> None:
    """Refuse a directory whose files are not those that ``SHA256SUMS`` lists."""
    sums = directory / "SHA256SUMS"
    if not sums.exists():
        raise BadBundle(f"{directory} is no bundle: it has no SHA256SUMS.")
    for line in sums.read_text().splitlines():
        digest, name = line.split("  ", 1)
        path = directory / name
        if not path.exists() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise BadBundle(f"{directory}: {name} is not the file that was recorded.")


def write_checksums(directory: Path) -> None:
    """``SHA256SUMS`` over every other file, in the format of ``sha256sum --check``."""
    names = sorted(p.name for p in directory.iterdir() if p.is_file() and p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((directory / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (directory / "SHA256SUMS").write_text("".join(lines))
