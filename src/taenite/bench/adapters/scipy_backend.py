"""SciPy: the functions of `scipy.linalg` as they come (inputs checked, nothing overwritten), primal rows."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import scipy
import scipy.linalg

from ..case import Fixture, Row
from . import numpy_backend
from .base import Prepared, Unsupported, call_statement

REQUIRES = "scipy"

linalg = SimpleNamespace(
    solve=scipy.linalg.solve,
    inv=scipy.linalg.inv,
    det=scipy.linalg.det,
    cholesky=partial(scipy.linalg.cholesky, lower=True),
    eigh=scipy.linalg.eigh,
    eigvalsh=partial(scipy.linalg.eigh, eigvals_only=True),
    svd=scipy.linalg.svd,
    svdvals=scipy.linalg.svdvals,
    qr=partial(scipy.linalg.qr, mode="economic"),
    lu=scipy.linalg.lu,
)
xp = SimpleNamespace(**{**vars(numpy_backend.xp), "linalg": linalg})


class Noticing:
    """A namespace that notices whether a formula asks for its `linalg`."""

    def __init__(self) -> None:
        self.asked = False

    def __getattr__(self, name: str) -> Any:
        self.asked |= name == "linalg"
        return getattr(xp, name)


class Backend(numpy_backend.Backend):
    """SciPy as installed; its BLAS takes its thread count from the worker's environment."""

    name = "scipy"

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        if row.phase != "primal":
            raise Unsupported("SciPy does not differentiate")
        if row.case.destination or not self.decomposes(row, fixture):
            raise Unsupported("the formula uses nothing of scipy.linalg: see numpy")
        operands, case = fixture.operands, row.case
        return call_statement(lambda: case.formula(xp, *operands), numpy_backend.to_numpy)

    def decomposes(self, row: Row, fixture: Fixture) -> bool:
        namespace = Noticing()
        row.case.formula(namespace, *fixture.operands)
        return namespace.asked

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "scipy": scipy.__version__}
