"""What an instruction costs, by textbook counts: arithmetic operations, and bytes that it reads and writes.

In products and decompositions an operation on complex numbers counts as four; elementwise operations and
reductions count one for each element. The counts of decompositions are those of Golub and Van Loan, Matrix
Computations, 4th edition.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from taenite.graph.ir import Instruction, Type
from taenite.graph.primitives import ELEMENTWISE, PRIMITIVES

VIEWS = frozenset(("transpose", "broadcast_in_dim", "slice", "reshape", "diagonal", "stop_gradient"))
REDUCTIONS = frozenset(("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "sum_to"))

Operands = tuple[Type, ...]


def flops(instruction: Instruction, types: tuple[Type, ...]) -> int:
    """Arithmetic operations, 0 where there is no count in the table."""
    operands = tuple(types[r] for r in instruction.inputs)
    if instruction.primitive in ELEMENTWISE:
        return types[instruction.outputs[0]].size
    if instruction.branches:
        return max(
            sum(flops(i, graph.types) for i in graph.instructions) for _, graph in instruction.branches
        )
    if instruction.primitive in REDUCTIONS:
        return operands[0].size
    count = _COUNTS.get(instruction.primitive)
    if count is None:
        return 0
    return round(count(instruction, operands) * (4 if operands[0].dtype.kind == "c" else 1))


def moved_bytes(instruction: Instruction, types: tuple[Type, ...]) -> int:
    """Bytes of the operands that are read and of the outputs that are demanded; views move nothing."""
    if instruction.primitive in VIEWS:
        return 0
    shape_only = PRIMITIVES[instruction.primitive].shape_only
    read = [r for i, r in enumerate(instruction.inputs) if not shape_only >> i & 1]
    return sum(types[r].size * types[r].dtype.itemsize for r in (*read, *instruction.demanded))


def _dot_general(instruction: Instruction, operands: Operands) -> float:
    """2 m n k for every element of the batch."""
    a, b = operands
    contracted, shared = instruction.attrs[1], {*instruction.attrs[1], *instruction.attrs[3]}
    columns = math.prod(d for axis, d in enumerate(b.shape) if axis not in shared)
    return 2 * a.size * columns if contracted else a.size * columns


def _square(operands: Operands) -> tuple[int, int]:
    """The number of matrices, and the order of each."""
    shape = operands[0].shape
    return math.prod(shape[:-2]), shape[-1]


def _cubic(factor: float) -> Callable[[Instruction, Operands], float]:
    def count(instruction: Instruction, operands: Operands) -> float:
        batch, n = _square(operands)
        return batch * factor * n**3

    return count


def _solving(factorization: float, sweeps: int) -> Callable[[Instruction, Operands], float]:
    """A factorization, and n^2 operations for each right side and sweep over a triangle."""

    def count(instruction: Instruction, operands: Operands) -> float:
        batch, n = _square(operands)
        return batch * factorization * n**3 + sweeps * n * operands[-1].size

    return count


def _eigh(instruction: Instruction, operands: Operands) -> float:
    batch, n = _square(operands)
    return batch * (9 if instruction.mask >> 1 & 1 else 4 / 3) * n**3


def _svd(instruction: Instruction, operands: Operands) -> float:
    (*batch, rows, columns) = operands[0].shape
    m, n = max(rows, columns), min(rows, columns)
    vectors = instruction.mask & 0b101
    return math.prod(batch) * (6 * m * n**2 + 20 * n**3 if vectors else 4 * m * n**2 - 4 / 3 * n**3)


def _qr(instruction: Instruction, operands: Operands) -> float:
    (*batch, rows, columns) = operands[0].shape
    m, n = max(rows, columns), min(rows, columns)
    return math.prod(batch) * (2 * m * n**2 - 2 / 3 * n**3) * (2 if instruction.mask & 1 else 1)


_COUNTS: dict[str, Callable[[Instruction, Operands], float]] = {
    "dot_general": _dot_general,
    "lu_factor": _cubic(2 / 3),
    "solve": _solving(2 / 3, 2),
    "solve_with": _solving(0, 2),
    "inv": _cubic(2),
    "inv_with": _cubic(4 / 3),
    "solve_triangular": _solving(0, 1),
    "cholesky": _cubic(1 / 3),
    "solve_pos": _solving(1 / 3, 2),
    "solve_pos_with": _solving(0, 2),
    "det": _cubic(2 / 3),
    "slogdet": _cubic(2 / 3),
    "cofactor": _cubic(2),
    "eigh": _eigh,
    "svd": _svd,
    "qr": _qr,
}
