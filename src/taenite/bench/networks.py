"""Tensor networks as plain data: an equation, shapes, a path of pairs; their steps, costs and an evaluation.

The evaluation is NumPy's, pair by pair, and independent of the library: it is the oracle of every network,
and its steps are what backends without paths of their own run.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .case import Array

Path = tuple[tuple[int, ...], ...]
Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Step:
    """One contraction of two tensors of the shrinking list: operands leave it, the result goes to its end."""

    positions: tuple[int, int]
    left: str
    right: str
    result: str

    @property
    def equation(self) -> str:
        """With letters that every library reads, at most 52 in one step."""
        return written((self.left, self.right), self.result)


def written(terms: Sequence[str], result: str) -> str:
    letters = dict(zip(dict.fromkeys("".join(terms) + result), string.ascii_letters, strict=False))
    rename: Callable[[str], str] = lambda term: "".join(letters[label] for label in term)  # noqa: E731
    return f"{','.join(map(rename, terms))}->{rename(result)}"


@dataclass(frozen=True)
class Network:
    """A contraction: an equation, one character for each label, and the path that every backend follows."""

    equation: str
    shapes: Shapes
    path: Path

    @cached_property
    def terms(self) -> tuple[str, ...]:
        return tuple(self.equation.partition("->")[0].split(","))

    @property
    def output(self) -> str:
        return self.equation.partition("->")[2]

    @cached_property
    def sizes(self) -> dict[str, int]:
        return {
            label: size
            for term, shape in zip(self.terms, self.shapes, strict=True)
            for label, size in zip(term, shape, strict=True)
        }

    @property
    def output_shape(self) -> tuple[int, ...]:
        return tuple(self.sizes[label] for label in self.output)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        remaining, found = list(self.terms), []
        for first, second in self.path:
            high, low = max(first, second), min(first, second)
            right, left = remaining.pop(high), remaining.pop(low)
            needed = set(self.output).union(*remaining)
            labels = dict.fromkeys(left + right)
            last = not remaining
            result = self.output if last else "".join(label for label in labels if label in needed)
            found.append(Step((low, high), left, right, result))
            remaining.append(result)
        return tuple(found)

    def elements(self, labels: str) -> int:
        return math.prod(self.sizes[label] for label in labels)

    @property
    def flops(self) -> float:
        """A multiplication for each combination of labels, and an addition where some of them are summed."""
        total = 0.0
        for step in self.steps:
            together = "".join(dict.fromkeys(step.left + step.right))
            total += (2 if len(together) > len(step.result) else 1) * float(self.elements(together))
        return total

    @property
    def summed(self) -> int:
        """Additions behind one element of the result: the growth of rounding errors."""
        gone = (set(step.left + step.right) - set(step.result) for step in self.steps)
        return sum(self.elements("".join(labels)) for labels in gone) + len(self.steps)


def contract(einsum: Callable[..., Any], network: Network, operands: Sequence[Any]) -> Any:
    """Pair by pair, by any function that contracts two tensors."""
    remaining = list(operands)
    for step in network.steps:
        right, left = remaining.pop(step.positions[1]), remaining.pop(step.positions[0])
        remaining.append(einsum(step.equation, left, right))
    return remaining[0]


def numpy_einsum(equation: str, a: Array, b: Array) -> Array:
    """Through BLAS where NumPy finds a product."""
    return np.asarray(np.einsum(equation, a, b, optimize=True))


def gradients(network: Network, operands: Sequence[Array]) -> tuple[Array, tuple[Array, ...]]:
    """The sum of the contraction, and its derivative in every operand, by reverse mode over the steps."""
    remaining, recorded = list(enumerate(operands)), []
    values = dict(remaining)
    order = [index for index, _ in remaining]
    for step in network.steps:
        right, left = order.pop(step.positions[1]), order.pop(step.positions[0])
        new = len(values)
        values[new] = numpy_einsum(step.equation, values[left], values[right])
        recorded.append((step, left, right, new))
        order.append(new)
    total = values[order[0]]
    cotangents = {order[0]: np.ones_like(total)}
    for step, left, right, new in reversed(recorded):
        g = cotangents.pop(new)
        cotangents[left] = pulled(step.result, g, step.right, values[right], step.left, values[left].shape)
        cotangents[right] = pulled(step.result, g, step.left, values[left], step.right, values[right].shape)
    return total, tuple(cotangents[i] for i in range(len(operands)))


def pulled(result: str, g: Array, other: str, value: Array, wanted: str, shape: tuple[int, ...]) -> Array:
    """The cotangent of one factor: labels that only it has were summed, so they are spread."""
    kept = "".join(label for label in wanted if label in result + other)
    found = numpy_einsum(written((result, other), kept), g, value)
    spread = tuple(slice(None) if label in kept else None for label in wanted)
    return np.ascontiguousarray(np.broadcast_to(found[spread], shape))


def in_turn(count: int) -> Path:
    """The path that takes the operands one after another."""
    return ((0, 1), *((0, count - 1 - k) for k in range(1, count - 1))) if count > 1 else ()


def greedy(equation: str, shapes: Shapes) -> Path:
    """NumPy's greedy path, where pairs are all that it contains."""
    stand_ins = [np.broadcast_to(0.0, shape) for shape in shapes]
    path = np.einsum_path(equation, *stand_ins, optimize=("greedy", 1 << 62))[0][1:]
    if any(len(pair) != 2 for pair in path):
        raise ValueError(
            f"bench.networks: NumPy's path for {equation} contracts more than two at once: {path}."
        )
    return tuple(tuple(pair) for pair in path)
