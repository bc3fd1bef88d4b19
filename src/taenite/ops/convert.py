"""From what users pass to what primitives take."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import as_dtype


def asarray(obj: Any, /, *, dtype: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares memory with ``obj`` where it can: NumPy arrays, buffers, numbers, nested lists.

    >>> tn.asarray([[1.0, 2.0]]).shape
    (1, 2)
    """
    if isinstance(obj, Tensor):
        return _recast(obj, dtype, copy)
    array = numpy.asarray(obj, dtype=None if dtype is None else as_dtype(dtype).numpy, copy=copy)
    as_dtype(array.dtype)
    return _from_array(array, copy)


def _from_array(array: numpy.ndarray[Any, Any], copy: bool | None) -> Tensor:
    """Zero-copy where the memory is aligned, in native byte order and strided by whole elements."""
    try:
        return _core.from_buffer(array)
    except (BufferError, TypeError):
        if copy is False:
            raise
        return _core.from_buffer(numpy.array(array, dtype=as_dtype(array.dtype).numpy, order="C"))


def _recast(x: Tensor, dtype: Any, copy: bool | None) -> Tensor:
    if dtype is not None and as_dtype(dtype) is not x.dtype:
        if copy is False:
            raise ValueError(f"asarray: copy=False cannot change the dtype {x.dtype} to {as_dtype(dtype)}.")
        return x.astype(as_dtype(dtype))
    return x.copy() if copy else x


def as_shape(shape: Any) -> tuple[Any, ...]:
    """A shape given as an integer or a sequence, as a tuple."""
    return tuple(shape) if isinstance(shape, Iterable) else (shape,)


def as_axes(axes: Any) -> tuple[Any, ...]:
    """One axis or several, as a tuple."""
    return tuple(axes) if isinstance(axes, Iterable) else (axes,)


def normal_axis(axis: int, ndim: int, who: str) -> int:
    """Maps ``-ndim..ndim-1`` to ``0..ndim-1``."""
    if not hasattr(axis, "__index__"):
        raise TypeError(f"{who}: an axis must be an integer, got {axis!r}.")
    axis = index(axis)
    if not -ndim <= axis < ndim:
        raise IndexError(f"{who}: axis {axis} is out of bounds for a tensor of {ndim} dimensions.")
    return axis % ndim


def normal_axes(axes: Any, ndim: int, who: str) -> tuple[int, ...]:
    """Every axis normalised; naming one twice is an error."""
    normal = tuple(normal_axis(axis, ndim, who) for axis in as_axes(axes))
    if len(set(normal)) != len(normal):
        raise ValueError(f"{who}: axes must be different, got {axes}.")
    return normal


def common_dtype(tensors: Iterable[Tensor]) -> Any:
    """The dtype that all of them promote to."""
    dtypes = [x.dtype for x in tensors]
    result = dtypes[0]
    for dtype in dtypes[1:]:
        if dtype is not result:
            result = _core.promote(result, dtype)
    return result


def promoted(*tensors: Tensor) -> tuple[Tensor, ...]:
    """All of them in their common dtype."""
    dtype = common_dtype(tensors)
    return tuple(x if x.dtype is dtype else x.astype(dtype) for x in tensors)
