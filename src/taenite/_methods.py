"""Methods and attributes of Tensor that are written in Python, attached in one place."""

from __future__ import annotations

from typing import Any

from taenite._core import Tensor
from taenite.ops import exchange

METHODS: dict[str, Any] = {
    "__array__": exchange.to_numpy_array,
    "__array_namespace__": exchange.array_namespace,
    "__copy__": exchange.copy,
    "__deepcopy__": exchange.deepcopy,
    "__dlpack__": exchange.to_dlpack,
    "__dlpack_device__": exchange.dlpack_device,
    "__iter__": exchange.iterate,
    "__len__": exchange.length,
    "__reduce__": exchange.reduce,
    "__repr__": exchange.represent,
    "copy": exchange.copy,
    "numpy": exchange.to_numpy_array,
    "to_device": exchange.to_device,
    "tolist": exchange.tolist,
}

ATTRIBUTES: dict[str, Any] = {
    "device": lambda x: "cpu",
    "itemsize": lambda x: x.dtype.itemsize,
    "nbytes": lambda x: x.size * x.dtype.itemsize,
}


def attach() -> None:
    """Give Tensor its Python methods; the package does it once, when it is imported."""
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
    for name, getter in ATTRIBUTES.items():
        setattr(Tensor, name, property(getter))
