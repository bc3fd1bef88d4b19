"""Callgrind's output files, read into self costs and the costs of calls.

The format is described in the Valgrind manual, "Callgrind Format Specification". Names are compressed: a
number in parentheses stands for the name that came with it the first time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

Key = TypeVar("Key")


class BadProfile(Exception):
    """A file that cannot be believed: not callgrind's, cut off, or its sum is not its total."""


class Function(NamedTuple):
    """Where instructions were executed: a loaded file and a name, an address where there is no symbol."""

    object: str
    name: str


class Edge(NamedTuple):
    caller: Function
    callee: Function


@dataclass
class Profile:
    """Instructions by function, and by call: how often, and how many in the callee and all below it."""

    label: str = ""
    self_cost: Counter[Function] = field(default_factory=Counter)
    calls: Counter[Edge] = field(default_factory=Counter)
    inclusive: Counter[Edge] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.self_cost.total()

    def minus(self, other: Profile) -> Profile:
        """What this profile has more than another; counts may be negative."""
        return Profile(
            f"{self.label} - {other.label}",
            _difference(self.self_cost, other.self_cost),
            _difference(self.calls, other.calls),
            _difference(self.inclusive, other.inclusive),
        )


def _difference(a: Counter[Key], b: Counter[Key]) -> Counter[Key]:
    found = Counter(a)
    found.subtract(b)
    return Counter({key: count for key, count in found.items() if count})


_NAME = re.compile(r"\((\d+)\)(?: (.*))?$")
_TRIGGER = "desc: Trigger: Client Request: "


class _Reader:
    """The state of the format: the current function, the callee of a pending call, the names by number."""

    def __init__(self) -> None:
        self.profile = Profile()
        self.stated: int | None = None
        self._objects: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._object = self._function = self._callee_object = self._callee = ""
        self._pending: int | None = None
        self._handlers: dict[str, Callable[[str], None]] = {
            "ob": self._set_object,
            "fn": self._set_function,
            "cob": self._set_callee_object,
            "cfn": self._set_callee,
            "calls": self._set_calls,
        }

    def line(self, text: str) -> None:
        if text[0].isdigit() or text[0] in "+-*":
            self._cost(int(text.split()[1]))
        elif text.startswith("totals:"):
            self.stated = int(text.split()[1])
        elif text.startswith(_TRIGGER):
            self.profile.label = text.removeprefix(_TRIGGER)
        else:
            key, equals, value = text.partition("=")
            if equals and key in self._handlers:
                self._handlers[key](value)

    def _set_object(self, text: str) -> None:
        self._object = self._callee_object = _expanded(self._objects, text)

    def _set_function(self, text: str) -> None:
        self._function = _expanded(self._functions, text)

    def _set_callee_object(self, text: str) -> None:
        self._callee_object = _expanded(self._objects, text)

    def _set_callee(self, text: str) -> None:
        self._callee = _expanded(self._functions, text)

    def _set_calls(self, text: str) -> None:
        self._pending = int(text.split()[0])

    def _cost(self, cost: int) -> None:
        here = Function(self._object, self._function)
        if self._pending is None:
            self.profile.self_cost[here] += cost
            return
        edge = Edge(here, Function(self._callee_object, self._callee))
        self.profile.calls[edge] += self._pending
        self.profile.inclusive[edge] += cost
        self._pending, self._callee_object = None, self._object


def _expanded(names: dict[str, str], text: str) -> str:
    match = _NAME.match(text)
    if match is None:
        return text
    number, name = match.groups()
    if name is not None:
        names[number] = name
    return names[number]


def parse(text: str) -> Profile:
    """One part of a profile, checked against the total that it states."""
    if not text.startswith("# callgrind format"):
        raise BadProfile("this is not a file of callgrind: its first line is not '# callgrind format'.")
    reader = _Reader()
    for line in filter(None, text.splitlines()):
        reader.line(line)
    if reader.stated is None:
        raise BadProfile("the file has no total: callgrind was stopped while it wrote; profile again.")
    if reader.profile.total != reader.stated:
        raise BadProfile(f"functions sum to {reader.profile.total}, but the total is {reader.stated}.")
    return reader.profile


def parts(out: Path) -> Iterator[Path]:
    """The files of the windows of one process, in the order of their closing."""
    found = [path for path in out.parent.glob(f"{out.name}.*") if path.suffix[1:].isdigit()]
    yield from sorted(found, key=lambda path: int(path.suffix[1:]))


def read(path: Path) -> Profile:
    try:
        return parse(path.read_text(errors="replace"))
    except BadProfile as error:
        raise BadProfile(f"{path}: {error}") from error
