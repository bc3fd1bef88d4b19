"""Ratios of a survey: each of our backends against the best peer, the twin against its original, toggled arms
against plain ones; row by row and as geometric means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from . import stats
from .arms import backend_of, is_twin, ours
from .case import SECOND_ORDER, Row
from .survey import Result, Survey

SMALL, LARGE = "n <= 128", "n >= 256"


@dataclass(frozen=True)
class Comparison:
    """One row of ours beside the fastest peer, or of a variant beside the plain arm."""

    row: Row
    threads: int
    backend: str
    peer: str
    ratio: stats.Ratio


@dataclass(frozen=True)
class NullArm:
    """The A/A arm: a second process of the same program, whose differences are noise."""

    label: str
    rows: tuple[Comparison, ...]
    mean: stats.Mean | None
    """Over all rows and processes; None if there is one process."""

    @cached_property
    def differences(self) -> dict[str, float]:
        """By row, how far the twin is from its original."""
        return {c.row.key: math.expm1(abs(math.log(c.ratio.value))) for c in self.rows}

    @property
    def noise(self) -> float:
        """The median difference."""
        return median(self.differences.values())


class Analysis:
    """Everything that is computed from a survey for its report; each part once."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey

    @cached_property
    def nulls(self) -> dict[int, NullArm]:
        """The A/A arm of each thread count that has one."""
        found = {threads: null_arm(self.survey, threads) for threads in self.survey.settings.threads}
        return {threads: null for threads, null in found.items() if null is not None}

    def noise(self, *results: Result) -> float:
        """Below which these results of one row are not told apart: the largest of all that speaks of noise.

        That is what processes of one program differ by, here and in the median row of the thread count,
        and what the twin differs by from its original, in this row and in the median row.
        """
        found = [result.noise for result in results]
        for result in results:
            found.append(self.survey.noise_of(result.threads))
            if (null := self.nulls.get(result.threads)) is not None:
                found += [null.noise, null.differences.get(result.row.key, 0.0)]
        return max(found)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Every row that one of ours and at least one peer were timed on."""
        subject = ours(self.survey.settings.backends)
        found = []
        for _, _, by_backend in self.survey.lines():
            peer = best_peer(by_backend, subject)
            for name in subject:
                result = by_backend.get(name)
                if peer is not None and result is not None and result.timed:
                    found.append(compared(result, peer, self.noise(result, peer)))
        return found

    @cached_property
    def toggles(self) -> list[Comparison]:
        """Each toggled arm beside the plain arm of its backend."""
        found = []
        for _, _, arms in self.survey.lines():
            for label in self.survey.settings.labels:
                plain, toggled = arms.get(backend_of(label)), arms.get(label)
                if (
                    "@" in label
                    and not is_twin(label)
                    and plain
                    and toggled
                    and plain.timed
                    and toggled.timed
                ):
                    found.append(compared(toggled, plain, self.noise(toggled, plain)))
        return found

    @cached_property
    def groups(self) -> list[Group]:
        return groups(self.survey)


def compared(result: Result, other: Result, noise: float) -> Comparison:
    ratio = stats.ratio(result.readings, other.readings, noise)
    return Comparison(result.row, result.threads, result.backend, other.backend, ratio)


def null_arm(survey: Survey, threads: int) -> NullArm | None:
    """The twin beside its original in every row that both have a time for; None if there is none."""
    label = next((name for name in survey.settings.labels if is_twin(name)), None)
    if label is None:
        return None
    pairs = [
        (arms[label], arms[backend_of(label)])
        for _, count, arms in survey.lines()
        if count == threads and label in arms and backend_of(label) in arms
    ]
    timed = [(twin, plain) for twin, plain in pairs if twin.timed and plain.timed]
    if not timed:
        return None
    rows = tuple(compared(twin, plain, survey.noise_of(threads)) for twin, plain in timed)
    by_process = process_ratios(timed)
    return NullArm(label, rows, stats.mean_ratio(by_process) if len(by_process) > 1 else None)


def process_ratios(pairs: Sequence[tuple[Result, Result]]) -> list[list[float]]:
    """The ratios of medians of all pairs, by the process that they were read in."""
    found: dict[tuple[int, int], list[float]] = {}
    for one, other in pairs:
        for index, (above, below) in enumerate(zip(one.generations, other.generations, strict=True)):
            found.setdefault((one.threads, index), []).append(median(above) / median(below))
    return list(found.values())


def best_peer(by_backend: dict[str, Result], subject: Sequence[str]) -> Result | None:
    peers = [
        result
        for name, result in by_backend.items()
        if name not in subject and backend_of(name) == name and result.timed
    ]
    return min(peers, key=lambda result: result.median) if peers else None


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
    ours_ns = by_backend[name].median
    found = {
        peer: ours_ns / result.median
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
