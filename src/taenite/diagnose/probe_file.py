"""The files in which the preloaded library counts, read. ``native/probe/record.h`` has the same layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"taenite-probe-1"
HEADER = np.dtype(
    [
        ("magic", "S16"),
        ("pid", "i8"),
        ("parent", "i8"),
        ("started_ns", "i8"),
        ("ended_ns", "i8"),
        ("libraries", "i8"),
        ("rows", "i8"),
        ("shapeless", "i8"),
        ("lost", "i8"),
        ("command", "V3984"),
        ("spare", "V32"),
    ]
)
LIBRARY = np.dtype([("path", "S503"), ("is_blas", "?"), ("base", "u8")])
ROW = np.dtype(
    [
        ("state", "u4"),
        ("entry", "u4"),
        ("routine", "S24"),
        ("symbol", "S40"),
        ("library", "u2"),
        ("dims", "u1"),
        ("spare", "V5"),
        ("shape", "i8", (5,)),
        ("calls", "u8"),
        ("queries", "u8"),
        ("ns", "u8"),
        ("reserved", "u8"),
    ]
)
MAX_LIBRARIES = 256


@dataclass(frozen=True)
class Calls:
    """The calls of one symbol with one shape. Queries only asked for the size of a workspace."""

    routine: str
    symbol: str
    library: str
    shape: tuple[int, ...]
    calls: int
    queries: int
    ns: int


@dataclass(frozen=True)
class Process:
    """What one process, or what it was before it became another program by exec, did."""

    pid: int
    parent: int
    command: tuple[str, ...]
    orderly: bool  # it ended by exit; otherwise libraries that it never called may be missing
    libraries: tuple[str, ...]  # that hold BLAS or LAPACK
    others: tuple[str, ...]  # that do not, under a name like theirs
    calls: tuple[Calls, ...]
    shapeless: int
    lost: int


def read(path: Path) -> Process | None:
    """One file; None if its process ended before it had written who it is."""
    data = path.read_bytes()
    if len(data) < HEADER.itemsize:
        return None
    header = np.frombuffer(data, HEADER, 1)[0]
    if header["magic"] != MAGIC:
        return None
    libraries = np.frombuffer(data, LIBRARY, MAX_LIBRARIES, HEADER.itemsize)[: int(header["libraries"])]
    rows = np.frombuffer(data, ROW, offset=HEADER.itemsize + MAX_LIBRARIES * LIBRARY.itemsize)
    paths = [str(Path(text(one["path"])).resolve()) for one in libraries]
    return Process(
        int(header["pid"]),
        int(header["parent"]),
        tuple(part.decode(errors="replace") for part in bytes(header["command"]).strip(b"\0").split(b"\0")),
        bool(header["ended_ns"]),
        tuple(path for path, one in zip(paths, libraries, strict=True) if one["is_blas"]),
        tuple(path for path, one in zip(paths, libraries, strict=True) if not one["is_blas"]),
        tuple(row_calls(rows, paths)),
        int(header["shapeless"]),
        int(header["lost"]),
    )


def row_calls(rows: Any, libraries: list[str]) -> Iterator[Calls]:
    for row in rows[rows["state"] == 2]:
        if row["calls"] or row["queries"]:
            yield Calls(
                text(row["routine"]),
                text(row["symbol"]),
                libraries[row["library"]],
                tuple(int(n) for n in row["shape"][: row["dims"]]),
                int(row["calls"]),
                int(row["queries"]),
                int(row["ns"]),
            )


def text(value: Any) -> str:
    return bytes(value).decode(errors="replace")


def read_all(directory: Path) -> list[Process]:
    """Every process that counted into this directory, in the order in which they started."""
    files = sorted(directory.glob("*.probe"), key=lambda path: int(path.stem.partition("-")[2]))
    return [found for path in files if (found := read(path)) is not None]
