"""The arms of a run: what is measured side by side in every round.

An arm is a backend, and perhaps a variant of it: its twin, a second process of the same program whose
difference is noise (the A/A arm); a *toggle*, one setting changed (the A/B arm); or the control, which no
change of taenite can touch. The label of an arm is what the tables and files call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import taenite as tn

from .adapters import OURS

TWIN = "aa"
CONTROL = "control"


@dataclass(frozen=True)
class Toggle:
    """One setting that an arm has and the others have not."""

    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.name}={self.value}"

    @property
    def environment(self) -> dict[str, str]:
        """What the worker's environment gets before it starts."""
        if self.name.startswith("env:"):
            return {self.name.removeprefix("env:"): self.value}
        return {"TAENITE_SKIP_PASSES": self.value} if self.name == "skip" else {}

    @property
    def cpus(self) -> list[int] | None:
        """The CPUs of the worker, where the toggle is about them."""
        return [int(cpu) for cpu in self.value.split(",")] if self.name == "cpus" else None

    def apply(self) -> None:
        """Change the setting in this process, after the backend is set up."""
        if self.name == "pool":
            tn.pool.set_cap(0 if self.value == "off" else int(self.value))
        elif self.name == "provider":
            tn.providers.use(self.value)
        elif self.name == "gemm":
            tn.providers.use(gemm=self.value)


TOGGLES = {
    "pool": "off, or the bytes that the pool may cache",
    "provider": "a BLAS and LAPACK library by name or path",
    "gemm": "what multiplies matrices: native, or a provider",
    "skip": "passes over graphs that are left out, as TAENITE_SKIP_PASSES names them",
    "cpus": "the CPUs that the worker's process may use, such as 0,1",
    "env:NAME": "a variable of the worker's environment",
}
"""Every toggle, and what its value is."""


def parse_toggle(text: str) -> Toggle:
    """``NAME=VALUE`` as a toggle.

    Raises ValueError for a name that is not in `TOGGLES` and for a value that cannot be one.
    """
    name, equals, value = text.partition("=")
    known = name in TOGGLES or (name.startswith("env:") and len(name) > len("env:"))
    if not known or not equals or not value:
        raise ValueError(f"--toggle: NAME=VALUE with a name of {', '.join(TOGGLES)}, got {text!r}.")
    toggle = Toggle(name, value)
    try:
        if toggle.cpus is None and name == "pool" and value != "off":
            int(value)
    except ValueError as error:
        raise ValueError(f"--toggle: {name} is {TOGGLES[name]}, got {value!r}.") from error
    return toggle


@dataclass(frozen=True)
class Arm:
    """A backend, and what is special about this process of it."""

    backend: str
    variant: str = ""
    toggle: Toggle | None = field(default=None, compare=False)

    @property
    def label(self) -> str:
        return f"{self.backend}@{self.variant}" if self.variant else self.backend

    def document(self) -> dict[str, Any]:
        return {"label": self.label, "backend": self.backend, "variant": self.variant}


def backend_of(label: str) -> str:
    """The backend that an arm of this label runs."""
    return label.partition("@")[0]


def is_twin(label: str) -> bool:
    return label.endswith(f"@{TWIN}")


def ours(backends: Sequence[str]) -> list[str]:
    """The backends under test: taenite's own, or the first one where there are only peers."""
    plain = [name for name in backends if "@" not in name]
    return [name for name in plain if name in OURS] or plain[:1]


def arms(backends: Sequence[str], toggles: Sequence[Toggle] = ()) -> tuple[Arm, ...]:
    """The arms of a run: every backend, the twin of the first under test, and each toggle on all of those."""
    subject = ours(backends)
    toggled = [Arm(name, str(toggle), toggle) for toggle in toggles for name in subject]
    return (*map(Arm, backends), Arm(subject[0], TWIN), *toggled)


CONTROL_ARM = Arm("numpy", CONTROL)
