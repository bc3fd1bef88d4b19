"""The environment contract: what the machine was doing before each round. Nothing is changed, only read."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from .machine import affinity, read


@dataclass(frozen=True)
class Conditions:
    """One look at the machine. None where it cannot say."""

    load: float | None
    """The load average of the last minute."""
    foreign: int | None
    """Threads that run or want to, the one that asks not counted."""
    stolen_ticks: int | None
    """Clock ticks that the hypervisor gave to others since boot."""
    throttled: int | None
    """How often the quota of the control group stopped this process since its start."""
    mhz: float | None
    governor: str | None
    cpus: int
    """How many CPUs the run may use: an affinity or a quota that shrinks changes what is measured."""

    def document(self) -> dict[str, Any]:
        return asdict(self)


def look(cpu: int) -> Conditions:
    """The conditions now; frequency and governor are those of this CPU."""
    scaling = f"/sys/devices/system/cpu/cpu{cpu}/cpufreq"
    frequency = read(f"{scaling}/scaling_cur_freq")
    running = field_of(read("/proc/stat"), "procs_running")
    return Conditions(
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        foreign=None if running is None else max(0, running - 1),
        stolen_ticks=stolen_ticks(),
        throttled=field_of(read("/sys/fs/cgroup/cpu.stat"), "nr_throttled"),
        mhz=float(frequency) / 1000 if frequency else None,
        governor=read(f"{scaling}/scaling_governor"),
        cpus=len(affinity()),
    )


def field_of(text: str | None, name: str) -> int | None:
    """The number behind a name in a file of lines such as ``procs_running 2``."""
    for line in (text or "").splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name:
            return int(words[1])
    return None


def stolen_ticks() -> int | None:
    first = (read("/proc/stat") or "").splitlines()[:1]
    fields = first[0].split() if first else []
    return int(fields[8]) if len(fields) > 8 else None


def ticks_per_second() -> int:
    return os.sysconf("SC_CLK_TCK")
