"""Whether the numbers of a run may be believed. A failed check is printed and marks the run."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from .cpus import expand_cpu_list
from .machine import FORCING_VARIABLES
from .survey import Survey

TOO_MANY = 1.10
TOO_FEW = 0.95
IDLE_LOAD = 0.5
STOLEN = 0.01
OLD_KERNELS = ("generic", "prescott", "core2", "nehalem", "barcelona", "katmai", "armv8")


def check(survey: Survey, about: dict[str, Any], stolen_fraction: float | None) -> list[str]:
    """Every reason to distrust this run; empty when there is none."""
    return [
        *effective_threads(survey),
        *masks(survey),
        *load(survey),
        *governor(about),
        *kernels(survey, about),
        *forced(about),
        *stolen(stolen_fraction),
    ]


def effective_threads(survey: Survey) -> Iterator[str]:
    """CPU seconds per wall second: above the thread count a backend cheats, below it somebody else ran."""
    for threads in survey.settings.threads:
        for backend in survey.settings.backends:
            found = [
                r.effective_threads
                for r in survey.results.values()
                if r.timed and (r.backend, r.threads) == (backend, threads)
            ]
            if not found:
                continue
            if max(found) > TOO_MANY * threads:
                yield f"{backend} used up to {max(found):.2f} threads where {threads} were allowed"
            if threads == 1 and median(found) < TOO_FEW:
                yield f"{backend} got only {median(found):.2f} CPU seconds per second: the CPU was shared"


def masks(survey: Survey) -> Iterator[str]:
    """Every thread of a worker may run inside the worker's domain, and nowhere else."""
    for worker in survey.workers:
        allowed = set(worker["affinity"])
        if len(allowed) != worker["threads"]:
            yield f"{worker['name']}: the worker could not be pinned; it may run on CPUs {sorted(allowed)}"
        for mask in worker["masks"]:
            if expand_cpu_list(mask) - allowed:
                yield f"{worker['name']}: a thread may run on CPUs {mask}, outside {sorted(allowed)}"


def load(survey: Survey) -> Iterator[str]:
    """The median load average before a round, beyond the one measured worker."""
    found = [entry["load"] for entry in survey.loads if entry["load"] is not None]
    excess = median(found) - max(survey.settings.threads) if found else 0.0
    if excess > IDLE_LOAD:
        yield f"other programs kept about {excess:.1f} CPUs busy: measure on a quiet machine"


def governor(about: dict[str, Any]) -> Iterator[str]:
    if about["governor"] not in (None, "performance"):
        yield f"the frequency governor is {about['governor']!r}, not 'performance'"


def kernels(survey: Survey, about: dict[str, Any]) -> Iterator[str]:
    """A library that picked the kernels of an older CPU than this one."""
    modern = {"avx2", "asimd"} & set(about["simd"])
    seen = set()
    for worker in survey.workers:
        for library in worker["libraries"]:
            name = str(library.get("architecture", "")).lower()
            if modern and name in OLD_KERNELS and (worker["name"], name) not in seen:
                seen.add((worker["name"], name))
                yield f"{worker['name']}: {library.get('filepath')} runs its {name!r} kernels on this CPU"


def forced(about: dict[str, Any]) -> Iterator[str]:
    for name in FORCING_VARIABLES:
        if name in about["environment"]:
            yield f"{name}={about['environment'][name]} forces the choice of kernels: unset it"


def stolen(fraction: float | None) -> Iterator[str]:
    if fraction is not None and fraction > STOLEN:
        yield f"the hypervisor gave {fraction:.1%} of the CPU time to others"
