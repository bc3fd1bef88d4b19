"""JAX on the CPU: every row is one jitted function, and the clock stops when each of its outputs is ready."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import formulas
from ..case import COTANGENT, Array, Fixture, Row
from ..machine import package_version
from .base import Prepared, Unsupported, as_tuple

xp = SimpleNamespace(**vars(jnp))
xp.linalg = SimpleNamespace(**vars(jnp.linalg))
xp.linalg.lu = jax.scipy.linalg.lu
xp.ops = cache(lambda: formulas.jax_ops(jax))


def to_numpy(outputs: Any) -> tuple[Array, ...]:
    return tuple(np.asarray(x) for x in as_tuple(outputs))


def flat(value: Any, rest: Any) -> tuple[Any, ...]:
    return (value, *as_tuple(rest))


def transformed(row: Row, tangents: tuple[Array, ...]) -> Callable[..., Any]:
    """The function of all operands that this row times, not yet jitted."""
    wrt, formula = row.case.wrt, row.case.formula

    def primal(*operands: Any) -> Any:
        return formula(xp, *operands)

    def backward(*operands: Any) -> Any:
        return flat(*jax.value_and_grad(primal, argnums=wrt)(*operands))

    def vjp(cotangent: Any, *operands: Any) -> Any:
        value, pullback = jax.vjp(primal, *operands)
        gradients = pullback(cotangent)
        return flat(value, [gradients[i] for i in wrt])

    def jvp(*operands: Any) -> Any:
        return jax.jvp(primal, operands[: len(wrt)], operands[len(wrt) :])

    def hvp(*args: Any) -> Any:
        k = len(wrt)
        moved, fixed, tangents = args[:k], args[k:-k], args[-k:]
        gradient = jax.grad(primal, argnums=wrt)
        return jax.jvp(lambda *xs: gradient(*xs, *fixed), moved, tangents)[1]

    try:
        return {"primal": primal, "backward": backward, "vjp": vjp, "jvp": jvp, "hvp": hvp}[row.phase]
    except KeyError:
        raise Unsupported(f"JAX has no {row.phase} mode") from None


def arguments(row: Row, fixture: Fixture) -> tuple[Array, ...]:
    """Everything is an argument of the jitted function, so that nothing is folded into it as a constant."""
    if row.phase == "vjp":
        return (np.asarray(COTANGENT), *fixture.operands)
    if row.phase in ("jvp", "hvp"):
        return (*fixture.operands, *fixture.tangents)
    return fixture.operands


class Backend:
    """JAX, jitted, with 64-bit types, one device."""

    name = "jax"
    compiles = True

    def __init__(self, threads: int) -> None:
        self.threads = threads
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        function = jax.jit(transformed(row, fixture.tangents))
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
