"""Toggles: one setting changed in one arm of a run, to see what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import taenite as tn
from taenite.graph.passes import OPTIONAL

from .machine import affinity

PREFIX = "env:"


@dataclass(frozen=True)
class Kind:
    """What a toggle's value is, whether it can be this one, and what it does in the worker's process."""

    value: str
    possible: Callable[[str], bool]
    apply: Callable[[str], None] | None = None


def distinct(names: list[str]) -> set[str]:
    """The names as a set; with a repetition, a set that nothing contains."""
    return set(names) if len(set(names)) == len(names) else {""}


def provider_exists(value: str) -> bool:
    return value in tn.providers.available() or Path(value).is_file()


def set_pool(value: str) -> None:
    tn.pool.set_cap(0 if value == "off" else int(value))


def use_provider(value: str) -> None:
    tn.providers.use(value)


def use_gemm(value: str) -> None:
    tn.providers.use(gemm=value)


KINDS = {
    "pool": Kind(
        "off, or the bytes that the pool may cache",
        lambda value: value == "off" or value.isdecimal(),
        set_pool,
    ),
    "provider": Kind("a BLAS and LAPACK library by name or path", provider_exists, use_provider),
    "gemm": Kind(
        "what multiplies matrices: native, or a provider",
        lambda value: value == "native" or provider_exists(value),
        use_gemm,
    ),
    "skip": Kind(
        f"passes over graphs that are left out: {', '.join(OPTIONAL)}",
        lambda value: set(value.split(",")) <= set(OPTIONAL),
    ),
    "cpus": Kind(
        "the CPUs that the worker's process may use, such as 0,1",
        lambda value: distinct(value.split(",")) <= set(map(str, affinity())),
    ),
    "env:NAME": Kind("a variable of the worker's environment", lambda value: True),
}
"""Every toggle by name."""


@dataclass(frozen=True)
class Toggle:
    """One setting that an arm has and the others have not."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"

    @property
    def kind(self) -> Kind:
        return KINDS["env:NAME" if self.name.startswith(PREFIX) else self.name]

    @property
    def environment(self) -> dict[str, str]:
        """What the worker's environment gets before it starts."""
        if self.name.startswith(PREFIX):
            return {self.name.removeprefix(PREFIX): self.value}
        return {"TAENITE_SKIP_PASSES": self.value} if self.name == "skip" else {}

    @property
    def cpus(self) -> list[int] | None:
        """The CPUs of the worker, where the toggle is about them."""
        return [int(cpu) for cpu in self.value.split(",")] if self.name == "cpus" else None

    def apply(self) -> None:
        """Change the setting in this process, after the backend is set up."""
        if self.kind.apply is not None:
            self.kind.apply(self.value)


def parse_toggle(text: str) -> Toggle:
    """``NAME=VALUE`` as a toggle.

    Raises ValueError for a name that is not in `KINDS` and for a value that cannot be one.
    """
    name, equals, value = text.partition("=")
    known = name in KINDS or (name.startswith(PREFIX) and name != PREFIX)
    if not known or not equals or not value:
        raise ValueError(f"--toggle: NAME=VALUE with a name of {', '.join(KINDS)}, got {text!r}.")
    toggle = Toggle(name, value)
    if not toggle.kind.possible(value):
        raise ValueError(f"--toggle: {name} is {toggle.kind.value}, got {value!r}.")
    return toggle


def parse_toggles(texts: Sequence[str]) -> tuple[Toggle, ...]:
    """Each as a toggle; ValueError if one is given twice, for its arms would have one name."""
    toggles = tuple(map(parse_toggle, texts))
    if twice := [str(toggle) for toggle in toggles if toggles.count(toggle) > 1]:
        raise ValueError(f"--toggle: name each setting once, got {twice[0]} more than once.")
    return toggles
