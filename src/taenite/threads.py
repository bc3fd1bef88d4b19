"""How many threads a computation may use, in native loops and in providers alike.

The default is the smallest of the CPU affinity, the cgroup quota and ``OMP_NUM_THREADS``, and a provider that
its own environment variables bound (``OPENBLAS_NUM_THREADS``) stays within them. Setting a number
touches nothing by itself: a provider is told through its own calls when it is next used.
"""

from __future__ import annotations

import operator
from types import TracebackType

from taenite import _core


def _checked(function: str, n: int) -> int:
    count = operator.index(n)
    if count < 1:
        raise ValueError(f"{function}: n must be at least 1, got {count}.")
    return count


def get_num_threads() -> int:
    """The number of threads that a computation started here may use.

    >>> with tn.threads(1):
    ...     tn.providers.get_num_threads()
    1
    """
    return _core.threads_budget()


def set_num_threads(n: int | None) -> None:
    """Sets the number for the process; ``None`` returns to the default.

    >>> tn.providers.set_num_threads(1)
    >>> tn.providers.get_num_threads()
    1
    >>> tn.providers.set_num_threads(None)
    """
    _core.threads_exchange_process_budget(0 if n is None else _checked("set_num_threads", n))


class threads:
    """``with tn.threads(4):`` sets the number in this block and this thread. Blocks nest."""

    def __init__(self, n: int) -> None:
        self._n = _checked("threads", n)
        self._outer: list[int] = []

    def __enter__(self) -> None:
        self._outer.append(_core.threads_exchange_block_budget(self._n))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.threads_exchange_block_budget(self._outer.pop())
