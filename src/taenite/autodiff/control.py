"""Variables, and what is not recorded."""

from __future__ import annotations

from contextlib import ContextDecorator
from contextvars import Token
from typing import Any, Self

from taenite import _core
from taenite._core import Tensor
from taenite.ops.convert import asarray
from taenite.ops.shape import stop_gradient_
from taenite.primitive import NO_GRAD_CEILING
from taenite.tree import tree_map


def variable(x: Any, /, *, dtype: Any = None) -> Tensor:
    """A tracked leaf: operations on it are recorded, and ``backward()`` on a result sets its ``grad``.

    Shares memory with ``x``. ``grad`` accumulates over backward passes; ``x.grad = None`` resets it.

    Raises
    ------
    TypeError
        ``x`` is not of a floating-point dtype.

    >>> x = tn.variable([1.0, 2.0])
    >>> (x * x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """
    return _core.variable(asarray(x, dtype=dtype))


class no_grad(ContextDecorator):
    """Operations inside are not recorded; works as a context manager and as a decorator, in each thread and
    asynchronous task for itself. Transforms that begin inside (``tn.grad`` and its like) record as ever.

    >>> x = tn.variable([1.0, 2.0])
    >>> with tn.no_grad():
    ...     y = x * 2.0
    >>> y.requires_grad
    False
    """

    def __init__(self) -> None:
        self._tokens: list[Token[int]] = []

    def __enter__(self) -> Self:
        self._tokens.append(NO_GRAD_CEILING.set(_core.top_level()))
        _core.enter_no_grad()
        return self

    def __exit__(self, *exc: object) -> None:
        _core.leave_no_grad()
        NO_GRAD_CEILING.reset(self._tokens.pop())


def stop_gradient(x: Any, /) -> Any:
    """The same values, constant to every transform; a tree of tensors gives a tree.

    >>> tn.grad(lambda x: x * tn.stop_gradient(x))(3.0).item()
    3.0
    """

    def strip(leaf: Tensor) -> Tensor:
        while _core.is_wrapped(leaf):
            leaf = _core.lower(leaf)
        return stop_gradient_(leaf) if _core.is_traced(leaf) else leaf

    return tree_map(lambda leaf: strip(asarray(leaf)), x)
