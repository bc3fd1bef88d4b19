"""What must hold before instruction counts are believed, and what may be compared."""

from __future__ import annotations

from collections.abc import Mapping
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


def kernels(counted: Mapping[str, Instructions]) -> list[Control]:
    """Of the arms that multiply: those with the same GEMM kernel executed equally much of it."""
    groups: dict[frozenset[str], dict[str, Instructions]] = {}
    for label, one in counted.items():
        if one.kernel:
            groups.setdefault(frozenset(one.kernel), {})[label] = one
    found = [_equality(group) for group in groups.values() if len(group) > 1]
    if len(groups) > 1:
        named = "; ".join(f"{', '.join(group)}: {_kernel_of(group)}" for group in groups.values())
        found.append(Control("kernel", "-", f"kernels differ, their counts are not comparable: {named}"))
    return found


def _equality(group: Mapping[str, Instructions]) -> Control:
    counts = [one.kernel_count for one in group.values()]
    files = {file for one in group.values() for file in one.kernel_files.values()}
    where = "in one file" if len(files) == 1 else f"of one name in {len(files)} files"
    spread = (max(counts) - min(counts)) / max(counts)
    shown = " and ".join(f"{count:,.0f}" for count in sorted({min(counts), max(counts)}))
    text = f"{_kernel_of(group)}, {where}: {shown} in {', '.join(group)}"
    if spread > EQUAL and len(files) > 1:
        return Control("kernel", "-", f"{text}; versions differ, counts are not comparable")
    return _judged("kernel", spread <= EQUAL, text)


def _kernel_of(group: Mapping[str, Instructions]) -> str:
    return kernel_name(next(iter(group.values())))


def kernel_name(found: Instructions) -> str:
    """The kernel's costliest function and its file, as a reader knows them."""
    function = max(found.kernel, key=lambda name: found.kernel[name]).removeprefix("void ")
    short = function.replace("(anonymous namespace)::", "").split("(")[0]
    where = Path(next(iter(found.kernel_files))).name.split(".")[0]
    return f"{short} in {where}"
