"""Two bundles side by side: what became faster or slower between two runs on one machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import stats
from .arms import ours
from .survey import Result, Survey

FINGERPRINT = ("cpu", "family_model_stepping", "simd", "logical_cpus", "caches", "system")


class NotComparable(ValueError):
    """Two bundles that say nothing about each other."""


@dataclass(frozen=True)
class Change:
    """One row of one backend, now against then."""

    now: Result
    then: Result
    ratio: stats.Ratio


def require_same_machine(now: dict[str, Any], then: dict[str, Any]) -> None:
    """Times of two machines are not compared: another CPU is not a regression."""
    for name in FINGERPRINT:
        if now.get(name) != then.get(name):
            raise NotComparable(f"the machines differ in {name}: {now.get(name)!r}, then {then.get(name)!r}.")


def changes(now: Survey, then: Survey) -> list[Change]:
    """Every row, backend and thread count that both runs have a time for."""
    noise = max(now.noise, then.noise)
    found = []
    for key, result in now.results.items():
        old = then.results.get(key)
        if old is not None and old.timed and result.timed:
            floor = max(noise, result.noise, old.noise)
            found.append(Change(result, old, stats.unpaired_ratio(result.readings, old.readings, floor)))
    if not found:
        raise NotComparable("the two runs have no timed row in common.")
    return found


def regressions(now: Survey, found: list[Change]) -> list[Change]:
    """Our rows whose interval lies above the noise."""
    subject = ours(now.settings.backends)
    return [c for c in found if c.now.backend in subject and c.ratio.verdict == "slower"]


def lost(now: Survey, then: Survey) -> list[Result]:
    """Our rows that had a time then, and are wrong or in error now."""
    subject = ours(now.settings.backends)
    return [
        result
        for key, result in now.results.items()
        if result.backend in subject
        and result.status in ("wrong", "error")
        and key in then.results
        and then.results[key].timed
    ]
