"""Where the threads of a command may run: sampled from outside, judged against a domain."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..bench.cpus import compact_cpu_list, expand_cpu_list
from . import processes
from .owners import UNKNOWN, Owner, owner
from .processes import Reading

ATTEMPTS = 20  # at finding the owner of a thread that is never seen waiting

Key = tuple[int, int, int]


def judge(cpus: set[int], domain: set[int]) -> str:
    """A mask against the domain: ``ok``, ``confined`` (some of it is forbidden) or ``strays`` (leaves it)."""
    if cpus - domain:
        return "strays"
    return "confined" if domain - cpus else "ok"


@dataclass
class Thread:
    """One thread over its life, as far as it was seen."""

    first: Reading
    last: Reading
    seconds: float = 0.0
    moves: int = 0
    attempts: int = 0
    owner: Owner = UNKNOWN
    masks: Counter[str] = field(default_factory=Counter)

    @property
    def migrations(self) -> int:
        """The kernel's count, or the moves between samples if they are more (some kernels count none)."""
        return max(self.last.migrations or 0, self.moves)

    def verdict(self, domain: set[int]) -> str:
        verdicts = {judge(expand_cpu_list(mask), domain) for mask in self.masks}
        return next(one for one in ("strays", "confined", "ok") if one in verdicts)


class Sampler:
    """Follows the process tree below one process, which processes that lose their parent do not leave."""

    def __init__(self, pid: int) -> None:
        self.root = pid
        self.threads: dict[Key, Thread] = {}
        self.seen: dict[int, int] = {}  # process: when it started
        self.began = time.monotonic()
        self.before: float | None = None
        self.samples = 0

    def sample(self) -> None:
        now = time.monotonic()
        step = now - self.before if self.before is not None else 0.0
        self.before = now
        self.samples += 1
        for pid in self.tree():
            for reading in processes.threads(pid):
                self.note(reading, step)

    def tree(self) -> Iterable[int]:
        """Everything below the root, and what was below it before its parent ended."""
        alive = (pid for pid, when in self.seen.items() if processes.started(pid) == when)
        found = processes.descendants([self.root, *alive])
        self.seen = {pid: when for pid in found if (when := processes.started(pid)) is not None}
        return sorted(self.seen)

    def note(self, reading: Reading, step: float) -> None:
        key = (reading.pid, reading.tid, reading.started)
        if (known := self.threads.get(key)) is None:
            known = self.threads[key] = Thread(reading, reading)
        else:
            known.seconds += step
            known.moves += known.last.processor != reading.processor
        known.last = reading
        known.masks[reading.cpus] += 1
        if known.owner.evidence != "stack" and known.attempts < ATTEMPTS:
            known.attempts += 1
            found = owner(reading)
            known.owner = found if found != UNKNOWN else known.owner


@dataclass(frozen=True)
class Group:
    """Threads of one process that have one owner and one history of masks."""

    pid: int
    process: str
    owner: Owner
    masks: tuple[str, ...]
    verdict: str
    members: tuple[Thread, ...]

    @property
    def cpu_seconds(self) -> float:
        return sum(one.last.cpu_ns for one in self.members) / 1e9

    @property
    def migration_rate(self) -> float | None:
        """Migrations per second of life, over all members."""
        seconds = sum(one.seconds for one in self.members)
        return sum(one.migrations for one in self.members) / seconds if seconds else None


def groups(threads: Iterable[Thread], domain: set[int]) -> list[Group]:
    """Threads that a reader need not tell apart, the largest consumers of each process first."""
    gathered: dict[tuple[int, Owner, tuple[str, ...]], list[Thread]] = {}
    names: dict[int, str] = {}
    for one in threads:
        gathered.setdefault((one.last.pid, one.owner, tuple(one.masks)), []).append(one)
        if one.last.tid == one.last.pid or one.last.pid not in names:
            names[one.last.pid] = one.last.name
    found = [
        Group(pid, names[pid], who, masks, members[0].verdict(domain), tuple(members))
        for (pid, who, masks), members in gathered.items()
    ]
    return sorted(found, key=lambda group: (group.pid, -group.cpu_seconds))


def faults(threads: Iterable[Thread], domain: set[int]) -> list[str]:
    """One sentence for every group of threads that left the domain or was kept from a part of it."""
    said = {
        "strays": "may run outside of the domain",
        "confined": "may not use all of the domain",
    }
    return [
        f"{len(group.members)} {group.owner.kind} thread{'s'[: len(group.members) > 1]} of {group.process} "
        f"({group.pid}): CPUs {' then '.join(mask or 'none' for mask in group.masks)} "
        f"{said[group.verdict]} {compact_cpu_list(domain)}"
        for group in groups(threads, domain)
        if group.verdict in said
    ]


def as_json(
    sampler: Sampler, domain: set[int], command: list[str], code: int, children: float
) -> dict[str, Any]:
    """Everything that was seen, thread by thread."""
    return {
        "schema": "taenite-affinity-1",
        "command": command,
        "exit_code": code,
        "domain": compact_cpu_list(domain),
        "samples": sampler.samples,
        "wall_s": time.monotonic() - sampler.began,
        "cpu_s": children,
        "faults": faults(sampler.threads.values(), domain),
        "threads": [thread_json(one, domain) for one in sampler.threads.values()],
    }


def thread_json(one: Thread, domain: set[int]) -> dict[str, Any]:
    return {
        "pid": one.last.pid,
        "tid": one.last.tid,
        "name": one.last.name,
        "kind": one.owner.kind,
        "evidence": one.owner.evidence,
        "verdict": one.verdict(domain),
        "samples_by_cpus": dict(one.masks),
        "seen_s": one.seconds,
        "cpu_s": one.last.cpu_ns / 1e9,
        "migrations": one.migrations,
        "migrations_counted_by": "kernel" if one.last.migrations else "samples",
    }
