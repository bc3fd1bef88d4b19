"""PyTorch, eager, float64 on the CPU."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from .. import formulas
from ..case import Array, Row
from ..networks import contract
from .imperative import Call, Imperative
from .transforms import cotangent

REQUIRES = "torch"

xp = SimpleNamespace(**vars(torch))
xp.permute_dims = torch.permute
xp.max = lambda a, axis, keepdims=False: torch.amax(a, axis, keepdims)
xp.matmul_into = lambda out, a, b: torch.matmul(a, b, out=out)
xp.contract = lambda network, xs: contract(torch.einsum, network, xs)
xp.ops = cache(lambda: formulas.torch_ops(torch))


class Backend(Imperative):
    """PyTorch with ``set_num_threads``; the backward row is ``loss.backward()`` into fresh ``.grad``."""

    name = "torch"
    xp = xp
    ad = torch.func
    tracking = ("tracked", "backward", "pullback")

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

    def pullback(self, row: Row, operands: tuple[Any, ...]) -> Call:
        loss = row.case.formula(xp, *operands)
        leaves, ct = [operands[i] for i in row.case.wrt], self.tensor(cotangent(row))
        return lambda: torch.autograd.grad(loss, leaves, ct, retain_graph=True)

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
