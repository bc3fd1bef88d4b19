"""Tiny cases in the registry, and a fake backend in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import taenite as tn
from taenite.bench.client import Client

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def default_threads():
    """A backend that is set up in this process sets the thread count of the process, as its worker wants."""
    yield
    tn.providers.set_num_threads(None)


@pytest.fixture
def fake_worker(tmp_path):
    """Start workers whose backend is `fake_backend.py`; close them at the end."""
    started = []

    def start() -> Client:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        client = Client([sys.executable, str(HERE / "fake_backend.py")], env, tmp_path / "fake.log")
        started.append(client)
        return client

    yield start
    for client in started:
        client.close()
