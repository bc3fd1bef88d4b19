"""What a row times, as a function of all its operands, from the transforms that a library has.

``ad`` is a namespace with JAX's names (``value_and_grad``, ``grad``, ``vjp``, ``jvp``): taenite, ``jax``,
``torch.func``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..case import COTANGENT, Array, Fixture, Row, real_dtype
from .base import Unsupported, as_tuple

Function = Callable[..., Any]


def transformed(ad: Any, xp: Any, row: Row, who: str) -> Function:
    """The function of `arguments` that the row times."""
    formula = row.case.formula
    if row.phase not in _PHASES:
        raise Unsupported(f"{who} has no {row.phase} mode")
    return _PHASES[row.phase](ad, lambda *operands: formula(xp, *operands), row.case.wrt)


def arguments(row: Row, fixture: Fixture) -> tuple[Array, ...]:
    """Everything is an argument, so that nothing is folded into a compiled function as a constant."""
    if row.phase == "vjp":
        return (cotangent(row), *fixture.operands)
    if row.phase in ("jvp", "hvp"):
        return (*fixture.operands, *fixture.tangents)
    return fixture.operands


def of_moving(function: Function, operands: Sequence[Any], wrt: tuple[int, ...]) -> Function:
    """The function of the differentiated operands alone, the others held fixed."""

    def call(*moving: Any) -> Any:
        replaced = dict(zip(wrt, moving, strict=True))
        return function(*[replaced.get(i, x) for i, x in enumerate(operands)])

    return call


def cotangent(row: Row) -> Array:
    """The cotangent of the loss, in its dtype: losses are real."""
    return np.asarray(COTANGENT, real_dtype(row.dtype))


def _primal(ad: Any, primal: Function, wrt: tuple[int, ...]) -> Function:
    return primal


def _backward(ad: Any, primal: Function, wrt: tuple[int, ...]) -> Function:
    both = ad.value_and_grad(primal, argnums=wrt)

    def call(*operands: Any) -> Any:
        value, gradients = both(*operands)
        return (value, *as_tuple(gradients))

    return call


def _vjp(ad: Any, primal: Function, wrt: tuple[int, ...]) -> Function:
    def call(cotangent: Any, *operands: Any) -> Any:
        value, pullback = ad.vjp(primal, *operands)
        gradients = pullback(cotangent)
        return (value, *[gradients[i] for i in wrt])

    return call


def _jvp(ad: Any, primal: Function, wrt: tuple[int, ...]) -> Function:
    k = len(wrt)
    return lambda *args: ad.jvp(primal, args[:k], args[k:])


def _hvp(ad: Any, primal: Function, wrt: tuple[int, ...]) -> Function:
    gradient, k = ad.grad(primal, argnums=wrt), len(wrt)

    def call(*args: Any) -> Any:
        moved, fixed, tangents = args[:k], args[k:-k], args[-k:]
        return ad.jvp(lambda *xs: gradient(*xs, *fixed), moved, tangents)[1]

    return call


_PHASES = {"primal": _primal, "backward": _backward, "vjp": _vjp, "jvp": _jvp, "hvp": _hvp}
