"""The bundle: everything that a run found, in files that outlive it."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import report
from .survey import Block, Result, Survey

SCHEMA = 1
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
        "seconds": round(survey.seconds, 1),
        "valid": not warnings,
        "warnings": warnings,
        "notes": survey.notes,
        "noise": survey.noise,
        "statuses": {status: survey.count(status) for status in ("ok", "wrong", "unsupported", "error")},
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
    return {
        "op": row.op,
        "phase": row.phase,
        "shape": row.size.label,
        "dtype": row.dtype,
        "threads": result.threads,
        "backend": result.backend,
    }


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
    suite = next(s for s in suites if s in result.row.case.suites)
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


def write_checksums(directory: Path) -> None:
    """``SHA256SUMS`` over every other file, in the format of ``sha256sum --check``."""
    names = sorted(p.name for p in directory.iterdir() if p.is_file() and p.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256((directory / n).read_bytes()).hexdigest()}  {n}\n" for n in names]
    (directory / "SHA256SUMS").write_text("".join(lines))
