"""Medians, ratios, their intervals by resampling, verdicts. Bad input raises; nothing is guessed.

Readings come in a tree: processes, the visits of a row in a process, the readings of a visit. Readings of one
visit are not independent, nor are visits of one process: what differs between processes (layout, placement)
is the same in all of them. The bootstrap therefore draws processes, and then visits within each (Davison and
Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8). A few processes show too little of
what more would: the intervals are wider than those of the draws by the ratio of Student's quantile to the
normal one and by the square root of g / (g - 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Processes = Sequence[Sequence[Sequence[float]]]
DRAWS = 2000
LEVEL = 0.95
SAME = 0.03
"""Differences below 3 % are called `same`: layout and page placement move rows by as much."""
FALSE_DISCOVERIES = 0.05
"""Of the rows that a comparison of two runs calls faster or slower, the expected fraction that is neither."""


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Relative to the middle."""
        return (self.high - self.low) / (self.high + self.low)


@dataclass(frozen=True)
class Summary:
    """One row of one backend."""

    n: int
    median: float
    mad: float
    interval: Interval


@dataclass(frozen=True)
class Ratio:
    """How many times as long as the other: below 1 is faster."""

    value: float
    interval: Interval
    verdict: str
    p: float
    """How often identical programs would differ by more than the noise and by as much as this."""


class Readings:
    """A tree of readings, sorted for weighted medians."""

    def __init__(self, processes: Processes) -> None:
        self.shape = tuple(len(visits) for visits in processes)
        visits = [visit for process in processes for visit in process]
        if not self.shape or not all(self.shape) or not all(len(visit) for visit in visits):
            raise ValueError("bench.stats: every process needs visits, and every visit readings.")
        values = np.concatenate([np.asarray(visit, dtype=np.float64) for visit in visits])
        if not np.all(np.isfinite(values)) or np.any(values <= 0):
            raise ValueError("bench.stats: readings must be positive and finite.")
        order = np.argsort(values)
        self.sorted: Floats = values[order]
        self.visit: Counts = np.repeat(np.arange(len(visits)), [len(visit) for visit in visits])[order]

    @property
    def median(self) -> float:
        return float(np.median(self.sorted))

    @property
    def mad(self) -> float:
        return float(np.median(np.abs(self.sorted - self.median)))

    def medians(self, counts: Counts) -> Floats:
        """The medians of all readings, each as often as its visit was drawn; one per row of ``counts``."""
        below = np.cumsum(counts[:, self.visit], axis=1)
        half = below[:, -1:]
        lower = np.count_nonzero(2 * below < half, axis=1)
        upper = np.count_nonzero(2 * below <= half, axis=1)
        middle: Floats = (self.sorted[lower] + self.sorted[upper]) / 2
        return middle


def drawn(shape: Sequence[int], draws: int, seed: int) -> Counts:
    """How often each visit is drawn: processes with replacement, then visits within each drawn process."""
    rng = np.random.default_rng(seed)
    processes = rng.multinomial(len(shape), np.full(len(shape), 1 / len(shape)), draws)
    parts = [
        rng.multinomial(times * visits, np.full(visits, 1 / visits))
        for times, visits in zip(processes.T, shape, strict=True)
    ]
    counts: Counts = np.concatenate(parts, axis=1)
    return counts


def student_upper(t: float, df: int) -> float:
    """The probability that Student's t exceeds ``t`` >= 0, as in Abramowitz and Stegun 26.7.3 and 26.7.4."""
    theta = math.atan(t / math.sqrt(df))
    cos2, term = math.cos(theta) ** 2, 1.0
    total = 0.0
    for k in range(df // 2):
        total += term
        term *= cos2 * ((2 * k + 1) / (2 * k + 2) if df % 2 == 0 else (2 * k + 2) / (2 * k + 3))
    if df % 2 == 0:
        return max(0.0, (1 - math.sin(theta) * total) / 2)
    return max(0.0, (1 - 2 / math.pi * (theta + math.sin(theta) * math.cos(theta) * total)) / 2)


def student_quantile(level: float, df: int) -> float:
    """The t that lies in the middle ``level`` of Student's distribution, by bisection."""
    low, high = 0.0, 1e6
    while high - low > 1e-9 * (1 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if 2 * student_upper(middle, df) > 1 - level else (low, middle)
    return high


NORMAL = 1.959963984540054
"""The normal quantile that belongs to `LEVEL`."""


def widening(processes: int, df: int) -> float:
    """What the interval of the draws is multiplied by, for it was made from this many processes."""
    return student_quantile(LEVEL, df) / NORMAL * math.sqrt(processes / (processes - 1))


def require_processes(*trees: Readings) -> None:
    for tree in trees:
        if len(tree.shape) < 2:
            raise ValueError(
                "bench.stats: an interval needs two processes, got 1: more rounds are not more processes."
            )


def widened(value: float, draws: Floats, factor: float) -> Interval:
    """The central interval of the draws, its distance to the value multiplied by a factor, as logarithms."""
    low, high = np.quantile(np.log(draws), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    middle = math.log(value)
    below, above = (factor * max(0.0, side) for side in (middle - float(low), float(high) - middle))
    return Interval(math.exp(middle - below), math.exp(middle + above))


def summarize(processes: Processes, seed: int = 0, draws: int = DRAWS) -> Summary:
    """Median, MAD, and the interval of the median."""
    tree = Readings(processes)
    require_processes(tree)
    g = len(tree.shape)
    found = tree.medians(drawn(tree.shape, draws, seed))
    interval = widened(tree.median, found, widening(g, g - 1))
    return Summary(len(tree.sorted), tree.median, tree.mad, interval)


def ratio(ours: Processes, theirs: Processes, noise: float = 0.0, seed: int = 0, draws: int = DRAWS) -> Ratio:
    """The ratio of medians of two backends that were visited in the same rounds.

    The rounds are drawn for both at once: what the machine did to a round cancels.
    """
    above, below = Readings(ours), Readings(theirs)
    if above.shape != below.shape:
        raise ValueError(f"bench.stats: paired visits must match, got {above.shape} and {below.shape}.")
    require_processes(above)
    counts, g = drawn(above.shape, draws, seed), len(above.shape)
    found = above.medians(counts) / below.medians(counts)
    value, df = above.median / below.median, g - 1
    return judged(value, widened(value, found, widening(g, df)), df, noise)


def unpaired_ratio(
    ours: Processes, theirs: Processes, noise: float = 0.0, seed: int = 0, draws: int = DRAWS
) -> Ratio:
    """The ratio of medians of two runs at different times: each side is drawn on its own."""
    above, below = Readings(ours), Readings(theirs)
    require_processes(above, below)
    sides = [tree.medians(drawn(tree.shape, draws, seed + i)) for i, tree in enumerate((above, below))]
    value = above.median / below.median
    df = welch(sides, (len(above.shape), len(below.shape)))
    fewest = min(len(above.shape), len(below.shape))
    return judged(value, widened(value, sides[0] / sides[1], widening(fewest, df)), df, noise)


def welch(sides: Sequence[Floats], processes: tuple[int, int]) -> int:
    """Degrees of freedom of a difference of two means with unlike variances (Welch, 1947), rounded down."""
    variances = [float(np.var(np.log(side))) for side in sides]
    spread = sum(v**2 / (g - 1) for v, g in zip(variances, processes, strict=True))
    most = sum(processes) - 2
    if spread == 0.0:
        return most
    return min(most, max(min(processes) - 1, int(sum(variances) ** 2 / spread)))


def judged(value: float, interval: Interval, df: int, noise: float) -> Ratio:
    return Ratio(value, interval, verdict(interval, noise), exceedance(value, interval, df, noise))


def verdict(interval: Interval, noise: float) -> str:
    """`faster` or `slower` when the interval clears the noise; `same` when it lies within 3 % of one."""
    require_noise(noise)
    if interval.high < 1 / (1 + noise):
        return "faster"
    if interval.low > 1 + noise:
        return "slower"
    if interval.low >= 1 / (1 + SAME) and interval.high <= 1 + SAME:
        return "same"
    return "inconclusive"


def require_noise(noise: float) -> None:
    if not 0.0 <= noise < np.inf:
        raise ValueError(f"bench.stats: noise must be finite and not negative, got {noise}.")


def exceedance(value: float, interval: Interval, df: int, noise: float) -> float:
    """The p-value of a ratio beyond the noise: one minus the level whose interval would touch the noise."""
    require_noise(noise)
    middle = math.log(value)
    beyond = abs(middle) - math.log1p(noise)
    if beyond <= 0:
        return 1.0
    edge = interval.low if middle > 0 else interval.high
    side = abs(middle - math.log(edge))
    if side == 0.0:
        return 0.0
    return 2 * student_upper(beyond / side * student_quantile(LEVEL, df), df)


def adjusted(p_values: Sequence[float]) -> list[float]:
    """p-values for many rows at once, after Benjamini and Hochberg (1995).

    Rows whose adjusted value is at most q contain an expected fraction q of false ones. If no row
    differs at all, the probability that any is called different is at most q. Holds for independent and for
    positively dependent rows, as rows of one machine are.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if np.any(~(p >= 0)) or np.any(p > 1):
        raise ValueError("bench.stats: p-values must lie between 0 and 1.")
    order = np.argsort(p)[::-1]
    ranks = np.arange(len(p), 0, -1)
    steps = np.minimum.accumulate(np.clip(p[order] * (len(p) / ranks), p[order], 1.0))
    result = np.empty_like(p)
    result[order] = steps
    return [float(x) for x in result]


def null_noise(generations: Sequence[Sequence[float]]) -> float:
    """How far the medians of one backend's own generations (processes of one program) lie apart.

    Half the range of the logarithm of the medians, as a relative difference: what a
    comparison of two identical programs would show here.
    """
    if len(generations) < 2:
        raise ValueError(f"bench.stats: an A/A comparison needs two generations, got {len(generations)}.")
    logs = [math.log(Readings([[generation]]).median) for generation in generations]
    return math.expm1((max(logs) - min(logs)) / 2)


@dataclass(frozen=True)
class Mean:
    """A geometric mean of ratios with its interval."""

    value: float
    interval: Interval


def mean_ratio(processes: Sequence[Sequence[float]], seed: int = 0, draws: int = DRAWS) -> Mean:
    """The geometric mean of ratios, given by process: processes are drawn, and then ratios within each."""
    if len(processes) < 2 or not all(len(ratios) for ratios in processes):
        raise ValueError("bench.stats: a mean needs the ratios of two processes.")
    flat = np.concatenate([np.asarray(ratios, dtype=np.float64) for ratios in processes])
    if not np.all(np.isfinite(flat)) or np.any(flat <= 0):
        raise ValueError("bench.stats: ratios must be positive and finite.")
    g, logs = len(processes), np.log(flat)
    counts = drawn([len(ratios) for ratios in processes], draws, seed)
    found = np.exp(counts @ logs / counts.sum(axis=1))
    value = float(np.exp(np.mean(logs)))
    return Mean(value, widened(value, found, widening(g, g - 1)))


def geometric_mean(values: Sequence[float]) -> float:
    if not values or min(values) <= 0:
        raise ValueError("bench.stats: a geometric mean needs positive values.")
    return float(np.exp(np.mean(np.log(values))))
