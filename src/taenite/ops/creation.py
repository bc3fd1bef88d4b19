"""Tensors from NumPy arrays, Python numbers and sizes."""

from __future__ import annotations

import atexit
from functools import cache
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.dtypes import ALL, DType, as_dtype, float64
from taenite.ops.convert import as_tuple, asarray
from taenite.ops.shape import broadcast_in_dim, sum_to
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Sample

CODES = {dtype: code for code, dtype in enumerate(ALL)}  # how an attribute of a primitive says a dtype


def _code(dtype: Any) -> int:
    return CODES[float64 if dtype is None else as_dtype(dtype)]


# ---- from sizes alone

_F64 = CODES[float64]
_NO_OPERAND = NotDifferentiable("it has no operand")

eye_ = Record(
    "eye",
    attrs=("dtype", "k"),
    derivative=_NO_OPERAND,
    reference=lambda *, sizes, dtype, k: numpy.eye(sizes[0], sizes[1], k, ALL[dtype].numpy),
    samples=lambda: [Sample([], sizes=(3, 4), dtype=_F64, k=1), Sample([], sizes=(3, 2), dtype=_F64, k=-1)],
    errors=lambda: [ErrorInput(lambda: eye(2, dtype="text"), TypeError, "dtype must be one of")],
)
size_ = Record(
    "size_tensor",
    attrs=("dtype",),
    derivative=_NO_OPERAND,
    reference=lambda *, sizes, dtype: numpy.array(sizes[0], ALL[dtype].numpy),
    samples=lambda: [Sample([], sizes=(3,), dtype=_F64)],
    errors=lambda: [ErrorInput(lambda: size_tensor("text"), TypeError, "a size must be an integer")],  # type: ignore[arg-type]
)
empty_ = Record(
    "empty",
    attrs=("dtype",),
    derivative=_NO_OPERAND,
    errors=lambda: [ErrorInput(lambda: empty((2,), dtype="text"), TypeError, "dtype must be one of")],
)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones on the ``k``-th diagonal, zeros elsewhere.

    >>> tn.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    columns = n_rows if n_cols is None else n_cols
    return eye_(dtype=_code(dtype), k=k, sizes=(n_rows, columns))


def size_tensor(size: int, *, dtype: Any = None) -> Tensor:
    """A size (symbolic where it comes from a traced shape) as a 0-d tensor."""
    return size_(dtype=_code(dtype), sizes=(size,))


def empty(shape: int | tuple[int, ...], *, dtype: Any = None) -> Tensor:
    """A tensor of which nothing is written yet.

    >>> tn.empty((2, 3)).shape
    (2, 3)
    """
    return empty_(dtype=_code(dtype), sizes=as_tuple(shape))


def empty_like(x: Any, /, *, dtype: Any = None) -> Tensor:
    """An unwritten tensor of the shape (and dtype) of another.

    >>> tn.empty_like(tn.zeros((2, 3))).shape
    (2, 3)
    """
    x = asarray(x)
    return empty(x.shape, dtype=dtype or x.dtype)


# ---- one value everywhere

full_ = Record(
    "full",
    adjoint=lambda g, x, *, sizes: sum_to(g, sizes=()),
    reference=lambda x, *, sizes: numpy.full(sizes, x),
    samples=lambda: [Sample([numpy.array(1.5)], sizes=(2, 3)), Sample([numpy.array(1.5)], sizes=())],
    errors=lambda: [ErrorInput(lambda: full((2,), [1.0, 2.0]), ValueError, "fill_value must be a scalar")],
)


def full(shape: int | tuple[int, ...], fill_value: Any, *, dtype: Any = None) -> Tensor:
    """One value everywhere.

    >>> tn.full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    """
    return full_(asarray(fill_value, dtype=dtype), sizes=as_tuple(shape))


@cache
def number(value: complex, dtype: DType) -> Tensor:
    """A constant: one 0-d tensor for each value and dtype."""
    return asarray(value, dtype=dtype)


# The class Tensor owns methods, and they own this module: a tensor here is a cycle that is never collected.
atexit.register(number.cache_clear)


def zeros(shape: int | tuple[int, ...], *, dtype: Any = None) -> Tensor:
    """Zeros.

    >>> tn.zeros(2).tolist()
    [0.0, 0.0]
    """
    return full_(number(0, as_dtype(dtype or float64)), sizes=as_tuple(shape))


def ones(shape: int | tuple[int, ...], *, dtype: Any = None) -> Tensor:
    """Ones.

    >>> tn.ones(2).tolist()
    [1.0, 1.0]
    """
    return full_(number(1, as_dtype(dtype or float64)), sizes=as_tuple(shape))


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """One value in the shape (and dtype) of another tensor.

    >>> tn.full_like(tn.zeros(2), 3.0).tolist()
    [3.0, 3.0]
    """
    x = asarray(x)
    return full(x.shape, fill_value, dtype=dtype or x.dtype)


def zeros_like(x: Any, /, *, dtype: Any = None) -> Tensor:
    """Zeros in the shape (and dtype) of another tensor.

    >>> tn.zeros_like(tn.ones(2)).tolist()
    [0.0, 0.0]
    """
    x = asarray(x)
    return zeros(x.shape, dtype=dtype or x.dtype)


def ones_like(x: Any, /, *, dtype: Any = None) -> Tensor:
    """Ones in the shape (and dtype) of another tensor.

    >>> tn.ones_like(tn.zeros(2)).tolist()
    [1.0, 1.0]
    """
    x = asarray(x)
    return ones(x.shape, dtype=dtype or x.dtype)


# ---- ranges and grids


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Evenly spaced values from ``start`` (default 0) up to but not including ``stop``.

    >>> tn.arange(3).tolist()
    [0, 1, 2]
    """
    first, last = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ValueError("arange: step must not be 0.")
    return asarray(numpy.arange(first, last, step), dtype=dtype)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, endpoint: bool = True) -> Tensor:
    """``num`` evenly spaced values over an interval.

    >>> tn.linspace(0, 1, 3).tolist()
    [0.0, 0.5, 1.0]
    """
    return asarray(numpy.linspace(start, stop, num, endpoint=endpoint), dtype=dtype)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """Coordinate views of the grid that one-dimensional coordinates span.

    >>> [x.shape for x in tn.meshgrid(tn.arange(2), tn.arange(3), indexing="ij")]
    [(2, 3), (2, 3)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}.")
    tensors = [asarray(a) for a in arrays]
    order = list(range(len(tensors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = tuple(tensors[i].size for i in order)
    return [broadcast_in_dim(x, axes=(order.index(i),), sizes=shape) for i, x in enumerate(tensors)]
