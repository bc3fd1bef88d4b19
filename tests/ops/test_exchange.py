"""Memory shared with NumPy and DLPack, and the flags that go with it."""

import gc

import numpy as np
import pytest

import taenite as tn

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_shares_memory_of_any_layout(dtype):
    whole = np.arange(24).reshape(4, 6).astype(dtype)
    for a in (whole, whole.T, whole[::-2, ::3], whole[1, 2], whole[:0], whole[..., None]):
        x = tn.asarray(a)
        b = np.from_dlpack(x)
        assert b.dtype == a.dtype and b.shape == a.shape and np.array_equal(a, b)
        assert np.array_equal(tn.from_dlpack(x).numpy(), a)
        if a.size:
            assert b.__array_interface__["data"][0] == x.numpy().__array_interface__["data"][0]


def test_dlpack_keeps_the_memory():
    a = np.from_dlpack(tn.arange(1000) + 1)
    capsule = (tn.arange(1000) + 1).__dlpack__()
    gc.collect()
    tn.zeros(1000) + 7
    assert np.array_equal(a, np.arange(1, 1001))
    del capsule


def test_dlpack_says_what_may_be_written():
    fixed = np.ones(3)
    fixed.flags.writeable = False
    for x in (tn.asarray(fixed), tn.broadcast_to(tn.ones(1), (3,))):
        assert not np.from_dlpack(x).flags.writeable
        assert np.from_dlpack(x, copy=True).flags.writeable
        for version in (None, (0, 8)):
            with pytest.raises(BufferError, match="read-only"):
                x.__dlpack__(max_version=version)
    x = tn.ones(3)
    np.from_dlpack(x)[0] = 5
    assert x[0].item() == 5


def test_dlpack_refuses_what_it_cannot_do():
    x = tn.ones(3)
    with pytest.raises(BufferError, match=r"dl_device must be \(1, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream must be None"):
        x.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="takes part in differentiation"):
        tn.variable(x).__dlpack__()
    assert np.from_dlpack(tn.variable(x).detach()).shape == (3,)


def test_from_dlpack_takes_objects_not_capsules():
    with pytest.raises(TypeError, match="x must have the method __dlpack__, got PyCapsule"):
        tn.from_dlpack(tn.ones(3).__dlpack__())
