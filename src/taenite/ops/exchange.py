"""Exchange with NumPy, DLPack, pickle and the reader: zero-copy where the other side allows it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import as_dtype
from taenite.errors import TracingError

PICKLE_VERSION = 1
API_VERSION = "2025.12"
CPU = (1, 0)  # in DLPack's enumeration of devices
NO_NUMBERS = "a traced value has no numbers yet; keep to operations of taenite."


def array_view(x: Tensor) -> numpy.ndarray[Any, Any]:
    """The same memory as a NumPy array, whatever wraps the tensor; read-only if the tensor is."""
    return numpy.asarray(memoryview(_core.bare(x)))


def overlap(x: Tensor, y: Tensor) -> bool:
    """Whether some element belongs to both."""
    return _core.may_overlap(x, y) and numpy.shares_memory(array_view(x), array_view(y))


def _untracked(x: Tensor, who: str) -> Tensor:
    if _core.is_traced(x):
        raise TracingError(f"{who}: {NO_NUMBERS}")
    if _core.is_wrapped(x):
        raise TypeError(
            f"{who}: the tensor takes part in differentiation; use x.detach() or tn.stop_gradient(x)."
        )
    return x


def to_numpy_array(x: Tensor, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
    """A NumPy array of the same memory, or a copy of it.

    Raises
    ------
    TypeError
        The tensor takes part in differentiation: detach it first.
    ValueError
        ``copy=False`` and a change of dtype.

    >>> tn.asarray([1.0, 2.0]).numpy()
    array([1., 2.])
    """
    array = array_view(_untracked(x, "numpy"))
    if dtype is not None and numpy.dtype(dtype) != array.dtype:
        if copy is False:
            raise ValueError(
                f"numpy: copy=False cannot change the dtype {array.dtype} to {numpy.dtype(dtype)}."
            )
        return array.astype(dtype)
    return array.copy() if copy else array


def to_dlpack(
    x: Tensor,
    *,
    stream: None = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule. Read-only memory needs ``max_version`` of at least (1, 0), else BufferError."""
    if stream is not None:
        raise ValueError(f"__dlpack__: stream must be None on the CPU, got {stream!r}.")
    if dl_device is not None and tuple(dl_device) != CPU:
        raise BufferError(f"__dlpack__: dl_device must be {CPU}, the CPU, got {dl_device!r}.")
    x = _untracked(x, "__dlpack__")
    versioned = max_version is not None and max_version[0] >= 1
    return _core.dlpack_capsule(x.copy() if copy else x, versioned=versioned, copied=bool(copy))


def dlpack_device(x: Tensor) -> tuple[int, int]:
    """DLPack's name for the CPU."""
    return CPU


def from_dlpack(x: Any, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor from any object with ``__dlpack__``, of the same memory unless ``copy`` says otherwise.

    Raises
    ------
    BufferError
        The memory is not on the CPU, or ``copy=False`` cannot be kept.

    >>> tn.from_dlpack(np.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """
    if device not in (None, "cpu"):
        raise ValueError(f"from_dlpack: device must be 'cpu' or None, got {device!r}.")
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"from_dlpack: x must have the method __dlpack__, got {type(x).__name__}.")
    try:
        array = numpy.from_dlpack(x, device="cpu" if device else None, copy=copy)
    except RuntimeError as error:
        raise BufferError(f"from_dlpack: {error}") from None
    as_dtype(array.dtype)
    return _core.from_buffer(array)


def copy(x: Tensor) -> Tensor:
    """A copy with memory of its own, in row-major order, not tracked."""
    if _core.is_traced(x) and not _core.is_wrapped(x):
        return x.astype(x.dtype)
    return _core.copied(_untracked(x, "copy"))


def deepcopy(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """`copy`, for the copy module."""
    return copy(x)


def reduce(x: Tensor) -> tuple[Any, ...]:
    """For pickle: the numbers survive, what the tensor was recorded on does not."""
    if _core.is_traced(x):
        raise TracingError(f"pickle: {NO_NUMBERS}")
    array = array_view(x)
    return rebuild, (PICKLE_VERSION, x.dtype.name, array.shape, array.tobytes())


def rebuild(version: int, dtype: str, shape: tuple[int, ...], data: bytes) -> Tensor:
    """What pickle calls."""
    if version != PICKLE_VERSION:
        raise ValueError(f"unpickling a Tensor: the format must be {PICKLE_VERSION}, got {version}.")
    return _core.from_buffer(numpy.frombuffer(data, dtype=dtype).reshape(shape).copy())


def tolist(x: Tensor) -> Any:
    """Nested lists of Python numbers.

    >>> tn.asarray([[1, 2]]).tolist()
    [[1, 2]]
    """
    if _core.is_traced(x):
        raise TracingError(f"tolist: {NO_NUMBERS}")
    return array_view(x).tolist()


def represent(x: Tensor) -> str:
    """The values as NumPy prints them, dtype, shape where values are left out, and what wraps the tensor."""
    if _core.is_traced(x):
        return f"Tensor<{x.dtype}[{','.join(str(n) for n in _core.hint_shape(x))}], traced>"
    array = array_view(x)
    values = numpy.array2string(array, separator=", ", prefix="tensor(")
    left_out = f", shape={array.shape}" if "..." in values or array.size == 0 else ""
    wrapped = f", {_core.wrapping(x)}" if _core.is_wrapped(x) else ""
    return f"tensor({values}, dtype={x.dtype}{left_out}{wrapped})"


def length(x: Tensor) -> int:
    """The size of the first axis."""
    if x.ndim == 0:
        raise TypeError("len: a 0-d tensor has no length.")
    return x.shape[0]


def iterate(x: Tensor) -> Iterator[Tensor]:
    """The entries along the first axis."""
    return (x[i] for i in range(length(x)))


def to_device(x: Tensor, device: str, /, *, stream: None = None) -> Tensor:
    """The tensor itself: there is one device.

    >>> tn.asarray([1.0]).to_device("cpu").tolist()
    [1.0]
    """
    if device != "cpu" or stream is not None:
        raise ValueError(f"to_device: device must be 'cpu' and stream None, got {device!r}, {stream!r}.")
    return x


def array_namespace(x: Tensor, /, *, api_version: str | None = None) -> Any:
    """The module ``taenite``, which has the names of the Python array API standard."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", API_VERSION):
        raise ValueError(
            f"__array_namespace__: api_version must be at most {API_VERSION}, got {api_version!r}."
        )
    return sys.modules["taenite"]
