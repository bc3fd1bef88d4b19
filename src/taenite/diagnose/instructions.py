"""Instructions per operation: one process under callgrind, a window for 1, 2 and 3 operations or batches.

(N = 3 minus N = 1) / 2 is what one more operation executes: loop, clock and profiler cancel. N = 2 lies
between and shows whether the count is linear. Callgrind is asked for no separate threads, so that windows
hold the instructions of all of them.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from . import callgrind, categories
from .arm import Arm, Refused, Work, run
from .callgrind import Function, Profile
from .operation import WINDOWS

OPTIONS = ("--tool=callgrind", "--instr-atstart=no", "--separate-threads=no", "--dump-line=no")
SIMD_OF_VALGRIND = "AVX2 at most: valgrind {version} runs no AVX-512, so neither do the libraries under it"

LINEARITY = 5e-3
"""How much the third operation may differ from the second, relatively..."""
SLACK = 1_000
"""...or in instructions of a whole window: CPython rewrites its code while it runs it for the first times."""


@dataclass(frozen=True)
class Entry:
    """A provider's entry point, per operation."""

    function: str
    provider: str
    calls: float
    inclusive: float


@dataclass
class Instructions:
    """Instructions of one operation."""

    total: float
    batch: int
    """Operations by which the windows differ."""
    windows: dict[str, int]
    by_category: dict[str, float]
    top: list[dict[str, Any]]
    entries: list[Entry]
    kernel: dict[str, float]
    """The functions of the GEMM kernel."""
    kernel_files: dict[str, str]
    """The files that they come from, with their SHA-256."""
    active_threads: int = 1
    simd: dict[str, Any] = field(default_factory=dict)
    libraries: list[dict[str, Any]] = field(default_factory=list)

    @property
    def inside(self) -> float:
        return sum(entry.inclusive for entry in self.entries)

    @property
    def outside(self) -> float:
        return self.total - self.inside

    @property
    def kernel_count(self) -> float:
        return sum(self.kernel.values())

    @property
    def nonlinearity(self) -> float:
        """Instructions that the third batch has more or less than the second."""
        one, two, three = (self.windows[f"N={n}"] for n in WINDOWS)
        return abs((three - two) - (two - one))


def require_valgrind() -> str:
    """The version of valgrind; refused where there is none."""
    path = shutil.which("valgrind")
    if path is None:
        raise Refused("valgrind is not installed: apt install valgrind, or use --no-instructions.")
    shown = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    if not (match := re.match(r"valgrind-(\S+)", shown)):
        raise Refused(f"{path} --version says {shown.strip()!r}, not its version; reinstall valgrind.")
    return match[1]


def count(arm: Arm, work: Work) -> Instructions:
    require_valgrind()
    out = work.directory / f"callgrind.{arm.backend}"
    for left in callgrind.parts(out):
        left.unlink()
    answer = run(arm, work, "instructions", ["valgrind", *OPTIONS, f"--callgrind-out-file={out}"])
    profiles = windows(out)
    require_threads(answer["active_threads"], work.threads)
    found = instructions(profiles, answer["batch"])
    found.active_threads, found.simd, found.libraries = (
        answer[key] for key in ("active_threads", "simd", "libraries")
    )
    return found


def windows(out: Path) -> dict[str, Profile]:
    """The windows of one process by label; refused unless each of them counted something."""
    found = {profile.label: profile for profile in map(callgrind.read, callgrind.parts(out))}
    labels = [f"N={n}" for n in WINDOWS]
    if empty := [label for label in labels if label not in found or found[label].total == 0]:
        raise Refused(
            f"callgrind counted nothing in {', '.join(empty)}: valgrind did not understand the requests of "
            "libtaenite_window.so. Rebuild taenite on this machine, and use valgrind 3.19 or later."
        )
    return {label: found[label] for label in labels}


def require_threads(active: int, threads: int) -> None:
    if active > threads:
        raise Refused(
            f"{active} threads worked where {threads} may: the counts would hold work, and waiting, "
            "that belongs to no operation. Find them with `taenite affinity`, or raise --threads."
        )


def instructions(profiles: dict[str, Profile], batch: int) -> Instructions:
    first, last = (f"N={n}" for n in (WINDOWS[0], WINDOWS[-1]))
    extra, table = profiles[last].minus(profiles[first]), categories.default()
    operations = (WINDOWS[-1] - WINDOWS[0]) * batch
    costs = categories.by_category(extra, table)
    kernel = costs[categories.KERNEL]
    return Instructions(
        total=extra.total / operations,
        batch=batch,
        windows={label: profile.total for label, profile in profiles.items()},
        by_category={name: found.total() / operations for name, found in costs.items()},
        top=top(costs, operations),
        entries=[
            Entry(one.function.name, one.provider, one.calls / operations, one.inclusive / operations)
            for one in categories.entries(extra, table)
        ],
        kernel={one.name: cost / operations for one, cost in kernel.most_common()},
        kernel_files={one.object: sha256(one.object) for one in kernel},
    )


def top(costs: dict[str, Counter[Function]], operations: int, most: int = 25) -> list[dict[str, Any]]:
    """The functions that cost most."""
    found = sorted(
        ((cost, one, category) for category, of in costs.items() for one, cost in of.items()), reverse=True
    )
    return [
        {"instructions": cost / operations, "function": one.name, "file": one.object, "category": category}
        for cost, one, category in found[:most]
    ]


@cache
def sha256(path: str) -> str:
    """Of a loaded file, or empty if it is not a file: code that was made while running."""
    if not Path(path).is_file():
        return ""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
