"""What this installation is made of: versions, CPU, kernels, providers, threads, memory."""

from __future__ import annotations

import os
import platform
from typing import Any, Literal, overload

import numpy

from taenite import _core, pool, providers, threads
from taenite._version import __version__

_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "MKL_NUM_THREADS",
    "MKL_ENABLE_INSTRUCTIONS",
)


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            return next(names, platform.machine())
    except OSError:
        return platform.processor() or platform.machine()


def _providers() -> list[str]:
    """The loaded providers, or the installed ones where none is loaded: asking must not load any."""
    if not _core.providers_opened():
        return [f"{name}: {', '.join(files)} (not loaded)" for name, files in providers.available().items()]
    rows = []
    for one in providers.info():
        what = f"{one['version']}, {one['kernel']}, {one['integer_bits']}-bit integers"
        rows.append(f"{one['name']}: {what}, {one['threads']} threads, {one['files'][0]['path']}")
    return rows


def _facts() -> dict[str, Any]:
    stats = pool.stats()
    return {
        "taenite": __version__,
        "numpy": numpy.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
        "cpu": _cpu(),
        "kernels": f"{_core.simd_target()} (of {', '.join(_core.simd_targets())})",
        "threads": threads.get_num_threads(),
        "cpus": _core.threads_available(),
        "providers": _providers(),
        "pool": f"{stats['bytes_in_use']} bytes in use, {stats['bytes_cached']} cached",
        "environment": [f"{name}={os.environ[name]}" for name in _VARIABLES if name in os.environ],
    }


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...


def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Print what belongs at the top of a bug report; with ``mode="dicts"`` return it as plain data.

    Providers that are not loaded yet are named and stay so.

    >>> sorted(tn.show_config(mode="dicts"))[:4]
    ['cpu', 'cpus', 'environment', 'kernels']
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"show_config: mode must be 'stdout' or 'dicts', got {mode!r}.")
    facts = _facts()
    if mode == "dicts":
        return facts
    for name, fact in facts.items():
        lines = fact if isinstance(fact, list) else [fact]
        print(f"{name + ':':12} {f'{chr(10)}{13 * chr(32)}'.join(str(line) for line in lines) or '-'}")
    return None
