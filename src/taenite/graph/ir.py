"""The graph: typed instructions in single assignment, as plain data.

A register is a number. Registers ``0 .. n_inputs - 1`` are the operands of the program, constants are tensors
that the traced function closed over, and every other register is written by exactly one instruction. A size
is a number too: it names an integer expression over the dimensions of registers, so one graph serves every
shape that its guards admit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import DType

ABSENT = -1
"""The register of an output that is identically zero."""


@dataclass(frozen=True, slots=True)
class Type:
    """What a register holds: its dtype, and the shape that it had while tracing."""

    dtype: DType
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        n = 1
        for d in self.shape:
            n *= d
        return n


@dataclass(frozen=True, slots=True)
class SizeExpr:
    """An integer computed from shapes.

    ``op`` is ``const`` (the number ``a``), ``dim`` (axis ``b`` of register ``a``), or ``add``, ``sub``,
    ``mul``, ``floordiv``, ``mod`` of the expressions ``a`` and ``b``. ``value`` is what it was while tracing.
    """

    op: str
    a: int
    b: int
    value: int


@dataclass(frozen=True, slots=True)
class Guard:
    """A comparison of two sizes that the trace relied on: ``eq``, ``lt`` or ``le``, which held or did not."""

    relation: str
    lhs: int
    rhs: int
    holds: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One primitive call. ``outputs`` has a register for each output; ``mask`` says which are demanded."""

    primitive: str
    attrs: tuple[Any, ...]
    inputs: tuple[int, ...]
    sizes: tuple[int, ...]
    outputs: tuple[int, ...]
    mask: int
    source: str = ""
    """The user's line that this comes from, as ``file:line``."""
    branches: tuple[tuple[Graph, Graph], ...] = ()
    """Of a ``cond``, for each side: what was traced, and what runs. Its attributes are their numbers."""

    @property
    def demanded(self) -> tuple[int, ...]:
        """The registers that are written."""
        return tuple(r for j, r in enumerate(self.outputs) if self.mask >> j & 1)

    def __reduce__(self) -> tuple[Any, ...]:
        call = (self.primitive, self.attrs, self.inputs, self.sizes, self.outputs, self.mask, self.source)
        return (_with_branches, (call, self.branches)) if self.branches else (Instruction, call)


def _with_branches(call: tuple[Any, ...], branches: tuple[tuple[Graph, Graph], ...]) -> Instruction:
    """Loaded in another process, where branches get other numbers."""
    primitive, _, *rest = call
    numbers = tuple(_core.add_branch(_core.executable(traced, graph)) for traced, graph in branches)
    return replace(Instruction(primitive, numbers, *rest), branches=branches)


@dataclass(frozen=True, slots=True)
class Graph:
    """A traced function. `taenite.graph.check.check` says whether one is well formed."""

    types: tuple[Type, ...]
    n_inputs: int
    instructions: tuple[Instruction, ...]
    outputs: tuple[int, ...]
    constants: Mapping[int, Tensor] = field(default_factory=dict)
    sizes: tuple[SizeExpr, ...] = ()
    guards: tuple[Guard, ...] = ()
    groups: tuple[tuple[int, int], ...] = ()
    """Ranges of neighbours that are fit to run tile by tile; native code looks for them itself."""

    def with_instructions(self, instructions: tuple[Instruction, ...], **changes: Any) -> Graph:
        """The same graph with other instructions."""
        return replace(self, instructions=instructions, **changes)
