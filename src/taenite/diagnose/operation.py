"""The process that is attributed: one row on one backend, counted by callgrind or observed.

Run as ``python -m taenite.diagnose.operation``; `instructions` and `calls` do. What it found is
written as JSON to ``--answer``; what libraries print goes where the parent sent it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import taenite as tn

from ..bench import cases, machine
from ..bench.adapters import OURS, load, sources
from ..bench.adapters.base import Adapter, Unsupported
from ..bench.case import Row
from ..bench.measure import Settled, Stopwatch, collector_off
from ..bench.worker import find_row, load_fixture
from .window import Windows

Answer = dict[str, Any]
assert cases.__all__

WINDOWS = (1, 2, 3)
"""Batches of operations in each window. The last and the first differ by two batches and nothing else."""

SMALL_WORK = 1 << 20
"""Bytes and flops of a row that is counted in batches: what the interpreter does for the first time in a
window would be a large part of one operation."""
BATCH = 100
LARGE_WORK = 1 << 28
"""Bytes and flops of a row that takes minutes under valgrind."""
WARMUPS, WARMUPS_OF_LARGE = 20, 2
"""Batches before the windows, in one loop: plans, workspaces and rules are warm, and so is the pool for
outputs that replace each other. Fixed numbers, so that profiles agree."""

REHEARSALS = 10
SAMPLES, INTERVAL_NS, OBSERVATIONS = 15, 5_000_000, 5
VOLUMES = ("copies", "fills", "materialisations", "allocations")
SIMD = ("SSE42", "AVX2", "FMA3", "AVX512F", "ASIMD", "SVE")


def batch_of(row: Row) -> int:
    return BATCH if work_of(row) < SMALL_WORK else 1


def warmups(row: Row) -> int:
    return WARMUPS if work_of(row) < LARGE_WORK else WARMUPS_OF_LARGE


def work_of(row: Row) -> float:
    return row.work.bytes + row.work.flops


def count(watch: Stopwatch, windows: Windows, batch: int, warm: int) -> Answer:
    """Open a window for each number of batches, after some over nothing: the first ones of all cost more."""
    nothing = [("rehearsal", Stopwatch("out = None", {}), 1)] * REHEARSALS
    real = [(f"N={n}", watch, n * batch) for n in WINDOWS]
    watch.sample(warm * batch)
    with collector_off(), windows.counting():
        before = thread_nanoseconds()
        for label, what, n in nothing + real:
            windows.window(label, lambda what=what, n=n: what.sample(n))  # type: ignore[misc]
        after = thread_nanoseconds()
    active = sum(ns > before.get(thread, 0) for thread, ns in after.items())
    return {"active_threads": active, "batch": batch}


def thread_nanoseconds() -> dict[str, int]:
    """CPU time of every thread of this process, as the kernel counts it."""
    found = {}
    for path in Path("/proc/self/task").glob("*/schedstat"):
        if (text := machine.read(str(path))) is not None:
            found[path.parent.name] = int(text.split()[0])
    return found


def observe(watch: Stopwatch, ours: bool) -> Answer:
    """Time the row with no observer open, then observe single operations."""
    with collector_off():
        batch = watch.calibrate(INTERVAL_NS).batch
        times = [watch.sample(batch).wall_ns / batch for _ in range(SAMPLES)]
        observed = [observed_once(watch) for _ in range(OBSERVATIONS)] if ours else []
    return {"time_ns": times, "observed": joined(observed) if observed else None}


def observed_once(watch: Stopwatch) -> Answer:
    with tn.observe(shapes=True) as calls:
        watch.once()
    return {
        "seconds": {routine: calls.seconds[routine] for routine in sorted(calls.counts)},
        "calls": sorted(Counter(calls.shapes).items()),
        "workspaces": {routine: [of.count, of.bytes] for routine, of in sorted(calls.workspaces.items())},
        "workspace_queries": calls.workspace_queries,
        **{kind: list(vars(getattr(calls, kind)).values()) for kind in VOLUMES},
    }


def joined(observed: list[Answer]) -> Answer:
    """Medians of the times; everything that is counted must be the same in each operation."""
    first = {key: value for key, value in observed[0].items() if key != "seconds"}
    for other in observed[1:]:
        if differing := [key for key, value in first.items() if other[key] != value]:
            raise RuntimeError(f"operations differ in {differing}: warm up longer, or the row has a state")
    seconds = {r: statistics.median(one["seconds"][r] for one in observed) for r in observed[0]["seconds"]}
    return {"seconds": seconds, **first}


def simd() -> dict[str, Any]:
    """What the libraries of this process believe the processor to be."""
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    found: dict[str, Any] = {"processor": [name for name in SIMD if features.get(name)]}
    found["taenite"] = tn._core.simd_target()
    if (torch := sys.modules.get("torch")) is not None:
        found["torch"] = torch.backends.cpu.get_cpu_capability()
    return found


def choose_gemm(target: str | None) -> None:
    if target is not None:
        tn.providers.use(gemm=target)


def attributed(given: argparse.Namespace, adapter: Adapter) -> Answer:
    row = find_row(given.row)
    prepared = adapter.prepare(row, load_fixture(Path(given.fixture)))
    watch = Stopwatch(prepared.statement, prepared.names)
    settled = Settled()
    settled.update()
    if given.instrument == "instructions":
        found = count(watch, Windows(), batch_of(row), warmups(row))
    else:
        watch.once()
        found = observe(watch, given.backend in OURS)
    settled.undo()
    return {**found, "simd": simd(), "libraries": machine.blas_libraries(), "backend": adapter.describe()}


def answer(given: argparse.Namespace) -> Answer:
    """What was found, or why the backend cannot run the row. Other exceptions end the process."""
    if given.instrument == "instructions" and not Windows().on_valgrind():
        return {"failed": "instructions are counted under valgrind only; `taenite attribute` runs it."}
    try:
        adapter = load(given.backend, given.threads)
        choose_gemm(given.gemm)
        return attributed(given, adapter)
    except (Unsupported, NotImplementedError) as error:
        return {"failed": f"unsupported: {error}"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m taenite.diagnose.operation", description=__doc__)
    parser.add_argument("--instrument", required=True, choices=("instructions", "calls"))
    parser.add_argument("--backend", required=True, choices=sources())
    parser.add_argument("--gemm")
    parser.add_argument("--row", required=True)
    parser.add_argument("--fixture", required=True)
    parser.add_argument("--threads", required=True, type=int)
    parser.add_argument("--answer", required=True)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    machine.pin(machine.affinity()[-given.threads :])
    Path(given.answer).write_text(json.dumps(answer(given)))


if __name__ == "__main__":
    main()
