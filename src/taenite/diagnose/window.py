"""Windows of a callgrind profile, opened from inside the process: valgrind's requests in a shared library.

`LIBRARY` can be loaded by any process with ``ctypes``, without taenite; its functions do nothing outside of
valgrind. ``docs/attribution.md`` shows how.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LIBRARY = Path(__file__).parent / "lib" / "libtaenite_window.so"


class Windows:
    """The functions of the library."""

    def __init__(self, library: Path = LIBRARY) -> None:
        loaded = ctypes.CDLL(str(library))
        self._on: Callable[[], int] = loaded.taenite_window_on_valgrind
        self._start: Callable[[], int] = loaded.taenite_window_start
        self._stop: Callable[[], int] = loaded.taenite_window_stop
        self._open: Callable[[], int] = loaded.taenite_window_open
        self._close: Callable[[bytes], int] = loaded.taenite_window_close

    def on_valgrind(self) -> bool:
        return self._on() != 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the instructions of all threads; outside of it, valgrind runs them several times faster."""
        self._start()
        try:
            yield
        finally:
            self._stop()

    def window(self, label: str, run: Callable[[], object]) -> None:
        """Profile one call; callgrind writes the counts of all threads under the label."""
        name = label.encode()
        self._open()
        run()
        self._close(name)
