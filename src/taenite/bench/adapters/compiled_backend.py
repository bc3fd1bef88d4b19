"""taenite, compiled: every row is one program, traced before the clock starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import taenite as tn

from ..case import COTANGENT, Fixture, Row
from . import eager_backend
from .base import Prepared, Unsupported, as_tuple
from .eager_backend import xp


def transformed(row: Row) -> Callable[..., Any]:
    """The function of all operands that this row times, not yet compiled."""
    wrt, formula = row.case.wrt, row.case.formula

    def primal(*operands: Any) -> Any:
        return formula(xp, *operands)

    def backward(*operands: Any) -> Any:
        value, gradients = tn.value_and_grad(primal, argnums=wrt)(*operands)
        return (value, *as_tuple(gradients))

    def vjp(cotangent: Any, *operands: Any) -> Any:
        value, pullback = tn.vjp(primal, *operands)
        gradients = pullback(cotangent)
        return (value, *[gradients[i] for i in wrt])

    def jvp(*operands: Any) -> Any:
        return tn.jvp(primal, operands[: len(wrt)], operands[len(wrt) :])

    def hvp(*args: Any) -> Any:
        k = len(wrt)
        moved, fixed, tangents = args[:k], args[k:-k], args[-k:]
        gradient = tn.grad(primal, argnums=wrt)
        return tn.jvp(lambda *xs: gradient(*xs, *fixed), moved, tangents)[1]

    try:
        return {"primal": primal, "backward": backward, "vjp": vjp, "jvp": jvp, "hvp": hvp}[row.phase]
    except KeyError:
        raise Unsupported(f"a compiled function has no {row.phase} mode") from None


def arguments(row: Row, fixture: Fixture) -> tuple[Any, ...]:
    """Everything is an operand, so that nothing is folded into the program as a constant."""
    if row.phase == "vjp":
        return (np.asarray(COTANGENT), *fixture.operands)
    if row.phase in ("jvp", "hvp"):
        return (*fixture.operands, *fixture.tangents)
    return fixture.operands


class Backend(eager_backend.Backend):
    """taenite with its default provider, through `tn.compile`."""

    name = "compiled"
    compiles = True

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        function = tn.compile(transformed(row))
        args = tuple(self.tensor(x) for x in arguments(row, fixture))
        return Prepared({"function": function, "args": args}, self.to_numpy, "out = function(*args)")
