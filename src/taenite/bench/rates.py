"""What this machine can do at most: multiply-adds in registers, and copies of every size from L1 to memory.

From these follows the floor of a row: the time below which nobody can have done its work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from taenite import _core

COPY_BYTES = tuple(1 << k for k in range(13, 28, 2))
"""Bytes read and written by one copy: from 8 KiB to 128 MiB."""

REPEATS = 5
ROUND_S = 0.01
REGISTER_LOOPS = 5_000


@dataclass(frozen=True)
class Rates:
    """Float64 operations per second, and bytes per second by the number of bytes that a copy touches."""

    flops: float
    copies: Mapping[int, float]

    def bandwidth(self, n_bytes: float) -> float:
        """The best copy rate of anything that touches as much or more: caches cannot be beaten from below."""
        above = [rate for size, rate in self.copies.items() if size >= n_bytes / 2]
        return max(above) if above else self.copies[max(self.copies)]

    def best_of(self, other: Rates) -> Rates:
        """The higher rates of two looks, of which either may have been disturbed."""
        copies = {size: max(rate, other.copies[size]) for size, rate in self.copies.items()}
        return Rates(max(self.flops, other.flops), copies)

    def document(self) -> dict[str, Any]:
        return {"flops_per_s": self.flops, "copy_bytes_per_s": {str(k): v for k, v in self.copies.items()}}


def from_document(document: Mapping[str, Any]) -> Rates:
    copies = {int(size): float(rate) for size, rate in document["copy_bytes_per_s"].items()}
    return Rates(float(document["flops_per_s"]), copies)


@dataclass(frozen=True)
class Floor:
    """The least time of a row in nanoseconds, and what bounds it: `flops` or `bytes`."""

    ns: float
    bound: str


WIDEST_LANES = 2
"""float32 runs at twice the rate of float64, in registers of the same width."""


def floor(rates: Rates, n_bytes: float, flops: float, single: bool = False) -> Floor:
    """The longer of moving the bytes at the speed of a copy and of doing the operations at the peak."""
    lanes = WIDEST_LANES if single else 1
    by_flops = flops / (rates.flops * lanes) * 1e9
    by_bytes = n_bytes / rates.bandwidth(n_bytes) * 1e9
    return Floor(by_flops, "flops") if by_flops >= by_bytes else Floor(by_bytes, "bytes")


def measure(threads: int) -> Rates:
    """The rates of this process on the CPUs that it may use, with this many threads at once."""
    with ThreadPoolExecutor(threads) as pool:
        flops = best(pool, threads, lambda: _core.multiply_adds(REGISTER_LOOPS))
        copies = {size: best(pool, threads, copier(size)) for size in COPY_BYTES}
    return Rates(flops, copies)


def copier(n_bytes: int) -> Callable[[], int]:
    """A function that copies half of these bytes to the other half, and says how many it touched."""
    source = np.ones(n_bytes // 16)
    target = np.empty_like(source)

    def copy() -> int:
        np.copyto(target, source)
        return n_bytes

    return copy


def best(pool: ThreadPoolExecutor, threads: int, work: Callable[[], int]) -> float:
    """The highest rate over some rounds: units per second, of all threads together."""
    calls = calibrated(work)

    def repeated(_: int) -> Turn:
        start = time.perf_counter()
        done = sum(work() for _ in range(calls))
        return Turn(done, start, time.perf_counter())

    return max(together(list(pool.map(repeated, range(threads)))) for _ in range(REPEATS))


@dataclass(frozen=True)
class Turn:
    """What one thread did between two times in seconds."""

    done: int
    start: float
    stop: float


def together(turns: Sequence[Turn]) -> float:
    """Units per second from the first start to the last stop."""
    wall = max(turn.stop for turn in turns) - min(turn.start for turn in turns)
    return sum(turn.done for turn in turns) / wall


def calibrated(work: Callable[[], int]) -> int:
    """How many calls take about `ROUND_S`: doubled until they do."""
    calls, took = 1, 0.0
    while took < ROUND_S / 2:
        calls *= 2
        start = time.perf_counter()
        for _ in range(calls):
            work()
        took = time.perf_counter() - start
    return calls
