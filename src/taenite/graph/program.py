"""Program: a compiled function at certain dtypes and ranks. PreparedCall: a program at certain shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.graph.arguments import Arguments, Key, Parameters
from taenite.graph.ir import Graph
from taenite.graph.show import show
from taenite.ops.exchange import overlap
from taenite.tree import flatten, unflatten

ONE, TUPLE, TREE = range(3)
"""What a call returns, as native code knows it: one tensor, a tuple of them, or any tree."""


@dataclass(frozen=True)
class Program:
    """A compiled function at certain dtypes and ranks; ``print`` shows it.

    ``traced`` is what the function wrote, on which sizes are checked; ``graph`` is what runs. A program
    pickles as these, and is made ready again where it is loaded.
    """

    name: str
    traced: Graph
    graph: Graph
    structure: Any
    """Of the outputs."""
    native_trace: Any = None
    """What wrote ``traced``, where that was in this process."""

    @cached_property
    def executable(self) -> Any:
        """The native program."""
        traced = self.traced if self.native_trace is None else self.native_trace
        return _core.executable(traced, self.graph, self.traced.outputs)

    @cached_property
    def kind(self) -> int:
        """How native code returns the outputs."""
        n = len(self.graph.outputs)
        if self.structure == flatten(0)[1]:
            return ONE
        return TUPLE if self.structure == flatten((0,) * n)[1] else TREE

    def unflatten(self, outputs: Sequence[Tensor]) -> Any:
        """The tree of the outputs."""
        return unflatten(self.structure, list(outputs))

    def __str__(self) -> str:
        return f"{self.name}: {show(self.graph)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Program, (self.name, self.traced, self.graph, self.structure)


class PreparedCall(_core.PreparedBase):
    """A program at certain shapes; calling it checks them and nothing else.

    >>> call = tn.compile(lambda x: (x * x).sum()).prepare(tn.asarray([1.0, 2.0]))
    >>> call(tn.asarray([3.0, 4.0])).item()
    25.0

    ``into=`` takes a tree of tensors that the outputs are written to, and returns it. They may share memory
    with operands, but not with each other.

    Raises
    ------
    TypeError, ValueError
        An operand or a tensor of ``into`` has another dtype or shape than what the call is for, another
        argument another value, or tensors of ``into`` share memory with each other.
    RuntimeError
        A tensor that the function closed over was modified in place since it was traced.
    """

    def __init__(
        self, program: Program, captured: Sequence[Tensor], parameters: Parameters, key: Key, positional: bool
    ) -> None:
        types = program.traced.types[: len(key.places)]
        super().__init__(
            program.executable, types, list(captured), program.kind, program.unflatten, positional
        )
        self.program = program
        self._types, self._captured = types, list(captured)
        self._parameters, self._key, self._positional = parameters, key, positional

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedCall, (
            self.program, self._captured, self._parameters, self._key, self._positional
        )  # fmt: skip

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What native code does not answer alone: trees, ``into``, and errors."""
        into = kwargs.pop("into", None)
        taken = self._parameters.take_apart(args, kwargs)
        self._check(taken)
        if not self.program.executable.is_current:
            raise RuntimeError(
                f"{self.program.name}: a tensor that the function closed over was modified in place since it "
                "was traced; prepare another call."
            )
        outputs = self.program.executable([*taken.operands, *self._captured])
        if into is None:
            return self.program.unflatten(outputs)
        return self._write(outputs, into)

    def _check(self, taken: Arguments) -> None:
        if taken.key != self._key:
            raise TypeError(
                f"{self.program.name}: the structure of the arguments, and those that are no tensors, must "
                "be what the call was prepared for; prepare another call."
            )
        for i, (given, wanted) in enumerate(zip(taken.operands, self._types, strict=True)):
            if given.dtype is not wanted.dtype or given.shape != wanted.shape:
                raise ValueError(
                    f"{self.program.name}: operand {i} must be of {wanted.dtype} and shape {wanted.shape}, "
                    f"got {given.dtype} and {given.shape}; prepare another call for it."
                )

    def _write(self, outputs: Sequence[Tensor], into: Any) -> Any:
        targets, structure = flatten(into)
        if structure != self.program.structure:
            raise TypeError(
                f"{self.program.name}: into must have the structure {self.program.structure}, "
                f"got {structure}."
            )
        for i, (target, value) in enumerate(zip(targets, outputs, strict=True)):
            if not isinstance(target, Tensor) or (target.dtype, target.shape) != (value.dtype, value.shape):
                raise ValueError(
                    f"{self.program.name}: output {i} is of {value.dtype} and shape {value.shape}; "
                    "into needs a tensor like it."
                )
        for i, j in combinations(range(len(targets)), 2):
            if overlap(targets[i], targets[j]):
                raise ValueError(f"{self.program.name}: the tensors {i} and {j} of into share memory.")
        # An output may be an operand, or a view of one, that is to be written.
        shared = [any(overlap(target, value) for target in targets) for value in outputs]
        values = [value.copy() if again else value for value, again in zip(outputs, shared, strict=True)]
        for target, value in zip(targets, values, strict=True):
            target[...] = value
        return into

    def __str__(self) -> str:
        return str(self.program)
