"""Ratios of a survey: each of our backends against the best peer, row by row and as geometric means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import stats
from .adapters import OURS
from .case import Row
from .survey import Result, Survey

SMALL, LARGE = "n <= 128", "n >= 256"


@dataclass(frozen=True)
class Comparison:
    """One row of ours beside the fastest peer."""

    row: Row
    threads: int
    backend: str
    peer: str
    ratio: stats.Ratio


def ours(backends: Sequence[str]) -> list[str]:
    """The backends under test: taenite's own, or the first one where there are only peers."""
    return [name for name in backends if name in OURS] or list(backends[:1])


def best_peer(by_backend: dict[str, Result], subject: Sequence[str]) -> Result | None:
    peers = [result for name, result in by_backend.items() if name not in subject and result.timed]
    return min(peers, key=lambda result: result.summary.median) if peers else None


def comparisons(survey: Survey) -> list[Comparison]:
    """Every row that one of ours and at least one peer were timed on."""
    subject = ours(survey.settings.backends)
    found = []
    for row, threads, by_backend in survey.lines():
        peer = best_peer(by_backend, subject)
        for name in subject:
            result = by_backend.get(name)
            if peer is not None and result is not None and result.timed:
                noise = max(survey.noise, result.noise, peer.noise)
                ratio = stats.ratio(result.readings, peer.readings, noise)
                found.append(Comparison(row, threads, name, peer.backend, ratio))
    return found


@dataclass(frozen=True)
class GroupMean:
    """The geometric mean over the rows of one group, and its worst row."""

    group: str
    rows: int
    mean: float
    worst: float
    worst_row: str


def group_of(row: Row) -> str:
    """Phase and size class: the sizes below 256 are latency, those above are throughput."""
    if row.case.suites[-1] != "large_ad":
        return row.case.suites[-1]
    return f"{row.phase}, {SMALL if row.size.args[0] < 256 else LARGE}"


def group_means(found: Sequence[Comparison]) -> Iterator[GroupMean]:
    groups: dict[str, list[Comparison]] = {}
    for one in found:
        groups.setdefault(f"{one.backend}: {group_of(one.row)}", []).append(one)
    for group, members in groups.items():
        worst = max(members, key=lambda one: one.ratio.value)
        mean = stats.geometric_mean([one.ratio.value for one in members])
        yield GroupMean(group, len(members), mean, worst.ratio.value, str(worst.row))
