"""From what users pass to what primitives take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import as_dtype, float64


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


def inexact(x: Any) -> Tensor:
    """A tensor of floating-point numbers: integers become float64."""
    a = asarray(x)
    return a if a.dtype.kind in "fc" else a.astype(float64)


def as_tuple(given: Any) -> tuple[Any, ...]:
    """One (an axis, a size, a position) or several, as a tuple."""
    return tuple(given) if isinstance(given, Iterable) else (given,)


def whole(given: Any, who: str, name: str) -> Any:
    """An integer of any kind, a size of a trace among them; no flag, and no number with a fraction."""
    if isinstance(given, _core.Size):
        return given
    if isinstance(given, bool | numpy.bool_) or not hasattr(given, "__index__"):
        raise TypeError(f"{who}: {name} must be an integer, got {given!r}.")
    return index(given)


def normal_axis(axis: int, ndim: int, who: str) -> int:
    """Maps ``-ndim..ndim-1`` to ``0..ndim-1``."""
    axis = index(whole(axis, who, "an axis"))
    if not -ndim <= axis < ndim:
        raise IndexError(f"{who}: axis {axis} is out of bounds for a tensor of {ndim} dimensions.")
    return axis % ndim


def normal_axes(axes: Any, ndim: int, who: str) -> tuple[int, ...]:
    """Every axis normalised; naming one twice is an error."""
    normal = tuple(normal_axis(axis, ndim, who) for axis in as_tuple(axes))
    if len(set(normal)) != len(normal):
        raise ValueError(f"{who}: axes must be different, got {axes}.")
    return normal


def inverse_permutation(perm: Sequence[int]) -> tuple[int, ...]:
    """Where each axis went."""
    return tuple([perm.index(axis) for axis in range(len(perm))])


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
