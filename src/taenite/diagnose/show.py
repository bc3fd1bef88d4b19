"""Tables of what was found, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..bench.cpus import compact_cpu_list
from . import probe as calls
from .affinity import Group, Sampler, groups
from .probe_file import Process

STYLES = {"ok": "green", "confined": "bold red", "strays": "bold red"}


def table(*columns: str, left: int) -> Table:
    """Columns of text first, then columns of numbers."""
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, column in enumerate(columns):
        found.add_column(column, justify="left" if index < left else "right", no_wrap=index > 0)
    return found


def affinity(console: Console, sampler: Sampler, domain: set[int], found: dict[str, Any]) -> None:
    shown = table(
        "process", "threads of", "sure by", "CPUs", "verdict", "threads", "CPU s", "moves/s", left=5
    )
    for group in groups(sampler.threads.values(), domain):
        shown.add_row(*affinity_cells(group))
    console.print(shown)
    seen = sum(one["cpu_s"] for one in found["threads"])
    console.print(
        f"domain {compact_cpu_list(domain)}: {len(found['threads'])} threads, {sampler.samples} samples over "
        f"{found['wall_s']:.2f} s, {seen:.2f} of {found['cpu_s']:.2f} CPU seconds seen",
        highlight=False,
    )
    for fault in found["faults"]:
        console.print(escape(fault), style="bold red", highlight=False)


def affinity_cells(group: Group) -> list[str]:
    rate = group.migration_rate
    return [
        f"{escape(group.process)} ({group.pid})",
        escape(group.owner.kind),
        group.owner.evidence,
        " then ".join(mask or "none" for mask in group.masks),
        f"[{STYLES[group.verdict]}]{group.verdict}[/]",
        str(len(group.members)),
        f"{group.cpu_seconds:.2f}",
        "-" if rate is None else f"{rate:.1f}",
    ]


def probe(
    console: Console, processes: Sequence[Process], notes: Sequence[str], by_shape: bool, wall: float
) -> None:
    """The routines that took most time first; a call that asks for a workspace's size is a query."""
    text = ("routine", "library", "shape" if by_shape else "shapes")
    shown = table(*text, "calls", "queries", "time ms", "mean us", "of wall", left=len(text))
    found = calls.lines((one for process in processes for one in process.calls), by_shape)
    for line in found:
        shown.add_row(*probe_cells(line, by_shape, wall))
    if found:
        console.print(shown)
    total = sum(line.ns for line in found) / 1e9
    console.print(
        f"{sum(line.calls for line in found)} calls of BLAS and LAPACK in {len(processes)} "
        f"process{'es'[: 2 * (len(processes) != 1)]} took {total:.3f} s of {wall:.3f} s wall "
        f"({total / wall:.1%}; calls that run side by side all count)",
        highlight=False,
    )
    for note in notes:
        console.print(escape(note), style="yellow", highlight=False)


def probe_cells(line: calls.Line, by_shape: bool, wall: float) -> list[str]:
    shape = " x ".join(map(str, line.shape)) or "-"
    return [
        line.routine,
        escape(Path(line.library).name),
        shape if by_shape else str(line.shapes),
        str(line.calls),
        str(line.queries or ""),
        f"{line.ns / 1e6:.3f}",
        f"{line.ns / 1e3 / max(1, line.calls + line.queries):.1f}",
        f"{line.ns / 1e9 / wall:.1%}",
    ]
