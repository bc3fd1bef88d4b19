"""The pivots that the `lu_solve` records leave out: those that reproduce the stored JVP, matrix by matrix.

`lu_solve(lu, pivots, b)` is recorded as a function of the packed factors and of b; VJP and HVP remain checks.
"""

import itertools

import numpy as np
import records


def of(record):
    """LAPACK's row interchanges, counted from 0, for a record of packed 3 x 3 factors."""
    lu = records.array(record["inputs"]["a"])
    pivots = np.broadcast_to(np.arange(3, dtype="int32"), lu.shape[:-1]).copy()
    for index in np.ndindex(lu.shape[:-2]):
        pivots[index] = min(candidates(), key=lambda candidate, index=index: misfit(record, index, candidate))
    return pivots


def candidates():
    return [np.array(swaps, dtype="int32") for swaps in itertools.product((0, 1, 2), (1, 2), (2,))]


def misfit(record, index, swaps):
    """How far the JVP with these pivots is from the stored one; NumPy's own solve, no library under test."""
    probe = record["probes"][0]
    lu, b = (array[index] for array in records.arrays(record["inputs"]).values())
    d_lu, d_b = (array[index] for array in records.arrays(probe["direction"]).values())
    expected = records.array(probe["pytorch_ref"]["jvp"]["value"])[index]
    order = permutation(swaps)
    a = order @ unit_lower(lu) @ np.triu(lu)
    d_a = order @ (np.tril(d_lu, -1) @ np.triu(lu) + unit_lower(lu) @ np.triu(d_lu))
    if record["op_kwargs"]["adjoint"]:
        a, d_a = a.T, d_a.T
    actual = np.linalg.solve(a, d_b - d_a @ np.linalg.solve(a, b))
    return np.abs(actual - expected).max(initial=0.0)


def unit_lower(lu):
    return np.tril(lu, -1) + np.eye(3)


def permutation(swaps):
    rows = np.eye(3)
    for row, other in reversed(list(enumerate(swaps))):
        rows[[row, other]] = rows[[other, row]]
    return rows
