"""Methods and attributes of Tensor that are written in Python, attached in one place."""

from __future__ import annotations

from typing import Any

from taenite._core import Tensor
from taenite.ops import arithmetic, contraction, exchange, parts, reductions, shape

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
    "abs": arithmetic.abs,
    "all": reductions.all,
    "any": reductions.any,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "astype": arithmetic.astype,
    "clip": arithmetic.clip,
    "conj": arithmetic.conj,
    "copy": exchange.copy,
    "diagonal": parts.diagonal,
    "dot": contraction.dot,
    "flatten": shape.flatten,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "numpy": exchange.to_numpy_array,
    "prod": reductions.prod,
    "round": arithmetic.round,
    "std": reductions.std,
    "squeeze": shape.squeeze,
    "sum": reductions.sum,
    "swapaxes": shape.swapaxes,
    "to_device": exchange.to_device,
    "tolist": exchange.tolist,
    "trace": contraction.trace,
    "var": reductions.var,
}


def _device(x: Tensor) -> str:
    return "cpu"


def _itemsize(x: Tensor) -> int:
    return x.dtype.itemsize


def _nbytes(x: Tensor) -> int:
    return x.size * x.dtype.itemsize


ATTRIBUTES: dict[str, Any] = {
    "device": _device,
    "imag": arithmetic.imag,
    "itemsize": _itemsize,
    "nbytes": _nbytes,
    "real": arithmetic.real,
}


def attach() -> None:
    """Give Tensor its Python methods; the package does it once, when it is imported."""
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
    for name, getter in ATTRIBUTES.items():
        setattr(Tensor, name, property(getter))
