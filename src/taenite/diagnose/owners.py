"""Whose thread is it? Libraries of this kind rarely name their threads, so the stack is asked.

A thread's control block, at the top of its stack, holds the function that the thread was started with. The
file that this function lies in owns the thread: libgomp, OpenBLAS, the interpreter. It is found from outside,
by the stack pointer in ``/proc/PID/task/TID/syscall`` (there while the thread waits) and ``/proc/PID/mem``;
those of our descendants can be read. The four degrees of certainty:

- ``stack``: the start function was found (glibc on x86-64): certain.
- ``name``: the thread, or its process, carries a name that only one owner gives: nearly certain.
- ``library``: only one library that is known to start threads is mapped: a guess.
- ``none``: nothing is known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .processes import PROC, Reading, read

Words = npt.NDArray[np.uint64]

# Which files own threads, asked in this order.
FILES = (
    ("OpenBLAS", r"openblas"),
    ("MKL", r"libmkl_"),
    ("OpenMP", r"lib(g|i)?omp\d*([-.]|$)"),
    ("TBB", r"libtbb"),
    ("taenite", r"taenite/_core"),
    ("PyTorch", r"torch/lib/lib"),
    ("XLA", r"jaxlib/"),
    ("Python", r"/(lib)?python[\d.]*(\.so[\d.]*)?$"),
)
NAMES = (("taenite", r"taenite"), ("XLA", r"tf_|xla"), ("PyTorch", r"pt_"))
# Code through which any thread runs.
RUNTIME = re.compile(r"/(libc|libpthread|ld|ld-linux[^/]*|libstdc\+\+|libm|libgcc_s)[-.\d]*\.so")
STACK_BYTES = 256 * 1024
CONTROL_BLOCK_WORDS = 288


@dataclass(frozen=True)
class Owner:
    kind: str
    evidence: str


UNKNOWN = Owner("other", "none")


class Code:
    """The executable mappings of a process: which file holds an address."""

    def __init__(self, maps: str) -> None:
        rows = (line.split(maxsplit=5) for line in maps.splitlines())
        mapped = [row for row in rows if len(row) == 6 and row[5].startswith("/")]
        self.files = sorted({row[5].strip() for row in mapped})
        spans = sorted((*bounds(row[0]), row[5].strip()) for row in mapped if "x" in row[1])
        self.starts = [first for first, _, _ in spans]
        self.spans = spans

    def file(self, address: int) -> str | None:
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address >= self.spans[index][1]:
            return None
        return self.spans[index][2]

    def first_owner(self, words: Iterable[int]) -> str | None:
        """The file of the first word that points into code which is not the runtime's."""
        for word in words:
            file = self.file(int(word))
            if file is not None and not RUNTIME.search(file):
                return file
        return None


def bounds(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first, 16), int(last, 16)


def owner(reading: Reading) -> Owner:
    """The best answer for a thread at this moment."""
    maps = read(PROC / str(reading.pid) / "maps")
    if not maps:
        return UNKNOWN
    code = Code(maps)
    if reading.tid == reading.pid:
        return main_thread(reading, code)
    file = start_file(reading, code)
    if file is not None:
        return Owner(first_match(FILES, file) or f"other ({Path(file).name})", "stack")
    if (kind := first_match(NAMES, reading.name)) is not None:
        return Owner(kind, "name")
    kinds = {kind for path in code.files if (kind := first_match(FILES[:4], path)) is not None}
    return Owner(kinds.pop(), "library") if len(kinds) == 1 else UNKNOWN


def main_thread(reading: Reading, code: Code) -> Owner:
    python = any(first_match(FILES[-1:], path) for path in code.files)
    return Owner("main (Python)" if python else "main", "name")


def first_match(table: Iterable[tuple[str, str]], text: str) -> str | None:
    return next((kind for kind, pattern in table if re.search(pattern, text)), None)


def start_file(reading: Reading, code: Code) -> str | None:
    """The file of the thread's start function; None while it runs, or if its stack cannot be read."""
    pointer = stack_pointer(reading)
    stack = memory(reading.pid, pointer, STACK_BYTES) if pointer else None
    if stack is None:
        return None
    assert pointer is not None
    block = control_block(stack, pointer)
    if block is None:
        return None
    # The start function; or, if the C++ runtime started the thread, the outermost function that it called.
    inside = code.first_owner(stack[block : block + CONTROL_BLOCK_WORDS])
    return inside or code.first_owner(stack[:block][::-1])


def stack_pointer(reading: Reading) -> int | None:
    text = read(PROC / str(reading.pid) / "task" / str(reading.tid) / "syscall")
    fields = (text or "").split()
    return int(fields[-2], 16) & ~7 if len(fields) >= 3 else None


def memory(pid: int, address: int, size: int) -> Words | None:
    """Words of another process from an address on: as many as are mapped."""
    try:
        with (PROC / str(pid) / "mem").open("rb", buffering=0) as file:
            file.seek(address)
            data = file.read(size)
    except OSError:  # ended, or not ours to see
        return None
    return np.frombuffer(data[: len(data) // 8 * 8], np.uint64)


def control_block(stack: Words, base: int) -> int | None:
    """The index of the thread's control block, which points to itself twice, at words 0 and 2."""
    here = np.arange(len(stack), dtype=np.uint64) * np.uint64(8) + np.uint64(base)
    found = np.flatnonzero((stack[:-2] == here[:-2]) & (stack[2:] == here[:-2]))
    return int(found[0]) if len(found) else None
