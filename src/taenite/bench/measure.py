"""The clock: a statement in a loop, calibrated to a minimum interval, with garbage collection off.

Rows longer than the interval are timed call by call, and the output lives until the clock has stopped. Within
a batch of shorter rows each output replaces the one before it. The cost of the empty loop is measured and
reported beside the results, not subtracted.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

Clock = Callable[[], int]
MAX_BATCH = 1 << 24

TEMPLATE = """
def loop({parameters}):
    def run(_repeats):
        _cpu, _start = _cpu_clock(), _clock()
        for _ in _repeat(None, _repeats):
            {statement}
        _stop = _clock()
        return _stop - _start, _cpu_clock() - _cpu, out
    return run
"""


@dataclass(frozen=True)
class Sample:
    """One reading: ``batch`` calls took ``wall_ns``, during which the process used ``cpu_ns`` of CPU time."""

    batch: int
    wall_ns: int
    cpu_ns: int


@dataclass(frozen=True)
class Interruptions:
    """What the system did to this process: involuntary context switches, and page faults without a disk."""

    switches: int
    faults: int

    def since(self, before: Interruptions) -> Interruptions:
        return Interruptions(self.switches - before.switches, self.faults - before.faults)


def interruptions() -> Interruptions:
    """Of all threads of this process, since its start."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Interruptions(usage.ru_nivcsw, usage.ru_minflt)


@dataclass(frozen=True)
class Calibration:
    batch: int
    call_ns: int


class Stopwatch:
    """A statement under two clocks: one for time, one for the CPU time of all threads of the process."""

    def __init__(
        self,
        statement: str,
        names: Mapping[str, Any],
        clock: Clock = time.perf_counter_ns,
        cpu_clock: Clock = time.process_time_ns,
    ) -> None:
        given = {**names, "_clock": clock, "_cpu_clock": cpu_clock, "_repeat": repeat}
        source = TEMPLATE.format(parameters=", ".join(given), statement=statement)
        scope: dict[str, Any] = {}
        exec(compile(source, f"<timed: {statement}>", "exec"), scope)
        self._run: Callable[[int], tuple[int, int, Any]] = scope["loop"](**given)

    def once(self) -> Any:
        """The outputs of one call."""
        return self._run(1)[2]

    def sample(self, batch: int) -> Sample:
        wall, cpu, out = self._run(batch)
        del out
        return Sample(batch, wall, cpu)

    def calibrate(self, interval_ns: int) -> Calibration:
        """The smallest batch that fills the interval, and the time of one call in it."""
        batch, wall = 1, self.sample(1).wall_ns
        while wall < interval_ns and batch < MAX_BATCH:
            batch = grown(batch, wall, interval_ns)
            wall = self.sample(batch).wall_ns
        return Calibration(batch, max(1, wall // batch))


def grown(batch: int, wall_ns: int, interval_ns: int) -> int:
    """A larger batch: aim 10 % past the interval, but grow tenfold at most, for the first calls are slow."""
    aim = batch * interval_ns * 11 // (10 * max(1, wall_ns)) + 1
    return min(max(aim, batch + 1), 10 * batch, MAX_BATCH)


class Settled:
    """Keeps imported modules out of the collector's sight: a collection then takes microseconds, where those
    of a large library cost tens of milliseconds before every reading."""

    def __init__(self) -> None:
        self._modules = 0

    def update(self) -> None:
        """Set aside what lives now, if modules were imported since the last time."""
        if len(sys.modules) != self._modules:
            gc.collect()
            gc.freeze()
            self._modules = len(sys.modules)

    def undo(self) -> None:
        """Give everything back: what is set aside when the interpreter ends is never freed."""
        gc.unfreeze()
        self._modules = 0


@contextmanager
def collector_off() -> Iterator[None]:
    """Collect once, then keep the collector out of the readings."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def empty_loop_ns(repeats: int = 200_000) -> float:
    """What one turn of the loop costs when there is nothing in it."""
    watch = Stopwatch("out = None", {})
    return min(watch.sample(repeats).wall_ns for _ in range(5)) / repeats
