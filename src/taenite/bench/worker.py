"""A worker: one backend in one process, answering JSON lines on a pipe.

Run as ``python -m taenite.bench.worker --backend NAME --threads N --cpus 0,1``. The process pins itself
before it imports the backend, so every thread that the backend creates inherits the mask. The protocol's
stream is a private copy of standard output; whatever a library prints goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from . import cases, machine
from .adapters import load, sources
from .adapters.base import Adapter, Unsupported
from .case import Fixture, Row, all_rows
from .measure import Settled, Stopwatch, collector_off, empty_loop_ns

Reply = dict[str, Any]
assert cases.__all__


def save_fixture(path: Path, fixture: Fixture) -> None:
    arrays = {f"operand{i}": x for i, x in enumerate(fixture.operands)}
    arrays |= {f"tangent{i}": x for i, x in enumerate(fixture.tangents)}
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_fixture(path: Path) -> Fixture:
    with np.load(path) as file:
        operands = [file[f"operand{i}"] for i in range(sum(k.startswith("operand") for k in file.files))]
        tangents = [file[f"tangent{i}"] for i in range(sum(k.startswith("tangent") for k in file.files))]
    return Fixture(tuple(operands), tuple(tangents))


def find_row(key: str) -> Row:
    for row in all_rows():
        if row.key == key:
            return row
    raise KeyError(f"bench.worker: no row {key!r}")


class Worker:
    """The commands of the protocol. At most one row is prepared at a time."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.watch: Stopwatch | None = None
        self.settled = Settled()
        self.settled.update()

    def commands(self) -> dict[str, Callable[..., Reply]]:
        return {
            "describe": self.describe,
            "libraries": self.libraries,
            "prepare": self.prepare,
            "calibrate": self.calibrate,
            "sample": self.sample,
            "release": self.release,
        }

    def describe(self) -> Reply:
        return {
            "pid": os.getpid(),
            "affinity": machine.affinity(),
            "empty_loop_ns": empty_loop_ns(),
            "backend": self.adapter.describe(),
        }

    def libraries(self) -> Reply:
        """What is loaded by now; asked at the end of a generation, for libraries load lazily."""
        return {"libraries": machine.blas_libraries()}

    def prepare(self, row: str, fixture: str, outputs: str | None) -> Reply:
        """Set up a row and call it once: tracing, compiling and first-touch happen here."""
        start = time.perf_counter_ns()
        prepared = self.adapter.prepare(find_row(row), load_fixture(Path(fixture)))
        ready = time.perf_counter_ns()
        self.watch = Stopwatch(prepared.statement, prepared.names)
        first = self.watch.once()
        done = time.perf_counter_ns()
        self.settled.update()
        if outputs is not None:
            with Path(outputs).open("wb") as file:
                np.savez(file, *prepared.to_numpy(first))
        return {
            "setup_ns": ready - start,
            "first_call_ns": done - ready,
            "compiled": self.adapter.compiles,
        }

    def calibrate(self, interval_ns: int) -> Reply:
        with collector_off():
            found = self.prepared.calibrate(interval_ns)
        return {"batch": found.batch, "call_ns": found.call_ns}

    def sample(self, count: int, batch: int, warmups: int) -> Reply:
        """``count`` readings after ``warmups`` calls that are not read."""
        with collector_off():
            for _ in range(warmups):
                self.prepared.once()
            samples = [self.prepared.sample(batch) for _ in range(count)]
        return {"wall_ns": [s.wall_ns for s in samples], "cpu_ns": [s.cpu_ns for s in samples]}

    def release(self) -> Reply:
        self.watch = None
        self.adapter.trim()
        return {"thread_masks": machine.thread_masks()}

    @property
    def prepared(self) -> Stopwatch:
        if self.watch is None:
            raise RuntimeError("bench.worker: no row is prepared")
        return self.watch


def answer(worker: Worker, line: str) -> Reply:
    """Run one command; an exception becomes a reply, and the worker lives on."""
    request = json.loads(line)
    try:
        return worker.commands()[request.pop("do")](**request)
    except (Unsupported, NotImplementedError) as error:
        return {"failed": "unsupported", "message": str(error) or type(error).__name__}
    except Exception as error:
        return {
            "failed": "error",
            "message": f"{type(error).__name__}: {error}",
            "traceback": traceback.format_exc(),
        }


def serve(worker: Worker, requests: IO[str], replies: IO[str]) -> None:
    """Answer until the other end closes."""
    try:
        for line in requests:
            replies.write(json.dumps(answer(worker, line)) + "\n")
            replies.flush()
    finally:
        worker.settled.undo()


def private_stdout() -> IO[str]:
    """Keep standard output for the protocol, and send everything else that writes to it to standard error."""
    private = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return private


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m taenite.bench.worker", description=__doc__)
    parser.add_argument("--backend", required=True, choices=sources())
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--cpus", required=True)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    replies = private_stdout()
    machine.pin([int(cpu) for cpu in given.cpus.split(",")])
    serve(Worker(load(given.backend, given.threads)), sys.stdin, replies)


if __name__ == "__main__":
    main()
