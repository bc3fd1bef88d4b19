"""How much slower a row may be before `taenite bench check` fails: declared in the baseline's protocol."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from .case import Row
from .stats import SAME

Threshold = tuple[str, float]
"""A pattern of rows as tables print them, and the fraction that they may become slower by."""


def parse_threshold(text: str) -> Threshold:
    """``PATTERN=PERCENT``; the pattern may itself contain an equals sign.

    Raises ValueError for a text without a pattern or with a percentage that is none.
    """
    pattern, equals, percent = text.rpartition("=")
    try:
        value = float(percent) / 100
    except ValueError:
        value = math.nan
    if not equals or not pattern or not 0 <= value < math.inf:
        raise ValueError(f"--threshold: PATTERN=PERCENT such as 'svd *=10', got {text!r}.")
    return pattern, value


def allowed(row: Row, thresholds: Sequence[Threshold]) -> float:
    """The fraction that a row may become slower by: the last pattern that matches it counts."""
    found = [value for pattern, value in thresholds if fnmatchcase(str(row), pattern)]
    return found[-1] if found else SAME


def document(thresholds: Sequence[Threshold]) -> dict[str, Any]:
    return {"default": SAME, "rows": dict(thresholds)}


def from_document(document: Mapping[str, Any]) -> tuple[Threshold, ...]:
    """The default is a pattern that every row matches."""
    return ("*", document["default"]), *document.get("rows", {}).items()
