"""Ratios of a survey: each of our backends against the best peer, row by row and as geometric means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import stats
from .arms import backend_of, ours
from .case import SECOND_ORDER, Row
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


def best_peer(by_backend: dict[str, Result], subject: Sequence[str]) -> Result | None:
    peers = [
        result
        for name, result in by_backend.items()
        if name not in subject and backend_of(name) == name and result.timed
    ]
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
class Mean:
    """A geometric mean of ratios, and the worst of them."""

    value: float
    worst: float
    worst_row: str


@dataclass(frozen=True)
class Group:
    """Rows of one phase and size class on one of our backends, against the best peer and each peer."""

    name: str
    rows: int
    against: dict[str, Mean]


BEST = "best peer"


def group_of(row: Row) -> str:
    """Phase and size class: the sizes below 256 are latency, those above are throughput."""
    suite = row.suites[-1]
    if suite not in ("large_ad", SECOND_ORDER):
        return suite
    return f"{row.phase}, {SMALL if row.size.args[0] < 256 else LARGE}"


def ratios(name: str, by_backend: dict[str, Result], subject: Sequence[str]) -> dict[str, float]:
    """The ratios of medians of one row: against each timed peer, and against the best of them."""
    ours_ns = by_backend[name].summary.median
    found = {
        peer: ours_ns / result.summary.median
        for peer, result in by_backend.items()
        if peer not in subject and backend_of(peer) == peer and result.timed
    }
    return {BEST: max(found.values()), **found} if found else {}


def groups(survey: Survey) -> list[Group]:
    """Geometric means by group, in the order of the table."""
    subject = ours(survey.settings.backends)
    members: dict[str, list[tuple[str, dict[str, float]]]] = {}
    for row, _, by_backend in survey.lines():
        for name in subject:
            if by_backend[name].timed and (found := ratios(name, by_backend, subject)):
                members.setdefault(f"{name}: {group_of(row)}", []).append((str(row), found))
    return [Group(name, len(rows), means_of(rows)) for name, rows in members.items()]


def means_of(rows: Sequence[tuple[str, dict[str, float]]]) -> dict[str, Mean]:
    peers = dict.fromkeys(peer for _, found in rows for peer in found)
    return {peer: mean_of([(row, found[peer]) for row, found in rows if peer in found]) for peer in peers}


def mean_of(rows: Sequence[tuple[str, float]]) -> Mean:
    worst_row, worst = max(rows, key=lambda pair: pair[1])
    return Mean(stats.geometric_mean([value for _, value in rows]), worst, worst_row)
