"""Tables of what was found, for a terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..bench.cpus import compact_cpu_list
from .affinity import Group, Sampler, groups

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
