"""The arms of a run: what is measured side by side in every round.

An arm is a backend, and perhaps a variant of it: its twin, a second process of the same program whose
difference is noise (the A/A arm); a *toggle*, one setting changed (the A/B arm); or the control, which no
change of taenite can touch. The label of an arm is what the tables and files call it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .adapters import OURS
from .toggles import Toggle

TWIN = "aa"
CONTROL = "control"


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
