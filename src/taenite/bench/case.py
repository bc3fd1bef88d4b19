"""What is measured: cases, their rows, and the registry that everything else is computed from.

A *case* is one formula with its fixture and its oracle. A *row* is one line of the survey: a case at one
phase and one size. The formula is written once, against a namespace ``xp``, and every backend runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .work import Work

Array = NDArray[Any]
Outputs = Sequence[Array]
Formula = Callable[..., Any]

PHASES = {
    "primal": "the formula alone, nothing recorded",
    "tracked": "the formula on tracked inputs: recording is inside the clock, no backward",
    "backward": "forward, loss, and the gradient of every differentiated input",
    "pullback": "the gradients alone, from a fixed cotangent: the forward pass was recorded before the clock",
    "jvp": "the value and its derivative along fixed tangents",
    "vjp": "the value and the pullback of a fixed cotangent",
    "hvp": "the Hessian of a scalar loss times a fixed tangent, forward over reverse",
}

SCOPES = {
    "call": "one call of the prepared function, until its outputs are there",
    "expression": "the expression itself where a backend runs Python, one call where it runs a program",
}

OUTPUTS = {
    "fresh": "every call makes its outputs",
    "reused": "every call writes into one destination, allocated before the clock",
}

DESTRUCTIONS = {
    "outside": "outputs are kept until the clock has stopped",
    "inside": "within a batch each output replaces the one before it, whose destruction is timed",
}

SECOND_ORDER = "second_order"
BACKWARD_ONLY = "backward_only"
SUITE_OF_PHASE = {"hvp": SECOND_ORDER, "pullback": BACKWARD_ONLY}
"""Rows of these phases are in a suite of their own, whatever their case names: others take no longer."""

COTANGENT = 0.75
"""The cotangent of every vjp and pullback row: not 1, so that a backend that ignores it is found out."""

FLOAT64 = ("float64",)
UNIT = float(np.finfo(np.float64).eps) / 2
"""The unit round-off of float64."""


def destruction(batch: int) -> str:
    """Whether outputs are destroyed inside the clock: the batch of a reading decides."""
    return "outside" if batch == 1 else "inside"


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
    unit: float = UNIT
    """The unit round-off in which a backend computes with these numbers."""

    def cast(self, dtype: str) -> Fixture:
        """In another dtype. Complex numbers get arguments of their own: see `turned`."""
        if np.dtype(dtype).kind == "c":
            return self._each(lambda x: turned(x).astype(dtype))
        return self._each(lambda x: x.astype(dtype, copy=False))

    def widened(self) -> Fixture:
        """In double precision, for the oracle; `unit` remembers the precision of the backend."""
        found = next((x.dtype for x in self.operands if x.dtype.kind in "fc"), np.dtype("float64"))
        return replace(self._each(widened), unit=float(np.finfo(found).eps) / 2)

    def _each(self, change: Callable[[Array], Array]) -> Fixture:
        def apply(x: Array) -> Array:
            return change(x) if x.dtype.kind in "fc" else x

        return Fixture(tuple(map(apply, self.operands)), tuple(map(apply, self.tangents)), self.unit)


def turned(x: Array) -> Array:
    """Real numbers as complex ones of the same size, turned by angles that the shape alone decides."""
    angles = np.random.default_rng([20260402, *x.shape]).uniform(0, 2 * np.pi, x.shape)
    return np.asarray(x * np.exp(1j * angles))


def widened(x: Array) -> Array:
    return x.astype(np.result_type(x.dtype, np.float64), copy=False) if x.dtype.kind in "fc" else x


class Disagreement(Exception):
    """A backend's output differs from the oracle by more than rounding explains."""


class Unavailable(Exception):
    """A fixture cannot be built here, for example because a data set's package is missing."""


Check = Callable[[str, Outputs], None]
"""``check(phase, outputs)`` raises `Disagreement`; outputs are in the order that `PHASES` gives them."""


@dataclass(frozen=True)
class Selection:
    """Rows of a case for some suites: the sizes of each phase, in each of the dtypes."""

    suites: tuple[str, ...]
    phases: Mapping[str, tuple[Size, ...]]
    dtypes: tuple[str, ...] = FLOAT64

    def suites_of(self, phase: str) -> tuple[str, ...]:
        return (SUITE_OF_PHASE[phase],) if phase in SUITE_OF_PHASE else self.suites


def select(*suites: str, dtypes: Sequence[str] = FLOAT64, **phases: Iterable[Size]) -> Selection:
    """``select("small", primal=squares(2, 4))``: a `Selection`, written briefly."""
    return Selection(tuple(suites), {phase: tuple(sizes) for phase, sizes in phases.items()}, tuple(dtypes))


@dataclass(frozen=True)
class Case:
    """One formula: see `CONTRIBUTING.md` for how to add another."""

    name: str
    selections: tuple[Selection, ...]
    fixture: Callable[..., Fixture]
    formula: Formula
    oracle: Callable[[Fixture], Check]
    work: Callable[..., Work]
    """``work(phase, *size)`` in float64."""
    wrt: tuple[int, ...] = ()
    inline: str | None = None
    """The formula as an expression in a, b, c...: what takes nanoseconds is timed without a call."""
    destination: Callable[..., tuple[int, ...]] | None = None
    """The shape of the destination that ``formula(xp, out, *operands)`` writes into, from the size."""

    @property
    def description(self) -> str:
        return (self.formula.__doc__ or "").strip().splitlines()[0]

    @property
    def output(self) -> str:
        return "reused" if self.destination else "fresh"

    @property
    def suites(self) -> tuple[str, ...]:
        found = (s for one in self.selections for phase in one.phases for s in one.suites_of(phase))
        return tuple(dict.fromkeys(found))

    @property
    def phases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(phase for one in self.selections for phase in one.phases))

    def rows(self) -> tuple[Row, ...]:
        found = (row for one in self.selections for phase in one.phases for row in self._rows(one, phase))
        return tuple(dict.fromkeys(found))

    def rows_in(self, suite: str) -> tuple[Row, ...]:
        """The rows that belong to a suite, each once."""
        found = (
            row
            for one in self.selections
            for phase in one.phases
            if suite in one.suites_of(phase)
            for row in self._rows(one, phase)
        )
        return tuple(dict.fromkeys(found))

    def _rows(self, one: Selection, phase: str) -> Iterable[Row]:
        return (Row(self, phase, size, dtype) for dtype in one.dtypes for size in one.phases[phase])


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
        return tuple(suite for suite in self.case.suites if self in self.case.rows_in(suite))

    @property
    def scope(self) -> str:
        """What the clock surrounds: a key of `SCOPES`."""
        inlined = self.case.inline and self.phase in ("primal", "tracked", "backward")
        return "expression" if inlined else "call"

    @property
    def output(self) -> str:
        """Where the outputs go: a key of `OUTPUTS`."""
        return self.case.output

    @property
    def key(self) -> str:
        return "|".join((self.op, self.phase, self.size.label, self.dtype, self.scope, self.output))

    @property
    def work(self) -> Work:
        return self.case.work(self.phase, *self.size.args).in_dtype(self.dtype)

    def fixture(self) -> Fixture:
        """The numbers of this row, in its dtype."""
        return self.case.fixture(*self.size.args).cast(self.dtype)

    def check(self, fixture: Fixture) -> Check:
        """The oracle in double precision, with bounds for the precision of this row."""
        judge, wide = self.case.oracle(fixture.widened()), np.result_type(self.dtype, np.float64)

        def check(phase: str, outputs: Outputs) -> None:
            for found in map(np.asarray, outputs):
                if found.dtype not in (np.dtype(self.dtype), real_dtype(self.dtype)):
                    raise Disagreement(f"dtype {found.dtype}, wanted {self.dtype}")
            judge(phase, [widened(np.asarray(found)) for found in outputs])

        return check if wide != np.dtype(self.dtype) else judge

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        unusual = "" if self.dtype == "float64" else f" {self.dtype}"
        return f"{self.op} {self.size.label}{unusual}"


def real_dtype(dtype: str) -> np.dtype[Any]:
    return np.empty(0, dtype).real.dtype


_registry: dict[str, Case] = {}


def case(
    name: str,
    *,
    suites: Sequence[str],
    phases: Mapping[str, Iterable[Size]],
    fixture: Callable[..., Fixture],
    oracle: Callable[[Fixture], Check],
    work: Callable[..., Work],
    wrt: Sequence[int] = (),
    inline: str | None = None,
    destination: Callable[..., tuple[int, ...]] | None = None,
    dtypes: Sequence[str] = FLOAT64,
    also: Sequence[Selection] = (),
) -> Callable[[Formula], Formula]:
    """Register the decorated formula as a case; ``also`` has further selections of its rows."""
    first = select(*suites, dtypes=dtypes, **phases)

    def register(formula: Formula) -> Formula:
        selections = (first, *also)
        add(Case(name, selections, fixture, formula, oracle, work, tuple(wrt), inline, destination))
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
    return tuple(sorted({suite for one in all_cases() for suite in one.suites}))


def rows(suite: str) -> tuple[Row, ...]:
    """Every row of a suite, in the order of registration."""
    found = tuple(row for one in all_cases() for row in one.rows_in(suite))
    if not found:
        raise KeyError(f"bench: there is no suite {suite!r}; there are {', '.join(suites())}.")
    return found


def all_rows() -> tuple[Row, ...]:
    """Every row of the registry, once."""
    return tuple(row for one in all_cases() for row in one.rows())


SMALL_ORDERS = (2, 3, 4, 8, 16, 32)


def squares(*orders: int) -> tuple[Size, ...]:
    return tuple(Size(f"{n}x{n}", (n,)) for n in orders)


def as_scalar(value: Array) -> float:
    return float(np.asarray(value).reshape(()))
