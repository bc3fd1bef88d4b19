"""What a number was measured on: CPU, kernel, limits, load, libraries by file. Nothing is changed."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
FORCING_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR")


def read(path: str) -> str | None:
    """The text of a system file, or None where there is no such file."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def cpu_info() -> dict[str, str]:
    """Model name and flags of the first processor."""
    fields: dict[str, str] = {}
    for line in (read("/proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def caches() -> dict[str, str]:
    found = {}
    for index in range(8):
        base = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
        if (level := read(f"{base}/level")) is not None:
            found[f"L{level} {read(f'{base}/type')}"] = read(f"{base}/size") or "?"
    return found


def affinity() -> list[int]:
    """The CPUs that this process may use; all of them where the system cannot say."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin(cpus: list[int]) -> bool:
    """Confine this process, and every thread it will create, to these CPUs."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, cpus)
    return True


def thread_masks() -> dict[str, int]:
    """How many threads of this process may run on which CPUs, as the kernel lists them."""
    masks: dict[str, int] = {}
    for status in Path("/proc/self/task").glob("*/status"):
        for line in (read(str(status)) or "").splitlines():
            if line.startswith("Cpus_allowed_list:"):
                mask = line.split(":", 1)[1].strip()
                masks[mask] = masks.get(mask, 0) + 1
    return masks


FOREIGN_CORES = ("libtorch_cpu.so", "libjax_common.so", "xla_extension.so")
"""Libraries of other projects that contain a BLAS of their own, which has no name or version to ask for."""


def blas_libraries() -> list[dict[str, Any]]:
    """BLAS and OpenMP libraries loaded in this process: file, digest, version, kernel name, threads."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        known = []
    else:
        known = [dict(entry) for entry in threadpool_info()]
    inside = [{"filepath": path, "internal_api": "built in"} for path in mapped_files(FOREIGN_CORES)]
    return [{**entry, "sha256": digest(entry["filepath"])} for entry in (*known, *inside)]


def mapped_files(names: Sequence[str]) -> list[str]:
    """Files of these names that this process has mapped."""
    paths = {line.split(maxsplit=5)[-1] for line in (read("/proc/self/maps") or "").splitlines()}
    return sorted(path for path in paths if path.rpartition("/")[2] in names)


def digest(path: str) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def portable(document: Any) -> Any:
    """Plain data with the folders of this installation and of its user replaced: bundles are published."""
    if isinstance(document, dict):
        return {key: portable(value) for key, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [portable(value) for value in document]
    if not isinstance(document, str):
        return document
    folders = {sys.prefix: "<environment>", sys.base_prefix: "<python>", str(Path.home()): "~"}
    for folder, name in folders.items():
        document = document.replace(f"{folder}/", f"{name}/")
    return document


def package_version(name: str) -> str:
    """The version of an installed package; an in-tree build has none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "in-tree build"


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep the driver's own BLAS to one thread: a team that spins beside a worker would disturb it."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def flag_subset(flags: str) -> list[str]:
    wanted = ("avx", "avx2", "fma", "avx512f", "avx512bw", "avx512vl", "amx_tile", "neon", "asimd", "sve")
    return [flag for flag in wanted if flag in flags.split()]


def describe() -> dict[str, Any]:
    cpu = cpu_info()
    return {
        "cpu": cpu.get("model name") or platform.processor() or platform.machine(),
        "family_model_stepping": [cpu.get(k) for k in ("cpu family", "model", "stepping")],
        "simd": flag_subset(cpu.get("flags") or cpu.get("Features") or ""),
        "hypervisor": "hypervisor" in cpu.get("flags", "").split(),
        "logical_cpus": os.cpu_count(),
        "affinity": affinity(),
        "smt": read("/sys/devices/system/cpu/smt/active"),
        "caches": caches(),
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "boost": read("/sys/devices/system/cpu/cpufreq/boost"),
        "cgroup_cpu_max": read("/sys/fs/cgroup/cpu.max"),
        "transparent_hugepage": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "aslr": read("/proc/sys/kernel/randomize_va_space"),
        "memory_kib": memory_kib(),
        "system": platform.platform(),
        "python": sys.version,
        "environment": {
            name: os.environ[name] for name in (*THREAD_VARIABLES, *FORCING_VARIABLES) if name in os.environ
        },
    }


def memory_kib() -> int | None:
    for line in (read("/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1])
    return None
