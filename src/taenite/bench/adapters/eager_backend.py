"""taenite, eager: public names only."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import taenite as tn

from .. import formulas
from ..case import Array, Row
from ..machine import package_version
from .imperative import Call, Imperative
from .transforms import cotangent, of_moving

REQUIRES = "taenite"

xp = SimpleNamespace(**vars(tn))
xp.matmul_into = lambda out, a, b: tn.contract_into(out, "ij,jk->ik", a, b)
xp.contract = lambda network, xs: tn.einsum(network.equation, *xs, optimize=network.path)
xp.ops = cache(lambda: formulas.taenite_ops(tn))


def recorded(row: Row, function: Callable[..., Any], operands: tuple[Any, ...]) -> Call:
    moving = [operands[i] for i in row.case.wrt]
    _, pullback = tn.vjp(of_moving(function, operands, row.case.wrt), *moving)
    ct = tn.asarray(cotangent(row))
    return lambda: pullback(ct)


class Backend(Imperative):
    """taenite with its default provider; the backward row is ``loss.backward()`` into fresh ``.grad``."""

    name = "eager"
    xp = xp
    ad = tn

    def __init__(self, threads: int) -> None:
        tn.providers.set_num_threads(threads)
        tn.providers.ensure()

    def tensor(self, x: Array) -> Any:
        return tn.asarray(x)

    def track(self, x: Any) -> Any:
        return tn.variable(x)

    def array(self, x: Any) -> Array:
        return np.asarray(x.detach())

    def pullback(self, row: Row, operands: tuple[Any, ...]) -> Call:
        return recorded(row, lambda *xs: row.case.formula(xp, *xs), operands)

    def trim(self) -> None:
        tn.pool.trim()

    def describe(self) -> dict[str, Any]:
        return {"taenite": package_version("taenite"), "providers": tn.providers.info()}
