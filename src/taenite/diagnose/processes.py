"""What ``/proc`` says about a tree of processes and their threads. What vanishes meanwhile is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 10_000_000


@dataclass(frozen=True)
class Reading:
    """One thread at one moment. ``started`` tells it from a later thread with the same number."""

    pid: int
    tid: int
    started: int
    name: str
    cpus: str
    cpu_ns: int
    processor: int
    migrations: int | None


def read(path: Path) -> str | None:
    """The text of a file of ``/proc``, or None if what it describes has ended or is not ours to see."""
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def numbers(path: Path) -> list[int]:
    """The entries of a directory of ``/proc`` that are numbers."""
    try:
        return sorted(int(name) for name in os.listdir(path) if name.isdigit())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def stat_fields(text: str) -> tuple[str, list[str]]:
    """The name in a ``stat`` file, which may hold spaces and brackets, and the fields after it."""
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, rest.split()


def children(pid: int) -> list[int]:
    """Processes that this one started and that still run."""
    if not (PROC / "self/task" / str(os.getpid()) / "children").exists():
        return [child for child in numbers(PROC) if parent(child) == pid]
    listed = (
        read(PROC / str(pid) / "task" / str(tid) / "children") for tid in numbers(PROC / str(pid) / "task")
    )
    return [int(child) for text in listed for child in (text or "").split()]


def parent(pid: int) -> int | None:
    text = read(PROC / str(pid) / "stat")
    return None if text is None else int(stat_fields(text)[1][1])


def started(pid: int) -> int | None:
    """When a process started, in clock ticks since boot."""
    text = read(PROC / str(pid) / "stat")
    return None if text is None else int(stat_fields(text)[1][19])


def descendants(roots: Iterable[int]) -> set[int]:
    """Processes, their children, and theirs."""
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += children(one)
    return found


def threads(pid: int) -> Iterator[Reading]:
    """Every thread of a process, now."""
    for tid in numbers(PROC / str(pid) / "task"):
        if (reading := thread(pid, tid)) is not None:
            yield reading


def thread(pid: int, tid: int) -> Reading | None:
    base = PROC / str(pid) / "task" / str(tid)
    stat, status = read(base / "stat"), read(base / "status")
    if stat is None or status is None:
        return None
    name, fields = stat_fields(stat)
    cpus = value(status, "Cpus_allowed_list")
    if fields[0] in "ZX" or cpus is None:  # has ended
        return None
    ticks = (int(fields[11]) + int(fields[12])) * TICK_NS
    return Reading(
        pid,
        tid,
        int(fields[19]),
        name,
        cpus,
        exact_cpu_ns(base) or ticks,
        int(fields[36]),
        kernel_migrations(base),
    )


def exact_cpu_ns(base: Path) -> int | None:
    text = read(base / "schedstat")
    return int(text.split()[0]) if text else None


def kernel_migrations(base: Path) -> int | None:
    """The kernel's own count; None where it keeps none."""
    text = read(base / "sched")
    found = value(text, "se.nr_migrations") if text else None
    return int(found) if found is not None else None


def value(text: str, field: str) -> str | None:
    """The value of ``field: value`` in a file of such lines."""
    for line in text.splitlines():
        if line.startswith(field):
            return line.partition(":")[2].strip()
    return None
