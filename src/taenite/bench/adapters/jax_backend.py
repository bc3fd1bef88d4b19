"""JAX on the CPU: every row is one jitted function, and the clock stops when each of its outputs is ready."""

from __future__ import annotations

import os
from functools import cache
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import formulas
from ..case import Array, Fixture, Row
from ..machine import package_version
from ..networks import contract
from .base import Prepared, Unsupported, as_tuple
from .transforms import arguments, cotangent, of_moving, transformed

REQUIRES = "jax"

xp = SimpleNamespace(**vars(jnp))
xp.linalg = SimpleNamespace(**vars(jnp.linalg))
xp.linalg.lu = jax.scipy.linalg.lu
xp.contract = lambda network, xs: contract(jnp.einsum, network, xs)
xp.ops = cache(lambda: formulas.jax_ops(jax))


def to_numpy(outputs: Any) -> tuple[Array, ...]:
    return tuple(np.asarray(x) for x in as_tuple(outputs))


class Backend:
    """JAX, jitted, with 64-bit types, one device; the worker's environment says how many threads it has."""

    name = "jax"
    compiles = True
    wrap = staticmethod(jax.jit)

    def __init__(self, threads: int) -> None:
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        if row.case.destination:
            raise Unsupported("JAX's arrays cannot be written")
        if row.phase == "pullback":
            return self.prepared(self.wrap(lambda pullback, ct: pullback(ct)), self.recorded(row, fixture))
        function = self.wrap(transformed(jax, xp, row, "JAX"))
        return self.prepared(function, tuple(jnp.asarray(x) for x in arguments(row, fixture)))

    def recorded(self, row: Row, fixture: Fixture) -> tuple[Any, ...]:
        """The pullback, a tree of what the forward pass saved, and its cotangent."""
        operands, wrt = tuple(jnp.asarray(x) for x in fixture.operands), row.case.wrt

        def record(*xs: Any) -> Any:
            function = of_moving(lambda *ys: row.case.formula(xp, *ys), xs, wrt)
            return jax.vjp(function, *[xs[i] for i in wrt])

        _, pullback = self.wrap(record)(*operands)
        return pullback, jnp.asarray(cotangent(row))

    def prepared(self, function: Any, args: tuple[Any, ...]) -> Prepared:
        names = {"function": function, "args": args}
        traced = jax.eval_shape(function, *args)
        if not isinstance(traced, tuple):
            return Prepared(names, to_numpy, "out = function(*args).block_until_ready()")
        waits = "; ".join(f"out[{i}].block_until_ready()" for i in range(len(traced)))
        return Prepared(names, to_numpy, f"out = function(*args); {waits}")

    def trim(self) -> None:
        """XLA keeps no pool of its own on the CPU; a compiled function goes with its row."""

    def describe(self) -> dict[str, Any]:
        return {
            "jax": jax.__version__,
            "jaxlib": package_version("jaxlib"),
            "xla_flags": os.environ.get("XLA_FLAGS", ""),
            "devices": [str(d) for d in jax.devices()],
        }
