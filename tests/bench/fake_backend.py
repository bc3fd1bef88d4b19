"""A worker process whose backend does what its row's name says."""

from __future__ import annotations

import os
import sys
import time

import numpy as np

from taenite.bench.adapters.base import Prepared, Unsupported
from taenite.bench.worker import Worker, private_stdout, serve


class Backend:
    name = "fake"
    compiles = False

    def prepare(self, row, fixture):
        print("noise on standard output must not reach the protocol")
        if row.op == "svd":
            raise Unsupported("no svd here")
        if row.op == "qr":
            raise ValueError("qr is broken")
        if row.op == "eigh":
            os._exit(9)
        if row.op == "matmul":
            time.sleep(60)
        a, b = fixture.operands
        names = {"solve": np.linalg.solve, "a": a, "b": b}
        return Prepared(names, lambda out: (out,), "out = solve(a, b)")

    def trim(self):
        pass

    def describe(self):
        return {"fake": True}


if __name__ == "__main__":
    serve(Worker(Backend()), sys.stdin, private_stdout())
