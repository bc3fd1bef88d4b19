"""What a row has to do at least: bytes that must move, and floating-point operations.

Operations are those of the textbook algorithm (Golub and Van Loan, Matrix Computations, 2013), an elementary
function counted as one. ``least_flops`` is what no algorithm in use gets around: a time below it at the
machine's peak is impossible, whereas one below ``flops`` may be a shortcut, such as a sum of a product done
by sums of rows and columns. All counts are lower bounds where the literature gives a range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

Number = Callable[..., float]
"""A count as a function of the numbers in a `Size`."""

BYTES = 8
"""Of a float64, in which declarations are made; `Work.in_dtype` converts."""


@dataclass(frozen=True)
class Work:
    """Every operand read once, every output written once; operations, and those that cannot be saved."""

    bytes: int
    flops: float
    least_flops: float

    def in_dtype(self, dtype: str) -> Work:
        """Complex products cost four real ones: six operations and two sums instead of one and one."""
        kind = np.dtype(dtype)
        times = 4.0 if kind.kind == "c" else 1.0
        moved = self.bytes * kind.itemsize // BYTES
        return Work(moved, times * self.flops, times * self.least_flops)


def one(*size: int) -> float:
    return 1.0


@dataclass(frozen=True)
class Cost:
    """The cost of a formula and of its derivatives; calling it gives the `Work` of a phase at a size."""

    reads: Number
    """Elements of all operands."""
    flops: Number
    """Of the formula alone."""
    writes: Number = one
    """Elements of its outputs; a scalar loss has one."""
    least: Number | None = None
    """Of the formula alone; the same as ``flops`` unless there is a shortcut."""
    gradients: Number | None = None
    """Elements of the gradients, as far as they differ; as many as ``reads`` unless given."""
    reverse: Number | None = None
    """Operations of the pullback alone, and of the tangent: the same as ``flops`` unless given."""
    least_reverse: Number | None = None
    """What a pullback or a tangent cannot save: nothing unless given."""

    def __call__(self, phase: str, *size: int) -> Work:
        forward, least = self.flops(*size), (self.least or self.flops)(*size)
        reverse = (self.reverse or self.flops)(*size)
        spared = self.least_reverse(*size) if self.least_reverse else 0.0
        reads, writes = self.reads(*size), self.writes(*size)
        gradients = (self.gradients or self.reads)(*size)
        moved, flops, needed = {
            "primal": (reads + writes, forward, least),
            "tracked": (reads + writes, forward, least),
            "backward": (reads + writes + gradients, forward + reverse, least + spared),
            "vjp": (reads + writes + gradients, forward + reverse, least + spared),
            "pullback": (gradients, reverse, spared),
            "jvp": (reads + gradients + 2 * writes, forward + reverse, least + spared),
            "hvp": (reads + 2 * gradients, 2 * (forward + reverse), least + spared),
        }[phase]
        return Work(int(BYTES * moved), float(flops), float(needed))


def batched(cost: Cost) -> Cost:
    """The cost of a stack: the first number of the size counts its members."""

    def times(number: Number | None) -> Number | None:
        return None if number is None else lambda count, *size: count * number(*size)

    return Cost(*(times(getattr(cost, field.name)) for field in fields(cost)))  # type: ignore[arg-type]


MATMUL = Cost(lambda n: 2 * n**2, lambda n: 2 * n**3, lambda n: n**2, reverse=lambda n: 4 * n**3)
INVERSE = Cost(lambda n: n**2, lambda n: 2 * n**3, lambda n: n**2, least=lambda n: 4 / 3 * n**3)
SOLVE = Cost(
    lambda n, k: n**2 + n * k,
    lambda n, k: 2 / 3 * n**3 + 2 * n**2 * k,
    lambda n, k: n * k,
    least=lambda n, k: 2 / 3 * n**3,
    reverse=lambda n, k: 4 * n**2 * k,
    least_reverse=lambda n, k: n**2 * k,
)
"""A square matrix of order n and k right-hand sides."""
DET = Cost(lambda n: n**2, lambda n: 2 / 3 * n**3)
CHOLESKY = Cost(lambda n: n**2, lambda n: n**3 / 3, lambda n: n**2, reverse=lambda n: 2 * n**3)
SVD = Cost(lambda n: n**2, lambda n: 22 * n**3, lambda n: 2 * n**2 + n, least=lambda n: 4 * n**3)
"""Both factors; the least is that of the eigenvectors of A^T A."""
QR = Cost(lambda n: n**2, lambda n: 8 / 3 * n**3, lambda n: 2 * n**2, least=lambda n: 2 * n**3)
"""The least is that of the Cholesky factor of A^T A."""
EIGH = Cost(lambda n: n**2, lambda n: 9 * n**3, lambda n: n**2 + n, least=lambda n: 8 / 3 * n**3)
