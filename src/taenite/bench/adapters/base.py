"""What an adapter owes: a prepared row, plain NumPy outputs, and a statement of what it runs on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..case import Array, Fixture, Row


class Unsupported(Exception):
    """The backend has no such operation or phase; the row is shown as `unsupported`, with the reason."""


@dataclass(frozen=True)
class Prepared:
    """A row ready to be timed.

    ``statement`` assigns ``out`` from ``names``; the clock surrounds a loop around exactly that statement.
    It returns only when the outputs are there: an asynchronous backend blocks inside it.
    """

    names: Mapping[str, Any]
    to_numpy: Callable[[Any], tuple[Array, ...]]
    statement: str = "out = call()"


class Adapter(Protocol):
    """One backend. Constructed once per worker process, after the process has been pinned."""

    name: str
    compiles: bool
    """Whether the first call of a row includes its compilation, and so says nothing about the others."""

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        """Move the fixture, trace and compile what needs it; nothing of this is timed."""

    def trim(self) -> None:
        """Give pooled memory back, so that a row does not inherit the pool of the row before it."""

    def describe(self) -> dict[str, Any]:
        """Versions, thread settings and providers, as plain data."""


LETTERS = "abcdefgh"


def lettered(operands: tuple[Any, ...]) -> dict[str, Any]:
    """Operands under the names that a case's inline formula uses."""
    return dict(zip(LETTERS, operands, strict=False))


def as_tuple(outputs: Any) -> tuple[Any, ...]:
    return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)


def call_statement(call: Callable[[], Any], to_numpy: Callable[[Any], tuple[Array, ...]]) -> Prepared:
    return Prepared({"call": call}, to_numpy)
