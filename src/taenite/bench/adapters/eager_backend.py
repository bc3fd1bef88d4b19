"""taenite, eager: public names only."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

import taenite as tn

from .. import formulas
from ..case import Array
from ..machine import package_version
from .imperative import Imperative

xp = SimpleNamespace(**vars(tn))
xp.ops = cache(lambda: formulas.taenite_ops(tn))


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

    def trim(self) -> None:
        tn.pool.trim()

    def describe(self) -> dict[str, Any]:
        return {"taenite": package_version("taenite"), "providers": tn.providers.info()}
