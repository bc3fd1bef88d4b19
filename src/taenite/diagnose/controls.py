"""What must hold before instruction counts are believed, and what may be compared."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .instructions import LINEARITY, SLACK, Instructions

AGREEMENT = 1e-3
"""Two profiles of one case, relatively."""

EQUAL = 1e-4
"""Counts of one kernel on two sides, relatively: some depend on how its operands are aligned."""


@dataclass(frozen=True)
class Control:
    """``verdict`` is ``ok``, ``failed``, or ``-`` where there is nothing to compare."""

    name: str
    verdict: str
    text: str


def _judged(name: str, good: bool, text: str) -> Control:
    return Control(name, "ok" if good else "failed", text)


def linearity(found: Instructions) -> Control:
    bound = max(LINEARITY * found.total * found.batch, SLACK)
    text = f"the third batch differs from the second by {found.nonlinearity:,.0f} instructions"
    return _judged("linearity", found.nonlinearity <= bound, text)


def agreement(profiles: list[Instructions]) -> Control:
    """Of the same arm in processes of their own."""
    if len(profiles) < 2:
        return Control("agreement", "-", "one profile; --profiles 2 takes another and compares them")
    totals = [one.total for one in profiles]
    spread = (max(totals) - min(totals)) / min(totals)
    return _judged("agreement", spread <= AGREEMENT, f"{len(totals)} profiles differ by {spread:.4%}")


def kernel_equality(label: str, found: Instructions, other_label: str, other: Instructions) -> Control:
    """Whether two arms executed the same GEMM kernel, and equally much of it."""
    name = f"kernel: {label} and {other_label}"
    if not found.kernel or not other.kernel:
        without = label if not found.kernel else other_label
        return Control(name, "-", f"{without} ran no GEMM kernel that the categories know")
    if set(found.kernel) != set(other.kernel):
        return Control(
            name, "-", f"kernels differ ({kernel_name(found)}; {kernel_name(other)}): counts not comparable"
        )
    a, b = found.kernel_count, other.kernel_count
    same_file = set(found.kernel_files.values()) == set(other.kernel_files.values())
    whose = "of one file" if same_file else "of the same name in two files"
    spread = abs(a - b) / max(a, b)
    text = f"{kernel_name(found)} {whose}: {a:,.0f} and {b:,.0f}"
    if spread > EQUAL and not same_file:
        return Control(name, "-", f"{text}: kernels differ, counts not comparable")
    return _judged(name, spread <= EQUAL, text)


def kernel_name(found: Instructions) -> str:
    """The kernel's costliest function and its file, as a reader knows them."""
    function = max(found.kernel, key=lambda name: found.kernel[name]).removeprefix("void ")
    short = function.replace("(anonymous namespace)::", "").split("(")[0]
    where = Path(next(iter(found.kernel_files))).name.split(".")[0]
    return f"{short} in {where}"
