"""From a Python function to a graph, and from graphs to executables that run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import int64
from taenite.graph.ir import ABSENT, Graph, Guard, Instruction, SizeExpr, Type
from taenite.ops.convert import asarray
from taenite.ops.creation import size_tensor


class Tracer:
    """A trace in progress: operands become registers, and what is done with them is written down."""

    def __init__(self, likes: Sequence[Tensor]) -> None:
        self.native = _core.Trace()
        self.inputs = [self.native.input(x) for x in likes]

    def graph(self, outputs: Sequence[Tensor | None]) -> Graph:
        """What was written; ``None`` is an output that is identically zero."""
        registers = tuple(ABSENT if y is None else self.native.register_of(y) for y in outputs)
        types, n_inputs, instructions, constants, sizes, guards = self.native.export()
        return Graph(
            types=tuple(Type(dtype, shape) for dtype, shape in types),
            n_inputs=n_inputs,
            instructions=tuple(Instruction(*i) for i in instructions),
            outputs=registers,
            constants=constants,
            sizes=tuple(SizeExpr(*e) for e in sizes),
            guards=tuple(Guard(*g) for g in guards),
        )

    def close(self) -> None:
        """From now on the traced values are dead."""
        self.native.close()


@contextmanager
def tracing(likes: Sequence[Tensor]) -> Iterator[Tracer]:
    """A trace of operands like these, which ends with the block."""
    tracer = Tracer(likes)
    try:
        yield tracer
    finally:
        tracer.close()


def trace(f: Callable[..., Sequence[Tensor | None]], likes: Sequence[Tensor]) -> Graph:
    """The graph of a function that takes tensors and returns a sequence of them."""
    with tracing(likes) as tracer:
        return tracer.graph(f(*tracer.inputs))


def as_output(y: Any, who: str) -> Tensor:
    """What a traced function returned, as a tensor."""
    if isinstance(y, _core.Size):
        size: Any = y
        return size_tensor(size, dtype=int64)
    if not isinstance(y, Tensor | numpy.ndarray | numpy.generic | int | float | complex):
        raise TypeError(f"{who} must return tensors, got {type(y).__name__}.")
    return asarray(y)
