"""The pool that all storage and scratch comes from."""

from __future__ import annotations

from taenite import _core


def stats() -> dict[str, int]:
    """``bytes_in_use``, ``peak_bytes_in_use``, ``bytes_cached``, ``cap_bytes``, ``takes`` and ``reuses``.

    >>> sorted(tn.pool.stats())
    ['bytes_cached', 'bytes_in_use', 'cap_bytes', 'peak_bytes_in_use', 'reuses', 'takes']
    """
    return dict(_core.pool_stats())


def reset_peak() -> None:
    """Make the bytes in use now the peak.

    >>> tn.pool.reset_peak()
    >>> stats = tn.pool.stats()
    >>> stats["peak_bytes_in_use"] == stats["bytes_in_use"]
    True
    """
    _core.pool_reset_peak()


def trim(keep_bytes: int = 0) -> int:
    """Return cached blocks to the system until at most ``keep_bytes`` are cached; how many bytes went.

    >>> tn.pool.trim() >= 0
    True
    """
    if keep_bytes < 0:
        raise ValueError(f"pool.trim: keep_bytes must not be negative, got {keep_bytes}.")
    return _core.pool_trim(keep_bytes)


def set_cap(n_bytes: int) -> None:
    """Cache at most this many bytes; blocks beyond go back to the system when they are freed.

    >>> before = tn.pool.stats()["cap_bytes"]
    >>> tn.pool.set_cap(2**30)
    >>> tn.pool.set_cap(before)
    """
    if n_bytes < 0:
        raise ValueError(f"pool.set_cap: n_bytes must not be negative, got {n_bytes}.")
    _core.pool_set_cap(n_bytes)
