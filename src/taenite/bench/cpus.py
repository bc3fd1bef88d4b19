"""Lists of CPUs as the kernel, ``taskset`` and users write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

# 5, 0-3, 0-11:2 (every second one, as taskset writes) or 0-11:2/4 (two of every four, as the kernel does).
_PART = re.compile(r"(\d+)(?:-(\d+)(?::(\d+)(?:/(\d+))?)?)?")


def expand_cpu_list(text: str) -> set[int]:
    """``"0-2,5,8-11:2"`` as a set of integers; blank text is no CPU at all."""
    if not text.strip():
        return set()
    return {cpu for part in text.split(",") for cpu in _expand_part(part.strip(), text)}


def _expand_part(part: str, text: str) -> Iterable[int]:
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(
            f"expand_cpu_list: {part!r} of {text!r} is not a CPU or a range such as 0-3 or 0-11:2."
        )
    first, last = int(found[1]), int(found[2] or found[1])
    used, group = (1, int(found[3] or 1)) if found[4] is None else (int(found[3]), int(found[4]))
    if last < first or not 1 <= used <= group:
        raise ValueError(
            f"expand_cpu_list: the range {part!r} of {text!r} runs backwards or has a bad stride."
        )
    return (cpu for cpu in range(first, last + 1) if (cpu - first) % group < used)


def compact_cpu_list(cpus: Iterable[int]) -> str:
    """A set of CPUs as the kernel lists it: ``"0-2,5"``."""
    runs: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
