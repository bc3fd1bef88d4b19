"""An arm of an attribution: a backend, what taenite multiplies with in it, and its process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..bench import arms
from ..bench.adapters import OURS
from ..bench.case import Row
from ..bench.client import environment
from ..bench.machine import FORCING_VARIABLES
from ..bench.worker import save_fixture

LAST_LINES = 8
"""Of what a process wrote, in the message that it failed."""


class Refused(Exception):
    """An instrument's numbers cannot be had, or not be believed; the message says what to do."""


@dataclass(frozen=True)
class Arm:
    """``gemm`` is a provider's name or path, or ``numpy`` for NumPy's; None for the default."""

    backend: str
    gemm: str | None = None

    @property
    def ours(self) -> bool:
        return self.backend in OURS

    @property
    def label(self) -> str:
        return self.backend if self.gemm is None else f"{self.backend} gemm={Path(self.gemm).name}"

    @property
    def target(self) -> str | None:
        """What `tn.providers.use` is told."""
        return numpys_library() if self.gemm == "numpy" else self.gemm


def numpys_library() -> str:
    """The OpenBLAS that NumPy's wheel brings: one file on both sides has one kernel."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    found = sorted(folder.glob("*openblas*"))
    if not found:
        raise Refused(f"this NumPy brings no OpenBLAS in {folder}; name a library by its path.")
    return str(found[0])


@dataclass(frozen=True)
class Work:
    """What every arm of an attribution runs."""

    row: Row
    threads: int
    directory: Path
    timeout_s: float

    @property
    def fixture(self) -> Path:
        path = self.directory / "fixture.npz"
        if not path.exists():
            save_fixture(path, self.row.fixture())
        return path


def forced_variables(env: Mapping[str, str]) -> list[str]:
    """Variables that force the kernels of some CPU; valgrind's may be another one, so no arm gets them."""
    return [name for name in FORCING_VARIABLES if name in env]


def environment_of(arm: Arm, work: Work) -> dict[str, str]:
    env = environment(arms.Arm(arm.backend), work.threads, work.directory / "cache")
    for name in forced_variables(env):
        del env[name]
    return env | {"PYTHONHASHSEED": "0"}


def run(arm: Arm, work: Work, instrument: str, wrapper: Sequence[str] = ()) -> dict[str, Any]:
    """The answer of one process that runs the row in an instrument."""
    with tempfile.NamedTemporaryFile(dir=work.directory, suffix=".json") as file:
        options = {
            "instrument": instrument,
            "backend": arm.backend,
            "row": work.row.key,
            "fixture": str(work.fixture),
            "threads": str(work.threads),
            "answer": file.name,
        }
        command = [*wrapper, sys.executable, "-m", "taenite.diagnose.operation"]
        command += [f"--{name}={value}" for name, value in options.items()]
        command += [f"--gemm={arm.target}"] if arm.gemm is not None else []
        _call(arm, command, environment_of(arm, work), work.timeout_s)
        answer: dict[str, Any] = json.loads(Path(file.name).read_text())
    if "failed" in answer:
        raise Refused(answer["failed"])
    return answer


def _call(arm: Arm, command: list[str], env: dict[str, str], timeout_s: float) -> None:
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise Refused(f"{arm.label} took longer than {timeout_s:g} s; raise --timeout.") from error
    if done.returncode != 0:
        last = " / ".join((done.stderr or done.stdout).strip().splitlines()[-LAST_LINES:])
        raise Refused(f"{arm.label} ended with code {done.returncode}: {last or 'it left no message'}")
