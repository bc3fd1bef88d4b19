"""Controls: work that no change of taenite can touch, done by NumPy before every row of a run.

What they drift by within a run, or differ by between two runs, is the machine's doing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import fixtures
from ..case import Fixture, Size, case
from ..verify import elementwise_oracle, value_oracle
from ..work import Cost

SUITE = ("control",)
MEBIBYTE = 1 << 20


@case(
    "control_matmul",
    suites=SUITE,
    phases={"primal": (Size("256x256", (256,)),)},
    fixture=fixtures.square_product,
    oracle=value_oracle(lambda a, b: np.asarray(a @ b), fixtures.CONDITION),
    work=Cost(reads=lambda n: 2 * n**2, writes=lambda n: n**2, flops=lambda n: 2 * n**3),
)
def control_matmul(xp: Any, a: Any, b: Any) -> Any:
    """A product of two 256 x 256 matrices, which stays in the caches."""
    return a @ b


def elements(mebibytes: int) -> int:
    return mebibytes * MEBIBYTE // 8


def block(mebibytes: int) -> Fixture:
    return Fixture((fixtures.generator(19, mebibytes).standard_normal(elements(mebibytes)),))


@case(
    "control_copy",
    suites=SUITE,
    phases={"primal": (Size("32MiB", (32,)),)},
    fixture=block,
    oracle=elementwise_oracle(lambda source: source, 0.0),
    work=Cost(reads=elements, writes=elements, flops=lambda mebibytes: 0.0),
    destination=lambda mebibytes: (elements(mebibytes),),
)
def control_copy(xp: Any, out: Any, source: Any) -> Any:
    """A copy of 32 MiB over 32 MiB that are there already."""
    out[...] = source
    return out
