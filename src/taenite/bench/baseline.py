"""Two bundles side by side: what became faster or slower between two runs on one machine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from . import stats, thresholds
from .arms import is_twin, ours
from .case import destruction
from .compare import Analysis
from .survey import Result, Survey
from .thresholds import Threshold

FINGERPRINT = ("cpu", "family_model_stepping", "simd", "logical_cpus", "caches", "system")
VERDICTS = ("slower", "faster", "inconclusive", "same")
"""In the order in which tables show them."""


class NotComparable(ValueError):
    """Two bundles that say nothing about each other."""


@dataclass(frozen=True)
class Change:
    """One row of one arm, now against then. The verdict holds among all rows that were compared."""

    now: Result
    then: Result
    ratio: stats.Ratio
    noise: float
    p: float
    """Adjusted for the number of rows: see `stats.adjusted`."""

    @property
    def verdict(self) -> str:
        called = self.ratio.verdict in ("faster", "slower")
        return "inconclusive" if called and self.p > stats.FALSE_DISCOVERIES else self.ratio.verdict


@dataclass(frozen=True)
class Shift:
    """A control row, now against then: what the machine did between the runs."""

    control: Result
    ratio: stats.Ratio

    @property
    def size(self) -> float:
        """How far the ratio is from 1."""
        return math.expm1(abs(math.log(self.ratio.value)))

    def __str__(self) -> str:
        low, high = self.ratio.interval.low, self.ratio.interval.high
        where = f"{self.control.row} with {self.control.threads} thread{'s' * (self.control.threads > 1)}"
        return f"control {where}: now / then {self.ratio.value:.3f} [{low:.3f}, {high:.3f}]"


def require_same_machine(now: dict[str, Any], then: dict[str, Any]) -> None:
    """Times of two machines are not compared: another CPU is not a regression."""
    for name in FINGERPRINT:
        if now.get(name) != then.get(name):
            raise NotComparable(
                f"the machines differ in {name}: {now.get(name)!r}, then {then.get(name)!r}; "
                "measure both on one machine"
            )


def shifts(now: Survey, then: Survey) -> list[Shift]:
    """The control rows that both runs have."""
    old = {(c.row.key, c.threads): c for c in then.controls if c.timed}
    return [
        Shift(c, stats.unpaired_ratio(c.readings, old[c.row.key, c.threads].readings))
        for c in now.controls
        if c.timed and (c.row.key, c.threads) in old
    ]


def comparable(now: Survey, then: Survey) -> list[tuple[Result, Result]]:
    """Every row, arm and thread count that both runs have a time for. The twin adds nothing to its original.

    A row whose outputs are destroyed inside the clock in one run only is another row.
    """
    found = []
    for key, result in now.results.items():
        old = then.results.get(key)
        both = old is not None and old.timed and result.timed and not is_twin(result.backend)
        if old is not None and both and how_destroyed(result) == how_destroyed(old):
            found.append((result, old))
    return found


def how_destroyed(result: Result) -> str:
    return destruction(result.plan.batch) if result.plan else ""


def changes(now: Survey, then: Survey, allowed: Sequence[Threshold] | None = None) -> list[Change]:
    """Every row that both runs have a time for, with verdicts that hold for all of them together.

    Below the noise nothing is called different: the noise of the row in both runs, and what the
    controls of its thread count say of the machine. With thresholds, nothing inside a row's threshold either.
    """
    pairs = comparable(now, then)
    if not pairs:
        raise NotComparable("the two runs have no timed row in common: run the same suites and backends")
    analyses, moved = (Analysis(now), Analysis(then)), shifts(now, then)
    found = []
    for result, old in pairs:
        own = max(analyses[0].noise(result), analyses[1].noise(old))
        machine = max((s.size for s in moved if s.control.threads == result.threads), default=0.0)
        least = 0.0 if allowed is None else thresholds.allowed(result.row, allowed)
        noise = max((1 + own) * (1 + machine) - 1, least)
        found.append((result, old, noise, stats.unpaired_ratio(result.readings, old.readings, noise)))
    adjusted = stats.adjusted([ratio.p for *_, ratio in found])
    return [Change(a, b, ratio, noise, p) for (a, b, noise, ratio), p in zip(found, adjusted, strict=True)]


def counts(found: Sequence[Change]) -> dict[str, int]:
    """How many rows got which verdict."""
    counted = Counter(change.verdict for change in found)
    return {verdict: counted[verdict] for verdict in VERDICTS}


def regressions(now: Survey, found: Sequence[Change]) -> list[Change]:
    """Our rows that became slower."""
    subject = ours(now.settings.backends)
    return [c for c in found if c.now.backend in subject and c.verdict == "slower"]


def mine(now: Survey, status: str) -> list[Result]:
    """The rows of ours that have this status."""
    subject = ours(now.settings.backends)
    return [r for r in now.results.values() if r.backend in subject and r.status == status]


def lost(now: Survey, then: Survey) -> list[Result]:
    """Rows of ours that had a time then, and have none now or were not measured at all."""
    subject = ours(now.settings.backends)
    return [
        old
        for key, old in then.results.items()
        if old.backend in subject and old.timed and not (key in now.results and now.results[key].timed)
    ]


Libraries = dict[str, set[tuple[str, str]]]


def libraries(survey: Survey) -> Libraries:
    """The libraries of each arm: name of the file, and its digest."""
    found: Libraries = {}
    for worker in survey.workers:
        entries = found.setdefault(worker["name"], set())
        for entry in worker["libraries"]:
            entries.add((str(entry.get("filepath")).rpartition("/")[2], str(entry.get("sha256"))))
    return found


def library_changes(now: Survey, then: Survey) -> Iterator[tuple[str, str]]:
    """Arms that ran other libraries then, and what differs: their rows compare libraries too."""
    new, old = libraries(now), libraries(then)
    for arm in new:
        if arm in old and new[arm] != old[arm]:
            gone, come = (named(one - other) for one, other in ((old[arm], new[arm]), (new[arm], old[arm])))
            yield arm, f"{arm} ran other libraries then: {gone}; now: {come}"


def named(entries: set[tuple[str, str]]) -> str:
    return ", ".join(f"{name} (sha256 {digest[:12]})" for name, digest in sorted(entries)) or "none"


def differences(now: Survey, then: Survey) -> Iterator[str]:
    """How the protocols differ, where it matters for a comparison."""
    for field in fields(now.settings.profile):
        new, old = getattr(now.settings.profile, field.name), getattr(then.settings.profile, field.name)
        if new != old and field.name != "name":
            yield f"the profiles differ in {field.name}: {new}, then {old}"
    pairs = [(now.results[key], then.results[key]) for key in now.results if key in then.results]
    for a, b in pairs:
        if a.timed and b.timed and how_destroyed(a) != how_destroyed(b):
            how = f"outputs are destroyed {how_destroyed(a)} the clock, then {how_destroyed(b)}"
            yield f"{a.row} on {a.backend}: {how}; it is not compared"
    for name, one, other in (("then", then, now), ("now", now, then)):
        only = [key for key in one.results if key not in other.results]
        if only:
            first = one.results[only[0]]
            yield f"{len(only)} results were measured only {name}, such as {first.row} on {first.backend}"
