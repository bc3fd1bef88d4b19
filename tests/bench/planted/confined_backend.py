"""Two threads were asked for; the second one pins itself to one CPU, as teams of pinned callers do."""

import os
import threading

from taenite.bench.adapters.numpy_backend import Backend as NumPy

REQUIRES = "numpy"


def work(stop):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    stop.wait()


class Backend(NumPy):
    name = "confined"

    def __init__(self, threads):
        super().__init__(threads)
        threading.Thread(target=work, args=(threading.Event(),), daemon=True).start()
