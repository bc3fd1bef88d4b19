"""Calls per operation: the row's time over that inside BLAS and LAPACK calls, and what `tn.observe` counts.

The row is timed with no observer open; single operations are observed after that, each alone.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import Any

from .arm import Arm, Work, run
from .operation import VOLUMES


@dataclass(frozen=True)
class Called:
    """Equal provider calls of one operation."""

    routine: str
    dtype: str
    dims: tuple[int, ...]
    count: int

    def __str__(self) -> str:
        return f"{self.routine} {self.dtype} {'x'.join(map(str, self.dims))}"


@dataclass
class Observed:
    """What one operation did, as `tn.observe` counts it; volumes and workspaces are (count, bytes)."""

    seconds: dict[str, float]
    calls: list[Called]
    workspaces: dict[str, tuple[int, int]]
    workspace_queries: int
    volumes: dict[str, tuple[int, int]]


@dataclass
class Calls:
    """One arm of the instrument. Backends of others are timed only: they cannot be observed from inside."""

    time_s: float
    samples_ns: list[float]
    observed: Observed | None
    reason: str = ""
    simd: dict[str, Any] = field(default_factory=dict)
    libraries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def floor_s(self) -> float:
        """Time inside calls of BLAS and LAPACK, products of our own kernel among them."""
        return sum(self.observed.seconds.values()) if self.observed else 0.0

    @property
    def over_floor(self) -> float | None:
        return self.time_s / self.floor_s if self.floor_s else None


def measure(arm: Arm, work: Work) -> Calls:
    answer = run(arm, work, "calls")
    reason = (
        "" if arm.ours else f"{arm.backend} cannot be observed from inside; `taenite probe` counts its calls"
    )
    return Calls(
        time_s=statistics.median(answer["time_ns"]) * 1e-9,
        samples_ns=answer["time_ns"],
        observed=_observed(answer["observed"]) if answer["observed"] else None,
        reason="" if arm.ours else reason,
        simd=answer["simd"],
        libraries=answer["libraries"],
    )


def _observed(given: dict[str, Any]) -> Observed:
    return Observed(
        seconds=given["seconds"],
        calls=[
            Called(routine, dtype, tuple(dims), count) for (routine, dtype, dims), count in given["calls"]
        ],
        workspaces={routine: (of[0], of[1]) for routine, of in given["workspaces"].items()},
        workspace_queries=given["workspace_queries"],
        volumes={kind: (given[kind][0], given[kind][1]) for kind in VOLUMES},
    )
