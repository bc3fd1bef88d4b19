"""taenite, eager: public names only."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import taenite as tn

from .. import formulas
from ..case import COTANGENT, Array, Row
from ..machine import package_version
from .imperative import Call, Imperative

xp = SimpleNamespace(**vars(tn))
xp.ops = cache(lambda: formulas.taenite_ops(tn))


class Backend(Imperative):
    """taenite with its default provider; the backward row is ``loss.backward()`` into fresh ``.grad``."""

    name = "eager"
    xp = xp

    def __init__(self, threads: int) -> None:
        tn.providers.set_num_threads(threads)
        tn.providers.ensure()

    def tensor(self, x: Array) -> Any:
        return tn.asarray(x)

    def track(self, x: Any) -> Any:
        return tn.variable(x)

    def array(self, x: Any) -> Array:
        return np.asarray(x.detach())

    def vjp(self, row: Row, operands: tuple[Any, ...]) -> Call:
        formula, wrt = row.case.formula, row.case.wrt
        cotangent = tn.asarray(COTANGENT)

        def call() -> Any:
            value, pullback = tn.vjp(lambda *xs: formula(xp, *xs), *operands)
            gradients = pullback(cotangent)
            return (value, *[gradients[i] for i in wrt])

        return call

    def jvp(self, row: Row, operands: tuple[Any, ...], tangents: tuple[Any, ...]) -> Call:
        formula = row.case.formula
        return lambda: tn.jvp(lambda *xs: formula(xp, *xs), operands, tangents)

    def hvp(self, row: Row, operands: tuple[Any, ...], tangents: tuple[Any, ...]) -> Call:
        formula, k = row.case.formula, len(tangents)
        gradient = tn.grad(lambda *xs: formula(xp, *xs), argnums=row.case.wrt)
        moved, fixed = operands[:k], operands[k:]
        return lambda: tn.jvp(lambda *xs: gradient(*xs, *fixed), moved, tangents)[1]

    def trim(self) -> None:
        tn.pool.trim()

    def describe(self) -> dict[str, Any]:
        return {"taenite": package_version("taenite"), "providers": tn.providers.info()}
