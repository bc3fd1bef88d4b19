"""What instructions are for: functions in categories, and the work that entry points of providers do.

The patterns are data, in ``categories.toml``. A function belongs to the first category that matches.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .callgrind import Edge, Function, Profile

KERNEL = "GEMM kernel"
"""The category whose count is the control: equal on both sides where the kernel is the same."""


@dataclass(frozen=True)
class Pattern:
    object: re.Pattern[str]
    function: re.Pattern[str]

    def matches(self, one: Function) -> bool:
        return bool(self.object.search(one.object) and self.function.search(one.name))


@dataclass(frozen=True)
class Category:
    name: str
    patterns: tuple[Pattern, ...]
    provider: bool = False
    """Whether every function of a provider that no category before it took belongs here."""


@dataclass(frozen=True)
class Table:
    """The file of patterns, compiled."""

    categories: tuple[Category, ...]
    providers: Mapping[str, Pattern]
    bridges: tuple[Pattern, ...]

    def provider_of(self, one: Function) -> str | None:
        found = (name for name, pattern in self.providers.items() if pattern.matches(one))
        return next(found, None)

    def is_bridge(self, one: Function) -> bool:
        return any(pattern.matches(one) for pattern in self.bridges)


@dataclass(frozen=True)
class Entry:
    """An entry point of a provider: calls from outside of it, and what they and all below them cost."""

    function: Function
    provider: str
    calls: int
    inclusive: int


def _pattern(given: Mapping[str, Any]) -> Pattern:
    return Pattern(re.compile(given.get("object", "")), re.compile(given.get("function", "")))


def _category(given: Mapping[str, Any]) -> Category:
    patterns = tuple(map(_pattern, given.get("patterns", ())))
    return Category(given["name"], patterns, given.get("provider", False))


def load(text: str) -> Table:
    given = tomllib.loads(text)
    table = Table(
        tuple(map(_category, given["category"])),
        {one["name"]: _pattern(one) for one in given.get("provider", ())},
        tuple(map(_pattern, given.get("bridge", ()))),
    )
    if not any(p.matches(Function("", "")) for p in table.categories[-1].patterns):
        raise ValueError(
            f"categories: the last one must match everything, not {table.categories[-1].name!r}."
        )
    return table


@cache
def default() -> Table:
    return load(files(__package__).joinpath("categories.toml").read_text())


def of_providers(profile: Profile, table: Table) -> dict[Function, str]:
    """Functions of providers: those that patterns name, and those of the same file that only they call."""
    everything = set(profile.self_cost) | {end for edge in profile.calls for end in edge}
    found = {one: name for one in everything if (name := table.provider_of(one)) is not None}
    homes = {one.object: name for one, name in found.items()}
    callers = _callers(edge for edge in profile.calls if edge.callee.object in homes)
    grown = True
    while grown:
        inner = [one for one, by in callers.items() if one not in found and all(c in found for c in by)]
        found |= {one: homes[one.object] for one in inner}
        grown = bool(inner)
    return found


def _callers(edges: Iterable[Edge]) -> dict[Function, set[Function]]:
    callers: dict[Function, set[Function]] = {}
    for edge in edges:
        if edge.caller != edge.callee:
            callers.setdefault(edge.callee, set()).add(edge.caller)
    return callers


def entries(profile: Profile, table: Table) -> list[Entry]:
    """Calls from outside into providers, the costliest first."""
    inside, calls, inclusive = of_providers(profile, table), Counter[Function](), Counter[Function]()
    for edge, cost in profile.inclusive.items():
        if edge.callee in inside and edge.caller not in inside and not table.is_bridge(edge.caller):
            calls[edge.callee] += profile.calls[edge]
            inclusive[edge.callee] += cost
    return [Entry(one, inside[one], calls[one], cost) for one, cost in inclusive.most_common()]


def by_category(profile: Profile, table: Table) -> dict[str, Counter[Function]]:
    """Self costs at 100 %: every function is in exactly one category, in the order of the table."""
    inside = of_providers(profile, table)
    found: dict[str, Counter[Function]] = {one.name: Counter() for one in table.categories}
    for function, cost in profile.self_cost.items():
        found[category_of(function, function in inside, table)][function] += cost
    return found


def category_of(function: Function, of_provider: bool, table: Table) -> str:
    for one in table.categories:
        if (of_provider and one.provider) or any(p.matches(function) for p in one.patterns):
            return one.name
    raise AssertionError("the last category matches everything")
