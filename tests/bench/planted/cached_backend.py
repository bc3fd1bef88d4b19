"""The right answer, computed once before the clock starts."""

import numpy as np

from taenite.bench.adapters.base import Prepared
from taenite.bench.adapters.numpy_backend import Backend as NumPy

REQUIRES = "numpy"


class Backend(NumPy):
    name = "cached"

    def prepare(self, row, fixture):
        answer = row.case.formula(np, *fixture.operands)
        return Prepared({"answer": answer}, lambda out: (out,), "out = answer")
