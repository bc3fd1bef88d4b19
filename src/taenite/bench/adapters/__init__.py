"""Backends. A backend is one module with a class `Backend`; adding one is a file and a line here."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from .base import Adapter

REQUIRES = {"eager": "taenite", "compiled": "taenite", "numpy": "numpy", "jax": "jax", "torch": "torch"}
"""Every backend, in the order of the table, and the package that it needs."""

OURS = ("eager", "compiled")
"""Backends of taenite itself; all others are peers."""


def available(name: str) -> bool:
    """Whether the backend's package is installed, without importing it."""
    return find_spec(REQUIRES[name]) is not None


def load(name: str, threads: int) -> Adapter:
    """Import the backend's package and its adapter. Called in the worker process only."""
    backend: Adapter = import_module(f".{name}_backend", __package__).Backend(threads)
    return backend
