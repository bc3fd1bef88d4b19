"""Every test draws from a generator of its own, seeded by its name: none depends on what ran before it."""

import zlib

import numpy as np
import pytest

import taenite as tn


@pytest.fixture
def rng(request):
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture
def random(rng):
    """A function from shapes to tensors of normal numbers."""
    return lambda *shape: tn.asarray(rng.standard_normal(shape))
