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

from . import cases, machine, rates
from .adapters import load, sources
from .adapters.base import Adapter, Prepared, Unsupported
from .case import Fixture, Row, all_rows
from .measure import Settled, Stopwatch, collector_off, empty_loop_ns, interruptions
from .toggles import parse_toggle

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
    """The commands of the protocol. A row is prepared in a slot, of which the controls have one each."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.slots: dict[str, tuple[Prepared, Stopwatch]] = {}
        self.settled = Settled()
        self.settled.update()

    def commands(self) -> dict[str, Callable[..., Reply]]:
        return {
            "describe": self.describe,
            "rates": self.rates,
            "libraries": self.libraries,
            "prepare": self.prepare,
            "lateness": self.lateness,
            "calibrate": self.calibrate,
            "sample": self.sample,
            "release": self.release,
        }

    def describe(self) -> Reply:
        return {
            "pid": os.getpid(),
            "affinity": machine.affinity(),
            "empty_loop_ns": empty_loop_ns(),
            "backend": machine.portable(self.adapter.describe()),
        }

    def rates(self, threads: int) -> Reply:
        """What these CPUs can do at most."""
        return rates.measure(threads).document()

    def libraries(self) -> Reply:
        """What is loaded by now; asked at the end of a generation, for libraries load lazily."""
        return {"libraries": machine.portable(machine.blas_libraries())}

    def prepare(self, row: str, fixture: str, outputs: str | None, slot: str = "") -> Reply:
        """Set up a row and call it once: tracing, compiling and first-touch happen here."""
        start = time.perf_counter_ns()
        prepared = self.adapter.prepare(find_row(row), load_fixture(Path(fixture)))
        ready = time.perf_counter_ns()
        watch = Stopwatch(prepared.statement, prepared.names)
        self.slots[slot] = prepared, watch
        first = watch.once()
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

    def lateness(self, calls: int) -> Reply:
        """How long after the clock has stopped the outputs are still not there, at best of some calls.

        Reading outputs for the first time takes as long as reading them again, unless they were not ready.
        """
        prepared, watch = self.ready("")
        read, late, called = prepared.to_numpy, [], []
        for _ in range(calls):
            start = time.perf_counter_ns()
            out = watch.once()
            stop = time.perf_counter_ns()
            read(out)
            first = time.perf_counter_ns()
            read(out)
            again = time.perf_counter_ns()
            called.append(stop - start)
            late.append((first - stop) - (again - first))
        return {"late_ns": min(late), "call_ns": min(called)}

    def calibrate(self, interval_ns: int) -> Reply:
        _, watch = self.ready("")
        with collector_off():
            found = watch.calibrate(interval_ns)
        return {"batch": found.batch, "call_ns": found.call_ns}

    def sample(self, count: int, batch: int, warmups: int, slot: str = "") -> Reply:
        """``count`` readings after ``warmups`` calls that are not read."""
        _, watch = self.ready(slot)
        with collector_off():
            for _ in range(warmups):
                watch.once()
            before = interruptions()
            samples = [watch.sample(batch) for _ in range(count)]
            disturbed = interruptions().since(before)
        return {
            "wall_ns": [s.wall_ns for s in samples],
            "cpu_ns": [s.cpu_ns for s in samples],
            "switches": disturbed.switches,
            "faults": disturbed.faults,
        }

    def release(self) -> Reply:
        self.slots.clear()
        self.adapter.trim()
        return {"thread_masks": machine.thread_masks()}

    def ready(self, slot: str) -> tuple[Prepared, Stopwatch]:
        if slot not in self.slots:
            raise RuntimeError("bench.worker: no row is prepared")
        return self.slots[slot]


def answer(worker: Worker, request: dict[str, Any]) -> Reply:
    """Run one command; an exception becomes a reply, and the worker lives on."""
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
    """Answer until the other end closes.

    ``clean`` forks: the child, in which no row has run yet, answers until ``leave``, and this process waits.
    It speaks again only if the child broke down.
    """
    try:
        for line in requests:
            request = json.loads(line)
            if request["do"] == "clean":
                reply = step_aside()
            elif request["do"] == "leave":
                send(replies, {})
                os._exit(0)
            else:
                reply = answer(worker, request)
            if reply is not None:
                send(replies, reply)
    finally:
        worker.settled.undo()


def send(replies: IO[str], reply: Reply) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def step_aside() -> Reply | None:
    """Fork. The child says that it is there; the parent waits for it, and speaks if its end was a bad one."""
    child = os.fork()
    if child == 0:
        return {"pid": os.getpid()}
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return None
    return {"failed": "error", "message": f"the process of a clean context ended with {code}"}


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
    parser.add_argument("--toggle", type=parse_toggle)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    replies = private_stdout()
    machine.pin([int(cpu) for cpu in given.cpus.split(",")])
    adapter = load(given.backend, given.threads)
    if given.toggle is not None:
        given.toggle.apply()
    serve(Worker(adapter), sys.stdin, replies)


if __name__ == "__main__":
    main()
