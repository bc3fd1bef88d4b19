"""Whether the numbers of a run may be believed. A failed check is printed and marks the run."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median
from typing import Any

from .cpus import expand_cpu_list
from .machine import FORCING_VARIABLES
from .survey import Survey

TOO_MANY = 1.10
TOO_FEW = 0.95
IDLE_FOREIGN = 0.5
SWITCHES_PER_S = 50.0
FEW_SWITCHES = 5
DRIFT = 0.25
FEW_VISITS = 8
STOLEN = 0.01
OLD_KERNELS = ("generic", "prescott", "core2", "nehalem", "barcelona", "katmai", "armv8")


def check(survey: Survey, about: dict[str, Any], stolen_fraction: float | None) -> list[str]:
    """Every reason to distrust this run; empty when there is none."""
    return [
        *complete(survey),
        *impossible(survey),
        *effective_threads(survey),
        *masks(survey),
        *busy(survey),
        *preempted(survey),
        *throttled(survey),
        *shrunk(survey),
        *drifted(survey),
        *governor(about),
        *kernels(survey, about),
        *swapped(survey),
        *forced(about),
        *stolen(stolen_fraction),
    ]


def complete(survey: Survey) -> Iterator[str]:
    """Every row that the protocol promised has a result, and a time from every generation if it has one."""
    expected, found = survey.expected, len(survey.results)
    if found != expected:
        yield f"{found} rows of the {expected} that the protocol lists were measured: the run is not complete"
    least = survey.settings.profile.generations
    for result in survey.results.values():
        if result.status == "ok" and len({block.generation for block in result.blocks}) < least:
            yield f"{result.row} on {result.backend} lacks readings of some of the {least} generations"


def impossible(survey: Survey) -> Iterator[str]:
    for result in survey.results.values():
        if result.suspect:
            yield f"{result.row} on {result.backend} with {result.threads} threads: {result.suspect}"


def effective_threads(survey: Survey) -> Iterator[str]:
    """CPU seconds per wall second: above the thread count a backend cheats, below it somebody else ran."""
    for threads in survey.settings.threads:
        for backend in survey.settings.labels:
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
    """Every thread of a worker may run anywhere inside the worker's domain, and nowhere else."""
    for worker in survey.workers:
        allowed, name = set(worker["affinity"]), worker["name"]
        if len(allowed) != worker["threads"] and "@cpus=" not in name:
            yield f"{name}: the worker could not be pinned; it may run on CPUs {sorted(allowed)}"
        for mask in worker["masks"]:
            cpus = expand_cpu_list(mask)
            if cpus - allowed:
                yield f"{name}: a thread may run on CPUs {mask}, outside {sorted(allowed)}"
            elif cpus != allowed:
                yield f"{name}: a thread is confined to CPUs {mask} of {sorted(allowed)}"


def busy(survey: Survey) -> Iterator[str]:
    """Threads of other programs that ran, or wanted to, just before the rounds."""
    found = [entry["foreign"] for entry in survey.rounds if entry["foreign"] is not None]
    if found and mean(found) > IDLE_FOREIGN:
        yield f"other programs kept {mean(found):.1f} threads busy: measure on a quiet machine"


def preempted(survey: Survey) -> Iterator[str]:
    """Involuntary context switches while the clock ran: only a competitor for the CPU causes many."""
    for threads in survey.settings.threads:
        for backend in survey.settings.labels:
            results = [r for r in survey.results.values() if (r.backend, r.threads) == (backend, threads)]
            blocks = [block for result in results for block in result.blocks]
            seconds = sum(sum(block.wall_ns) for block in blocks) / 1e9
            switches = sum(block.switches for block in blocks)
            if switches > FEW_SWITCHES and switches / seconds > SWITCHES_PER_S:
                rate = switches / seconds
                yield (
                    f"{backend} with {threads} threads was preempted {rate:.0f} times per second: "
                    "it has more threads than CPUs, or other programs run"
                )


def throttled(survey: Survey) -> Iterator[str]:
    found = [entry["throttled"] for entry in survey.rounds if entry["throttled"] is not None]
    if found and found[-1] > found[0]:
        yield f"the control group's quota stopped the run {found[-1] - found[0]} times: raise it"


def shrunk(survey: Survey) -> Iterator[str]:
    found = {entry["cpus"] for entry in survey.rounds}
    if len(found) > 1:
        yield f"the CPUs that may be used changed during the run, from {max(found)} to {min(found)}"


def drifted(survey: Survey) -> Iterator[str]:
    """Work that nothing here can touch took longer in some parts of the run than in others."""
    for control in survey.controls:
        if control.status != "ok":
            yield f"{control.row} failed: {control.note}"
        medians = sorted(median(block.per_call_ns) for block in control.blocks)
        if len(medians) < FEW_VISITS:
            continue
        low, high = medians[len(medians) // 4], medians[3 * len(medians) // 4]
        if high / low > 1 + DRIFT:
            yield f"{control.row} drifted by {high / low - 1:.0%} between quarters of the run's visits"


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


def swapped(survey: Survey) -> Iterator[str]:
    """A library that is another file in a later process of the same arm."""
    first: dict[tuple[str, int], set[str]] = {}
    for worker in survey.workers:
        key, found = (worker["name"], worker["threads"]), identities(worker["libraries"])
        if found != first.setdefault(key, found):
            changed = ", ".join(sorted(found ^ first[key]))
            yield f"{worker['name']}: its libraries changed between two generations: {changed}"


def identities(libraries: list[dict[str, Any]]) -> set[str]:
    """What proves which libraries a process ran: path and digest of each."""
    return {f"{entry.get('filepath')} {str(entry.get('sha256'))[:12]}" for entry in libraries}


def forced(about: dict[str, Any]) -> Iterator[str]:
    for name in FORCING_VARIABLES:
        if name in about["environment"]:
            yield f"{name}={about['environment'][name]} forces the choice of kernels: unset it"


def stolen(fraction: float | None) -> Iterator[str]:
    if fraction is not None and fraction > STOLEN:
        yield f"the hypervisor gave {fraction:.1%} of the CPU time to others"
