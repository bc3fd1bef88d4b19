"""What is measured: cases, their rows, and the registry that everything else is computed from.

A *case* is one formula with its fixture and its oracle. A *row* is one line of the survey: a case at one
phase and one size. The formula is written once, against a namespace ``xp``, and every backend runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Outputs = Sequence[Array]
Formula = Callable[..., Any]

PHASES = {
    "primal": "the formula alone, nothing recorded",
    "tracked": "the formula on tracked inputs: recording is inside the clock, no backward",
    "backward": "forward, loss, and the gradient of every differentiated input",
    "jvp": "the value and its derivative along fixed tangents",
    "vjp": "the value and the pullback of a fixed cotangent",
    "hvp": "the Hessian of a scalar loss times a fixed tangent, forward over reverse",
}

SECOND_ORDER = "second_order"
"""The suite of every hvp row, whatever the suites of its case, so that other suites take no longer."""

COTANGENT = 0.75
"""The cotangent of every vjp row: not 1, so that a backend that ignores it is found out."""


@dataclass(frozen=True)
class Size:
    """One size of a case: the label in the ``shape`` column, and the numbers given to the fixture."""

    label: str
    args: tuple[int, ...]


@dataclass(frozen=True)
class Fixture:
    """The numbers of one row: operands in the formula's order, and a tangent for each differentiated one."""

    operands: tuple[Array, ...]
    tangents: tuple[Array, ...] = ()


class Disagreement(Exception):
    """A backend's output differs from the oracle by more than rounding explains."""


class Unavailable(Exception):
    """A fixture cannot be built here, for example because a data set's package is missing."""


Check = Callable[[str, Outputs], None]
"""``check(phase, outputs)`` raises `Disagreement`; outputs are in the order that `PHASES` gives them."""


@dataclass(frozen=True)
class Case:
    """One formula: see `CONTRIBUTING.md` for how to add another."""

    name: str
    suites: tuple[str, ...]
    phases: Mapping[str, tuple[Size, ...]]
    fixture: Callable[..., Fixture]
    formula: Formula
    oracle: Callable[[Fixture], Check]
    wrt: tuple[int, ...] = ()
    inline: str | None = None
    """The formula as an expression in a, b, c...: what takes nanoseconds is timed without a call."""

    @property
    def description(self) -> str:
        return (self.formula.__doc__ or "").strip().splitlines()[0]

    def suites_of(self, phase: str) -> tuple[str, ...]:
        return (SECOND_ORDER,) if phase == "hvp" else self.suites

    def phases_in(self, suite: str) -> Mapping[str, tuple[Size, ...]]:
        return {phase: sizes for phase, sizes in self.phases.items() if suite in self.suites_of(phase)}


@dataclass(frozen=True)
class Row:
    """One line of the survey."""

    case: Case
    phase: str
    size: Size
    dtype: str = "float64"

    @property
    def op(self) -> str:
        return self.case.name if self.phase == "primal" else f"{self.case.name}_{self.phase}"

    @property
    def suites(self) -> tuple[str, ...]:
        return self.case.suites_of(self.phase)

    @property
    def key(self) -> str:
        return f"{self.op}|{self.phase}|{self.size.label}|{self.dtype}"

    def __str__(self) -> str:
        return f"{self.op} {self.size.label}"


_registry: dict[str, Case] = {}


def case(
    name: str,
    *,
    suites: Sequence[str],
    phases: Mapping[str, Iterable[Size]],
    fixture: Callable[..., Fixture],
    oracle: Callable[[Fixture], Check],
    wrt: Sequence[int] = (),
    inline: str | None = None,
) -> Callable[[Formula], Formula]:
    """Register the decorated formula as a case."""

    def register(formula: Formula) -> Formula:
        add(
            Case(
                name,
                tuple(suites),
                {phase: tuple(sizes) for phase, sizes in phases.items()},
                fixture,
                formula,
                oracle,
                tuple(wrt),
                inline,
            )
        )
        return formula

    return register


def add(new: Case) -> None:
    """Put a case into the registry; a second case of the same name is refused."""
    if new.name in _registry:
        raise ValueError(f"bench.case: {new.name!r} is registered already.")
    if unknown := set(new.phases) - set(PHASES):
        raise ValueError(f"bench.case: {new.name!r} names unknown phases {sorted(unknown)}.")
    if not new.formula.__doc__:
        raise ValueError(f"bench.case: {new.name!r} needs a docstring that states its formula.")
    if {"jvp", "hvp"} & set(new.phases) and new.wrt != tuple(range(len(new.wrt))):
        raise ValueError(f"bench.case: {new.name!r} has tangents of {new.wrt}, which must come first.")
    _registry[new.name] = new


def all_cases() -> tuple[Case, ...]:
    return tuple(_registry.values())


def suites() -> tuple[str, ...]:
    found = {suite for one in all_cases() for phase in one.phases for suite in one.suites_of(phase)}
    return tuple(sorted(found))


def rows(suite: str) -> tuple[Row, ...]:
    """Every row of a suite, in the order of registration."""
    found = tuple(
        Row(one, phase, size)
        for one in all_cases()
        for phase, sizes in one.phases_in(suite).items()
        for size in sizes
    )
    if not found:
        raise KeyError(f"bench: there is no suite {suite!r}; there are {', '.join(suites())}.")
    return found


def squares(*orders: int) -> tuple[Size, ...]:
    return tuple(Size(f"{n}x{n}", (n,)) for n in orders)


def as_scalar(value: Array) -> float:
    return float(np.asarray(value).reshape(()))
