"""One thread was asked for; a second one works all the time."""

import hashlib
import threading

from taenite.bench.adapters.numpy_backend import Backend as NumPy

REQUIRES = "numpy"


def work():
    data = bytes(1 << 20)
    while True:
        hashlib.sha256(data)  # without the interpreter's lock


class Backend(NumPy):
    name = "crowded"

    def __init__(self, threads):
        super().__init__(threads)
        threading.Thread(target=work, daemon=True).start()
