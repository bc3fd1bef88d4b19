"""PyTorch, eager, float64 on the CPU."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from .. import formulas
from ..case import COTANGENT, Array, Row
from .imperative import Call, Imperative

xp = SimpleNamespace(**vars(torch))
xp.ops = cache(lambda: formulas.torch_ops(torch))


class Backend(Imperative):
    """PyTorch with ``set_num_threads``; the backward row is ``loss.backward()`` into fresh ``.grad``."""

    name = "torch"
    xp = xp

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        torch.set_num_interop_threads(1)
        torch.set_default_dtype(torch.float64)

    def tensor(self, x: Array) -> torch.Tensor:
        return torch.from_numpy(np.array(x))

    def track(self, x: torch.Tensor) -> torch.Tensor:
        return x.requires_grad_()

    def array(self, x: torch.Tensor) -> Array:
        found: Array = x.detach().numpy()
        return found

    def vjp(self, row: Row, operands: tuple[Any, ...]) -> Call:
        formula, wrt = row.case.formula, row.case.wrt
        cotangent = torch.tensor(COTANGENT)

        def call() -> Any:
            value, pullback = torch.func.vjp(lambda *xs: formula(xp, *xs), *operands)
            gradients = pullback(cotangent)
            return (value, *[gradients[i] for i in wrt])

        return call

    def jvp(self, row: Row, operands: tuple[Any, ...], tangents: tuple[Any, ...]) -> Call:
        formula = row.case.formula
        return lambda: torch.func.jvp(lambda *xs: formula(xp, *xs), operands, tangents)

    def hvp(self, row: Row, operands: tuple[Any, ...], tangents: tuple[Any, ...]) -> Call:
        formula, k = row.case.formula, len(tangents)
        gradient = torch.func.grad(lambda *xs: formula(xp, *xs), argnums=row.case.wrt)
        moved, fixed = operands[:k], operands[k:]
        return lambda: torch.func.jvp(lambda *xs: gradient(*xs, *fixed), moved, tangents)[1]

    def trim(self) -> None:
        """PyTorch's CPU allocator keeps no pool."""

    def describe(self) -> dict[str, Any]:
        return {
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "interop_threads": torch.get_num_interop_threads(),
            "config": torch.__config__.show(),
            "parallel": torch.__config__.parallel_info(),
        }
