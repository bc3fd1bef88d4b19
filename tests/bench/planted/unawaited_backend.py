"""A call only starts the work; reading the outputs waits for it."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from taenite.bench.adapters.base import Prepared
from taenite.bench.adapters.numpy_backend import Backend as NumPy

REQUIRES = "numpy"
SECONDS = 0.005


class Backend(NumPy):
    name = "unawaited"

    def prepare(self, row, fixture):
        pool = ThreadPoolExecutor(1)

        def work():
            time.sleep(SECONDS)
            return row.case.formula(np, *fixture.operands)

        return Prepared({"start": lambda: pool.submit(work)}, lambda out: (out.result(),), "out = start()")
