"""What eager libraries with ``.backward()`` and ``.grad`` have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..case import Array, Fixture, Row
from .base import Prepared, as_tuple, call_statement, lettered
from .transforms import arguments, transformed

Call = Callable[[], Any]


class Imperative(ABC):
    """A backend whose arrays are mutable leaves. Subclasses give the few calls in which libraries differ."""

    name: str
    compiles = False
    tracking: tuple[str, ...] = ("tracked", "backward")
    """Phases whose differentiated operands are tracked leaves."""
    xp: Any
    ad: Any
    """Where its transforms are, under JAX's names."""

    @abstractmethod
    def tensor(self, x: Array) -> Any: ...

    @abstractmethod
    def track(self, x: Any) -> Any: ...

    @abstractmethod
    def array(self, x: Any) -> Array: ...

    @abstractmethod
    def pullback(self, row: Row, operands: tuple[Any, ...]) -> Call:
        """The call that pulls the cotangent of a loss back, recorded once before the clock starts."""

    def to_numpy(self, outputs: Any) -> tuple[Array, ...]:
        return tuple(self.array(x) for x in as_tuple(outputs))

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        if row.phase in ("vjp", "jvp", "hvp"):
            return call_statement(self.transformed(row, fixture), self.to_numpy)
        operands = self.operands(row, fixture)
        if row.case.destination:
            return call_statement(self.into(row, operands), self.to_numpy)
        if row.phase == "pullback":
            return call_statement(self.pullback(row, operands), self.to_numpy)
        if row.case.inline and row.phase in ("primal", "tracked"):
            return Prepared(lettered(operands), self.to_numpy, f"out = {row.case.inline}")
        if row.case.inline and row.phase == "backward":
            return self.inline_backward(row, operands)
        return call_statement(self.call(row, operands), self.to_numpy)

    def operands(self, row: Row, fixture: Fixture) -> tuple[Any, ...]:
        tracked = row.case.wrt if row.phase in self.tracking else ()
        tensors = [self.tensor(x) for x in fixture.operands]
        return tuple(self.track(x) if i in tracked else x for i, x in enumerate(tensors))

    def call(self, row: Row, operands: tuple[Any, ...]) -> Call:
        if row.phase == "backward":
            return self.backward(row, operands)
        return lambda: row.case.formula(self.xp, *operands)

    def into(self, row: Row, operands: tuple[Any, ...]) -> Call:
        """The call that writes into one destination; what it held before is overwritten."""
        assert row.case.destination is not None
        out = self.tensor(np.zeros(row.case.destination(*row.size.args), row.dtype))
        return lambda: row.case.formula(self.xp, out, *operands)

    def transformed(self, row: Row, fixture: Fixture) -> Call:
        function = transformed(self.ad, self.xp, row, self.name)
        args = tuple(self.tensor(x) for x in arguments(row, fixture))
        return lambda: function(*args)

    def backward(self, row: Row, operands: tuple[Any, ...]) -> Call:
        formula, xp, leaves = row.case.formula, self.xp, [operands[i] for i in row.case.wrt]

        def call() -> Any:
            for leaf in leaves:
                leaf.grad = None
            loss = formula(xp, *operands)
            loss.backward()
            return (loss, *[leaf.grad for leaf in leaves])

        return call

    def inline_backward(self, row: Row, operands: tuple[Any, ...]) -> Prepared:
        (index,) = row.case.wrt
        names = lettered(operands)
        leaf = list(names)[index]
        step = f"{leaf}.grad = None; loss = {row.case.inline}; loss.backward(); out = (loss, {leaf}.grad)"
        return Prepared(names, self.to_numpy, step)
