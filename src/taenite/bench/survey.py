"""The results of a run: readings by row, backend and thread count, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from . import arms, stats
from . import rates as limits
from .arms import Arm
from .case import Row
from .toggles import Toggle

STATUSES = ("ok", "wrong", "unsupported", "error")


@dataclass(frozen=True)
class Profile:
    """How much to measure: generations of processes, rounds in each, and the readings of one visit.

    After ``generations`` of them only rows whose interval is wider than ``width`` go on, up to ``most``.
    """

    name: str
    generations: int
    most: int
    width: float
    """Half the width of the interval of a ratio, relative to the ratio, that is narrow enough."""
    clean: int
    """In how many generations each row also runs in a process of its own."""
    rounds: int
    visit_ns: int
    interval_ns: int
    max_count: int
    long_ns: int
    """A row whose slowest backend takes longer than this is visited once per generation."""


PROFILES = {
    "quick": Profile("quick", 3, 3, 0.05, 1, 2, 16_000_000, 500_000, 20, 40_000_000),
    "full": Profile("full", 5, 8, 0.04, 1, 2, 30_000_000, 1_000_000, 20, 300_000_000),
}

PLAINLY_LONG_NS = 150_000_000

WARM_BELOW_NS = 5_000_000
"""Rows faster than this get one call before each visit that is not read: the caches are another backend's."""


@dataclass(frozen=True)
class Settings:
    """What the user asked for."""

    suites: tuple[str, ...]
    backends: tuple[str, ...]
    threads: tuple[int, ...]
    profile: Profile
    seed: int
    only: str | None = None
    toggles: tuple[Toggle, ...] = ()
    budget_s: float | None = None
    """When the time is over, no further generation is begun; those that every row needs are run anyway."""
    thresholds: tuple[tuple[str, float], ...] = ()
    """For those who use this run as a baseline: patterns of rows, and by how much they may become slower."""

    @property
    def arms(self) -> tuple[Arm, ...]:
        return arms.arms(self.backends, self.toggles)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(arm.label for arm in self.arms)


@dataclass(frozen=True)
class Plan:
    """How a row is read on one backend: ``count`` readings of ``batch`` calls per visit."""

    batch: int
    count: int
    call_ns: int


@dataclass(frozen=True)
class Block:
    """The readings of one visit, and what interrupted the process during them."""

    generation: int
    round: int
    position: int
    batch: int
    wall_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...]
    switches: int = 0
    """Involuntary context switches."""
    faults: int = 0
    """Page faults that needed no disk."""

    @property
    def per_call_ns(self) -> list[float]:
        return [wall / self.batch for wall in self.wall_ns]


@dataclass
class Result:
    """One row on one arm with one thread count. ``backend`` is the arm's label."""

    row: Row
    backend: str
    threads: int
    status: str = "ok"
    note: str = ""
    plan: Plan | None = None
    setup_ns: list[int] = field(default_factory=list)
    first_call_ns: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    clean: list[Block] = field(default_factory=list)
    """The visits in a process that runs no other row."""
    suspect: str = ""
    """Why the time cannot be true, where it is below the floor."""

    def fail(self, status: str, note: str) -> None:
        """A row that failed has no time, whatever was read before."""
        self.status, self.note = status, note
        self.blocks.clear()
        self.clean.clear()

    @property
    def timed(self) -> bool:
        return self.status == "ok" and bool(self.blocks)

    @property
    def readings(self) -> list[list[list[float]]]:
        """Times of one call: by process, by visit, by reading."""
        found: dict[int, list[list[float]]] = {}
        for block in self.blocks:
            found.setdefault(block.generation, []).append(block.per_call_ns)
        return list(found.values())

    @property
    def median(self) -> float:
        """Of all readings."""
        return median(ns for block in self.blocks for ns in block.per_call_ns)

    @cached_property
    def summary(self) -> stats.Summary:
        return stats.summarize(self.readings)

    @property
    def generations(self) -> list[list[float]]:
        """The readings of each process."""
        return [[ns for visit in process for ns in visit] for process in self.readings]

    @cached_property
    def noise(self) -> float:
        """What the processes of this row differ by: see `stats.null_noise`."""
        return stats.null_noise(self.generations)

    @property
    def suite_effect(self) -> float | None:
        """The time among the other rows over the time in a process of its own; None without the latter."""
        if not self.timed or not self.clean:
            return None
        alone = median(ns for block in self.clean for ns in block.per_call_ns)
        return self.median / alone

    @property
    def faults_per_call(self) -> float:
        calls = sum(block.batch * len(block.wall_ns) for block in self.blocks)
        return sum(block.faults for block in self.blocks) / calls

    @property
    def effective_threads(self) -> float:
        """CPU seconds per wall second over all readings."""
        wall = sum(sum(block.wall_ns) for block in self.blocks)
        return sum(sum(block.cpu_ns) for block in self.blocks) / wall


Key = tuple[str, str, int]


@dataclass
class Survey:
    """Everything that a run found."""

    settings: Settings
    results: dict[Key, Result] = field(default_factory=dict)
    workers: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    """The conditions before each round: see `conditions.Conditions`."""
    rates: dict[int, limits.Rates] = field(default_factory=dict)
    """What the machine can do at most, by thread count."""
    controls: list[Result] = field(default_factory=list)
    """A product and a copy by NumPy, visited before every row: see `cases.control`."""
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    expected: int = 0
    """How many results the protocol promises: rows times arms times thread counts."""

    def result(self, row: Row, backend: str, threads: int) -> Result:
        key = (row.key, backend, threads)
        if key not in self.results:
            self.results[key] = Result(row, backend, threads)
        return self.results[key]

    def control(self, row: Row, label: str, threads: int) -> Result:
        """The control of this row and thread count."""
        for result in self.controls:
            if (result.row.key, result.threads) == (row.key, threads):
                return result
        self.controls.append(Result(row, label, threads))
        return self.controls[-1]

    def floor(self, result: Result) -> limits.Floor | None:
        """The least time of a row; None where its work or the machine's rates are not known."""
        work, known = result.row.work, self.rates.get(result.threads)
        if work is None or known is None:
            return None
        single = result.row.dtype in ("float32", "complex64")
        return limits.floor(known, work.bytes, work.least_flops, single)

    def lines(self) -> Iterator[tuple[Row, int, dict[str, Result]]]:
        """Results grouped as the table shows them: by row and thread count, one entry per backend."""
        grouped: dict[tuple[str, int], dict[str, Result]] = {}
        for (key, backend, threads), result in self.results.items():
            grouped.setdefault((key, threads), {})[backend] = result
        for (_, threads), by_backend in grouped.items():
            yield next(iter(by_backend.values())).row, threads, by_backend

    @cached_property
    def noise(self) -> float:
        """What two processes of one program differ by in this run: the median over rows."""
        found = [result.noise for result in self.results.values() if result.timed]
        return median(found) if found else 0.0

    def noise_of(self, threads: int) -> float:
        """The same among the rows with this many threads: one count may be disturbed where another is not."""
        found = [r.noise for r in self.results.values() if r.timed and r.threads == threads]
        return median(found) if found else 0.0

    def count(self, status: str) -> int:
        return sum(result.status == status for result in self.results.values())


def plan(profile: Profile, batch: int, call_ns: int) -> Plan:
    """As many readings as fit into a visit, at least one."""
    count = profile.visit_ns // max(1, batch * call_ns)
    return Plan(batch, int(min(max(count, 1), profile.max_count)), call_ns)


def visits(profile: Profile, plans: list[Plan]) -> int:
    """Rounds per generation of one row: all, or one where a call is long."""
    slowest = max(p.call_ns for p in plans)
    return 1 if slowest > profile.long_ns else profile.rounds
