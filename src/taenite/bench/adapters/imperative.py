"""What eager libraries with ``.backward()`` and ``.grad`` have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from ..case import Array, Fixture, Row
from .base import Prepared, as_tuple, call_statement, lettered

Call = Callable[[], Any]


class Imperative(ABC):
    """A backend whose arrays are mutable leaves. Subclasses give the few calls in which libraries differ."""

    name: str
    compiles = False
    xp: Any

    @abstractmethod
    def tensor(self, x: Array) -> Any: ...

    @abstractmethod
    def track(self, x: Any) -> Any: ...

    @abstractmethod
    def vjp(self, row: Row, operands: tuple[Any, ...]) -> Call: ...

    @abstractmethod
    def jvp(self, row: Row, operands: tuple[Any, ...], tangents: tuple[Any, ...]) -> Call: ...

    @abstractmethod
    def hvp(self, row: Row, operands: tuple[Any, ...], tangents: tuple[Any, ...]) -> Call: ...

    @abstractmethod
    def array(self, x: Any) -> Array: ...

    def to_numpy(self, outputs: Any) -> tuple[Array, ...]:
        return tuple(self.array(x) for x in as_tuple(outputs))

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        operands = self.operands(row, fixture)
        if row.case.inline and row.phase in ("primal", "tracked"):
            return Prepared(lettered(operands), self.to_numpy, f"out = {row.case.inline}")
        if row.case.inline and row.phase == "backward":
            return self.inline_backward(row, operands)
        return call_statement(self.call(row, operands, fixture), self.to_numpy)

    def operands(self, row: Row, fixture: Fixture) -> tuple[Any, ...]:
        tracked = row.case.wrt if row.phase in ("tracked", "backward") else ()
        tensors = [self.tensor(x) for x in fixture.operands]
        return tuple(self.track(x) if i in tracked else x for i, x in enumerate(tensors))

    def call(self, row: Row, operands: tuple[Any, ...], fixture: Fixture) -> Call:
        if row.phase == "vjp":
            return self.vjp(row, operands)
        if row.phase in ("jvp", "hvp"):
            along = self.jvp if row.phase == "jvp" else self.hvp
            return along(row, operands, tuple(self.tensor(t) for t in fixture.tangents))
        if row.phase == "backward":
            return self.backward(row, operands)
        return lambda: row.case.formula(self.xp, *operands)

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
