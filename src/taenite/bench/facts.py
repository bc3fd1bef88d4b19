"""Where and how a run was made: machine, libraries, rates, controls and conditions, as texts for a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from .rates import Rates
from .survey import Result, Survey

Pairs = list[tuple[str, str]]
SHOWN_DIGITS = 12
"""Of a SHA-256."""


def library(entry: dict[str, Any]) -> str:
    """One loaded library: file, version, kernels, threads, digest."""
    kernels = entry.get("architecture", "kernels unknown")
    digest = str(entry.get("sha256", "not hashed"))[:SHOWN_DIGITS]
    version = entry.get("version") or "version unknown"
    threads = entry.get("num_threads", "?")
    return f"{entry.get('filepath')} {version} ({kernels}, {threads} threads, sha256 {digest})"


def library_rows(survey: Survey) -> list[list[str]]:
    """Arms, file, version, kernels, threads, digest; arms with the same library share a line."""
    found: dict[tuple[str, ...], dict[str, None]] = {}
    threads: dict[tuple[str, ...], dict[str, None]] = {}
    for worker in survey.workers:
        for entry in worker["libraries"]:
            key = tuple(str(entry.get(name) or "unknown") for name in ("filepath", "version", "architecture"))
            key += (str(entry.get("sha256", "not hashed"))[:SHOWN_DIGITS],)
            found.setdefault(key, {})[worker["name"]] = None
            threads.setdefault(key, {})[str(entry.get("num_threads", "unknown"))] = None
    return [[", ".join(arms), *key[:3], ", ".join(threads[key]), key[3]] for key, arms in found.items()]


def libraries(survey: Survey) -> list[str]:
    """Which BLAS each backend loaded, once per backend."""
    lines = (
        f"{worker['name']}: {library(entry)}" for worker in survey.workers for entry in worker["libraries"]
    )
    return list(dict.fromkeys(lines))


def machine(about: dict[str, Any]) -> Pairs:
    """What is known of the machine; what the system does not say is left out."""
    wanted = {
        "CPU": about.get("cpu"),
        "SIMD": " ".join(about.get("simd") or ()),
        "logical CPUs": about.get("logical_cpus"),
        "CPUs that may be used": " ".join(map(str, about.get("affinity") or ())),
        "caches": ", ".join(f"{name} {size}" for name, size in (about.get("caches") or {}).items()),
        "governor": about.get("governor"),
        "boost": about.get("boost"),
        "virtual machine": "yes" if about.get("hypervisor") else "no",
        "control group's quota": about.get("cgroup_cpu_max"),
        "system": about.get("system"),
        "Python": str(about.get("python", "")).split(" ")[0],
        "variables set": ", ".join(f"{k}={v}" for k, v in (about.get("environment") or {}).items()),
    }
    return [(name, str(value)) for name, value in wanted.items() if value]


def rates(survey: Survey) -> Pairs:
    """The peak and the best copy rate of each thread count."""
    return [
        (f"{threads} thread{'s' * (threads > 1)}", rate_text(found))
        for threads, found in sorted(survey.rates.items())
    ]


def rate_text(found: Rates) -> str:
    cache, memory = max(found.copies.values()), found.copies[max(found.copies)]
    copies = f"copies {cache / 1e9:.0f} GB/s in cache, {memory / 1e9:.1f} GB/s in memory"
    return f"{found.flops / 1e9:.1f} Gflop/s float64; {copies}"


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]


def control_rows(survey: Survey, duration: Any) -> list[list[str]]:
    """Name, threads, visits, median, and what separates the quarters of the visits."""
    return [
        [str(c.row), str(c.threads), str(len(c.blocks)), duration(c.median), f"{drift(c):.1%}"]
        for c in survey.controls
        if c.timed
    ]


def drift(control: Result) -> float:
    """By how much the third quarter of the visits, sorted by time, is above the first."""
    low, high = quartiles([median(block.per_call_ns) for block in control.blocks])
    return high / low - 1


def conditions(survey: Survey) -> Iterator[tuple[str, str]]:
    """The looks at the machine before each round, summarized."""
    yield "rounds", str(len(survey.rounds))
    names = (
        ("load", "load average"),
        ("foreign", "threads of other programs"),
        ("mhz", "CPU frequency in MHz"),
    )
    for key, name in names:
        values = [entry[key] for entry in survey.rounds if entry.get(key) is not None]
        if values:
            yield name, f"median {median(values):.3g}, largest {max(values):.3g}, smallest {min(values):.3g}"
    for key, name in (
        ("stolen_ticks", "clock ticks stolen by the hypervisor"),
        ("throttled", "stops by a quota"),
    ):
        values = [entry[key] for entry in survey.rounds if entry.get(key) is not None]
        if values:
            yield name, str(max(values) - min(values))
