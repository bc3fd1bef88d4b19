"""Median, MAD, and block-bootstrap intervals. These functions raise on bad input; they never guess.

Readings inside one visit are not independent, so the bootstrap resamples whole visits (blocks). Two backends
of one row are visited in the same rounds: their blocks are resampled together, and what the machine did to a
round cancels in the ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DRAWS = 2000
LEVEL = 0.95
SAME = 0.03
"""Differences below 3 % are called `same`: layout and page placement move rows by as much."""


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


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


def as_blocks(blocks: Sequence[Sequence[float]]) -> Floats:
    """Blocks as a matrix, one row each; refuse what is empty, ragged, not finite or not positive."""
    if not len(blocks) or len({len(block) for block in blocks}) != 1 or not len(blocks[0]):
        raise ValueError(f"bench.stats: blocks must have one common size, got {[len(b) for b in blocks]}.")
    matrix = np.asarray(blocks, dtype=np.float64)
    if not np.all(np.isfinite(matrix)) or np.any(matrix <= 0):
        raise ValueError("bench.stats: readings must be positive and finite.")
    return matrix


def median_absolute_deviation(values: Floats) -> float:
    return float(np.median(np.abs(values - np.median(values))))


def resampled_medians(matrix: Floats, picks: NDArray[np.int64]) -> Floats:
    """The median of all readings of the picked blocks, for each row of ``picks``."""
    medians: Floats = np.median(matrix[picks].reshape(len(picks), -1), axis=1)
    return medians


def picks_of(blocks: int, draws: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, blocks, (draws, blocks))


def central(values: Floats, level: float) -> Interval:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def summarize(blocks: Sequence[Sequence[float]], seed: int = 0, draws: int = DRAWS) -> Summary:
    """Median, MAD, and the interval of the median over resampled blocks."""
    matrix = as_blocks(blocks)
    medians = resampled_medians(matrix, picks_of(len(matrix), draws, seed))
    return Summary(
        matrix.size, float(np.median(matrix)), median_absolute_deviation(matrix), central(medians, LEVEL)
    )


def ratio(
    blocks: Sequence[Sequence[float]],
    others: Sequence[Sequence[float]],
    noise: float = 0.0,
    seed: int = 0,
    draws: int = DRAWS,
) -> Ratio:
    """The ratio of medians with its paired block-bootstrap interval, and a verdict outside the noise."""
    ours, theirs = as_blocks(blocks), as_blocks(others)
    if len(ours) != len(theirs):
        raise ValueError(f"bench.stats: paired blocks must match, got {len(ours)} and {len(theirs)}.")
    picks = picks_of(len(ours), draws, seed)
    interval = central(resampled_medians(ours, picks) / resampled_medians(theirs, picks), LEVEL)
    return Ratio(float(np.median(ours) / np.median(theirs)), interval, verdict(interval, noise))


def unpaired_ratio(
    blocks: Sequence[Sequence[float]],
    others: Sequence[Sequence[float]],
    noise: float = 0.0,
    seed: int = 0,
    draws: int = DRAWS,
) -> Ratio:
    """The ratio of medians of two runs at different times: both sides are resampled on their own."""
    ours, theirs = as_blocks(blocks), as_blocks(others)
    above = resampled_medians(ours, picks_of(len(ours), draws, seed))
    below = resampled_medians(theirs, picks_of(len(theirs), draws, seed + 1))
    interval = central(above / below, LEVEL)
    return Ratio(float(np.median(ours) / np.median(theirs)), interval, verdict(interval, noise))


def verdict(interval: Interval, noise: float) -> str:
    """`faster` or `slower` when the interval clears the noise; `same` when it lies within 3 % of one."""
    if not 0.0 <= noise < np.inf:
        raise ValueError(f"bench.stats: noise must be finite and not negative, got {noise}.")
    if interval.high < 1 / (1 + noise):
        return "faster"
    if interval.low > 1 + noise:
        return "slower"
    if interval.low >= 1 / (1 + SAME) and interval.high <= 1 + SAME:
        return "same"
    return "inconclusive"


def null_noise(generations: Sequence[Sequence[float]]) -> float:
    """The A/A arm: how far the medians of one backend's own generations (processes) lie apart.

    Half the range of the logarithm of the medians, as a relative difference: what a
    comparison of two identical programs would show here.
    """
    if len(generations) < 2:
        raise ValueError(f"bench.stats: an A/A comparison needs two generations, got {len(generations)}.")
    logs = [float(np.log(np.median(as_blocks([g])))) for g in generations]
    return float(np.expm1((max(logs) - min(logs)) / 2))


def geometric_mean(values: Sequence[float]) -> float:
    if not values or min(values) <= 0:
        raise ValueError("bench.stats: a geometric mean needs positive values.")
    return float(np.exp(np.mean(np.log(values))))
