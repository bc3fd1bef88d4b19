"""The element types. Each compares equal to itself only; ``str(dtype)`` is NumPy's name for it."""

from __future__ import annotations

import numpy

from taenite import _core


class DType:
    """An element type: ``taenite.float64`` and its like."""

    __slots__ = ("name", "numpy")

    def __init__(self, name: str) -> None:
        self.name = name
        self.numpy = numpy.dtype(name)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.numpy.itemsize

    @property
    def kind(self) -> str:
        """``'b'``, ``'i'``, ``'u'``, ``'f'`` or ``'c'``, as in NumPy."""
        return self.numpy.kind

    def __repr__(self) -> str:
        return f"taenite.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name


_NAMES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64", "complex64", "complex128")  # fmt: skip
ALL = tuple(DType(name) for name in _NAMES)
(bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, complex64, complex128) = (
    ALL
)
_core.set_dtype_objects(list(ALL))
_BY_NUMPY = {d.numpy: d for d in ALL}


def as_dtype(dtype: object) -> DType:
    """The taenite dtype for anything that NumPy accepts as one (``float``, ``'complex64'``, ``np.int8``)."""
    if isinstance(dtype, DType):
        return dtype
    try:
        return _BY_NUMPY[numpy.dtype(dtype)]  # type: ignore[call-overload]
    except (TypeError, KeyError):
        raise TypeError(f"dtype must be one of {', '.join(_NAMES)}, got {dtype!r}.") from None
