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
from .base import Prepared, as_tuple
from .transforms import arguments, transformed

xp = SimpleNamespace(**vars(jnp))
xp.linalg = SimpleNamespace(**vars(jnp.linalg))
xp.linalg.lu = jax.scipy.linalg.lu
xp.ops = cache(lambda: formulas.jax_ops(jax))


def to_numpy(outputs: Any) -> tuple[Array, ...]:
    return tuple(np.asarray(x) for x in as_tuple(outputs))


class Backend:
    """JAX, jitted, with 64-bit types, one device; the worker's environment says how many threads it has."""

    name = "jax"
    compiles = True

    def __init__(self, threads: int) -> None:
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        function = jax.jit(transformed(jax, xp, row, "JAX"))
        args = tuple(jnp.asarray(x) for x in arguments(row, fixture))
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
