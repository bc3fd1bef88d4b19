"""Two instruments on one row, joined: calls with their times, instructions with their categories."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from ..bench import machine
from . import calls, controls, instructions
from .arm import Arm, Refused, Work, forced_variables
from .calls import Calls
from .controls import Control
from .instructions import SIMD_OF_VALGRIND, Instructions

SCHEMA = 1
Say = Callable[[str], None]


@dataclass
class Found:
    """What the instruments say about one arm; ``refused`` has the reason of one that says nothing."""

    arm: Arm
    calls: Calls | None = None
    instructions: Instructions | None = None
    controls: list[Control] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


@dataclass
class Attribution:
    """One row, attributed on several arms."""

    work: Work
    arms: list[Found]
    controls: list[Control]
    valgrind: str | None
    notes: list[str]

    @property
    def failures(self) -> list[str]:
        """Why the numbers cannot be believed, or were not had."""
        found = [
            f"{one.arm.label}: {instrument}: {why}"
            for one in self.arms
            for instrument, why in one.refused.items()
            if not why.startswith("unsupported")
        ]
        judged = [(one.arm.label, c) for one in self.arms for c in one.controls]
        judged += [("all", c) for c in self.controls]
        return found + [f"{label}: {c.name}: {c.text}" for label, c in judged if c.verdict == "failed"]


def attribute(
    work: Work, arms: list[Arm], *, with_calls: bool, with_instructions: bool, profiles: int, say: Say
) -> Attribution:
    valgrind = instructions.require_valgrind() if with_instructions else None
    found = []
    for arm in arms:
        one = Found(arm)
        if with_calls:
            say(f"{arm.label}: calls")
            _try(one, "calls", lambda one=one: add_calls(one, work))  # type: ignore[misc]
        if with_instructions and "calls" not in one.refused:
            say(f"{arm.label}: instructions")
            _try(one, "instructions", lambda one=one: add_instructions(one, work, profiles))  # type: ignore[misc]
        found.append(one)
    return Attribution(work, found, compared(found), valgrind, notes(valgrind))


def _try(found: Found, instrument: str, run: Callable[[], None]) -> None:
    try:
        run()
    except Refused as error:
        found.refused[instrument] = str(error)


def add_calls(found: Found, work: Work) -> None:
    found.calls = calls.measure(found.arm, work)


def add_instructions(found: Found, work: Work, profiles: int) -> None:
    counted = [instructions.count(found.arm, work) for _ in range(profiles)]
    found.instructions = counted[0]
    found.controls += [*map(controls.linearity, counted), controls.agreement(counted)]


def compared(found: list[Found]) -> list[Control]:
    counted = {one.arm.label: one.instructions for one in found if one.instructions is not None}
    return controls.kernels(counted)


def notes(valgrind: str | None) -> list[str]:
    found = ["instructions are not time"] if valgrind else []
    if valgrind:
        found.append(SIMD_OF_VALGRIND.format(version=valgrind))
    if forced := forced_variables(os.environ):
        found.append(f"not given to the processes, for they force kernels: {', '.join(forced)}")
    return found


def as_json(found: Attribution) -> dict[str, Any]:
    row = found.work.row
    return {
        "schema": SCHEMA,
        "row": {
            "key": row.key,
            "op": row.op,
            "phase": row.phase,
            "shape": row.size.label,
            "dtype": row.dtype,
        },
        "threads": found.work.threads,
        "machine": machine.describe(),
        "valgrind": found.valgrind,
        "notes": found.notes,
        "arms": [arm_as_json(one) for one in found.arms],
        "controls": [asdict(one) for one in found.controls],
        "failures": found.failures,
    }


def arm_as_json(found: Found) -> dict[str, Any]:
    given: dict[str, Any] = {"label": found.arm.label, "backend": found.arm.backend, "gemm": found.arm.gemm}
    if found.calls is not None:
        derived = {"inside_calls_s": found.calls.floor_s, "time_over_calls": found.calls.over_floor}
        given["calls"] = asdict(found.calls) | derived
    if found.instructions is not None:
        derived = {
            "inside_provider": found.instructions.inside,
            "outside_provider": found.instructions.outside,
        }
        given["instructions"] = asdict(found.instructions) | derived
    return given | {"controls": [asdict(one) for one in found.controls], "refused": found.refused}
