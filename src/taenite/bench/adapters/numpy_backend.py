"""NumPy: primal rows only."""

from __future__ import annotations

from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import formulas
from ..case import Array, Fixture, Row
from ..networks import contract, numpy_einsum
from .base import Prepared, Unsupported, as_tuple, call_statement, lettered

REQUIRES = "numpy"

xp = SimpleNamespace(**vars(np))
xp.matmul_into = lambda out, a, b: np.matmul(a, b, out=out)
xp.contract = partial(contract, numpy_einsum)
xp.ops = cache(lambda: formulas.numpy_ops(np))


def to_numpy(outputs: Any) -> tuple[Array, ...]:
    return tuple(np.asarray(x) for x in as_tuple(outputs))


class Backend:
    """NumPy as installed; its BLAS takes its thread count from the worker's environment."""

    name = "numpy"
    compiles = False

    def __init__(self, threads: int) -> None: ...

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        if row.phase != "primal":
            raise Unsupported("NumPy does not differentiate")
        operands, case = fixture.operands, row.case
        if case.destination:
            out = np.zeros(case.destination(*row.size.args), row.dtype)
            return call_statement(lambda: case.formula(xp, out, *operands), to_numpy)
        if case.inline:
            return Prepared(lettered(operands), to_numpy, f"out = {case.inline}")
        return call_statement(lambda: case.formula(xp, *operands), to_numpy)

    def trim(self) -> None:
        """NumPy keeps no pool."""

    def describe(self) -> dict[str, Any]:
        return {"numpy": np.__version__}
