"""The BLAS and LAPACK calls of any command: counted by a preloaded library, put together here."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import which
from typing import Any

from .probe_file import Calls, Process

LIBRARY = Path(__file__).parent.parent / "_probe.preload.so"

# What is in these files besides routines with names, and so stays unseen.
INSIDES = (
    (
        r"libtorch_cpu",
        "MKL is linked into it: the routines that PyTorch calls by name are counted, oneDNN's products and "
        "what MKL does within itself are not",
    ),
    (
        r"libjax_common|xla_extension",
        "XLA's products are code of its own (Eigen, oneDNN), which cannot be seen; its LAPACK calls go "
        "through SciPy's pointers and are counted with SciPy's library",
    ),
    (r"libtensorflow", "its products are code of its own (Eigen, oneDNN), which cannot be seen"),
)
BLAS_NAME = re.compile(r"blas|lapack|mkl|blis|armpl|nvpl|aocl|atlas", re.IGNORECASE)


class NotHere(Exception):
    """The probe cannot work on this machine."""


def environment(directory: Path, base: Mapping[str, str]) -> dict[str, str]:
    """The variables with which a command is watched, and counts into this directory."""
    if not LIBRARY.exists():
        raise NotHere(
            f"taenite probe: {LIBRARY} is missing; it is built on x86-64 Linux only. Rebuild taenite there."
        )
    link = directory / LIBRARY.name  # its path may hold neither a blank nor a colon
    link.symlink_to(LIBRARY)
    preload = " ".join([str(link), *base.get("LD_PRELOAD", "").split()])
    return {**base, "LD_PRELOAD": preload, "TAENITE_PROBE_DIR": str(directory)}


def unwatchable(command: str) -> str | None:
    """Why the loader would not preload into this program; None if it will."""
    found = which(command)
    if found is None:
        return None
    path = Path(found)
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID) and os.getuid() != 0:
        return f"{path} is setuid or setgid: nothing is preloaded into it, so its calls cannot be seen"
    if is_static(path):
        return f"{path} is linked statically: its calls cannot be seen"
    return None


def is_static(path: Path) -> bool:
    """Whether a program is an ELF file that names no loader."""
    data = path.read_bytes()[:8192]
    if data[:5] != b"\x7fELF\x02":
        return False
    offset, size, count = (
        int.from_bytes(data[at : at + n], "little") for at, n in ((32, 8), (54, 2), (56, 2))
    )
    kinds = (int.from_bytes(data[at : at + 4], "little") for at in range(offset, offset + size * count, size))
    return 3 not in kinds  # PT_INTERP


@dataclass(frozen=True)
class Line:
    """One line of the table: a routine of a library, with one shape or with all."""

    routine: str
    library: str
    shape: tuple[int, ...]
    shapes: int
    calls: int
    queries: int
    ns: int


def lines(calls: Iterable[Calls], by_shape: bool) -> list[Line]:
    """Calls of all processes and spellings put together, the most time first."""
    gathered: dict[tuple[str, str, tuple[int, ...]], list[Calls]] = {}
    for one in calls:
        gathered.setdefault((one.routine, one.library, one.shape if by_shape else ()), []).append(one)
    found = [
        Line(
            routine,
            library,
            shape,
            len({one.shape for one in members}),
            sum(one.calls for one in members),
            sum(one.queries for one in members),
            sum(one.ns for one in members),
        )
        for (routine, library, shape), members in gathered.items()
    ]
    return sorted(found, key=lambda line: (-line.ns, line.routine))


def notes(processes: Sequence[Process], pid: int, command: Sequence[str]) -> list[str]:
    """What the counts do not say: libraries that were not called, and calls that could not be seen."""
    found = [why] if (why := unwatchable(command[0])) else []
    if not found and pid not in {one.pid for one in processes}:
        found.append(
            f"{command[0]} was not watched: it did not load the preloaded library. Is it of another "
            "architecture, or started without LD_PRELOAD?"
        )
    for one in processes:
        if one.lost or one.shapeless:
            found.append(
                f"process {one.pid} had too many shapes: {one.shapeless} calls were counted without, "
                f"{one.lost} not at all"
            )
    return found + library_notes(processes)


def library_notes(processes: Iterable[Process]) -> list[str]:
    """One sentence for each library that holds, or may hold, products that were not seen."""
    mapped: dict[str, bool] = {}
    called: set[str] = set()
    for one in processes:
        mapped |= {path: False for path in one.others if path not in mapped}
        mapped |= dict.fromkeys(one.libraries, True)
        called |= {calls.library for calls in one.calls}
    return [note for path, is_blas in mapped.items() if (note := library_note(path, is_blas, path in called))]


def library_note(path: str, is_blas: bool, called: bool) -> str | None:
    name = Path(path).name
    for pattern, inside in INSIDES:
        if re.search(pattern, name):
            return f"{path}: {inside}"
    if called or not is_blas:
        return None
    if BLAS_NAME.search(name):
        return f"{path} was loaded, and no call to it was seen"
    return f"{path} contains a BLAS of its own, linked statically: calls from inside of it cannot be seen"


def as_json(
    processes: Sequence[Process], said: list[str], command: list[str], code: int, wall_s: float
) -> dict[str, Any]:
    """Everything that was counted, process by process."""
    return {
        "schema": "taenite-probe-1",
        "command": command,
        "exit_code": code,
        "wall_s": wall_s,
        "notes": said,
        "processes": [asdict(one) for one in processes],
    }
