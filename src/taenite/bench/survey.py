"""The results of a run: readings by row, backend and thread count, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from . import stats
from .case import Row

STATUSES = ("ok", "wrong", "unsupported", "error")


@dataclass(frozen=True)
class Profile:
    """How much to measure: generations of processes, rounds in each, and the readings of one visit."""

    name: str
    generations: int
    rounds: int
    visit_ns: int
    interval_ns: int
    max_count: int
    long_ns: int
    """A row whose slowest backend takes longer than this is visited once per generation."""


PROFILES = {
    "quick": Profile("quick", 3, 2, 16_000_000, 500_000, 20, 40_000_000),
    "full": Profile("full", 5, 6, 200_000_000, 2_000_000, 60, 2_000_000_000),
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


@dataclass(frozen=True)
class Plan:
    """How a row is read on one backend: ``count`` readings of ``batch`` calls per visit."""

    batch: int
    count: int
    call_ns: int


@dataclass(frozen=True)
class Block:
    """The readings of one visit."""

    generation: int
    round: int
    position: int
    batch: int
    wall_ns: tuple[int, ...]
    cpu_ns: tuple[int, ...]

    @property
    def per_call_ns(self) -> list[float]:
        return [wall / self.batch for wall in self.wall_ns]


@dataclass
class Result:
    """One row on one backend with one thread count."""

    row: Row
    backend: str
    threads: int
    status: str = "ok"
    note: str = ""
    plan: Plan | None = None
    setup_ns: list[int] = field(default_factory=list)
    first_call_ns: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    def fail(self, status: str, note: str) -> None:
        """A row that failed has no time, whatever was read before."""
        self.status, self.note = status, note
        self.blocks.clear()

    @property
    def timed(self) -> bool:
        return self.status == "ok" and bool(self.blocks)

    @property
    def readings(self) -> list[list[float]]:
        return [block.per_call_ns for block in self.blocks]

    @cached_property
    def summary(self) -> stats.Summary:
        return stats.summarize(self.readings)

    @cached_property
    def noise(self) -> float:
        """The A/A arm of this row: see `stats.null_noise`."""
        generations: dict[int, list[float]] = {}
        for block in self.blocks:
            generations.setdefault(block.generation, []).extend(block.per_call_ns)
        return stats.null_noise(list(generations.values()))

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
    loads: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def result(self, row: Row, backend: str, threads: int) -> Result:
        key = (row.key, backend, threads)
        if key not in self.results:
            self.results[key] = Result(row, backend, threads)
        return self.results[key]

    def lines(self) -> Iterator[tuple[Row, int, dict[str, Result]]]:
        """Results grouped as the table shows them: by row and thread count, one entry per backend."""
        grouped: dict[tuple[str, int], dict[str, Result]] = {}
        for (key, backend, threads), result in self.results.items():
            grouped.setdefault((key, threads), {})[backend] = result
        for (_, threads), by_backend in grouped.items():
            yield next(iter(by_backend.values())).row, threads, by_backend

    @cached_property
    def noise(self) -> float:
        """What two identical programs would differ by in this run: the median over rows of the A/A arm."""
        found = [result.noise for result in self.results.values() if result.timed]
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
