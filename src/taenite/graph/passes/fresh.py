"""Fresh outputs: what a caller may write to is nobody else's.

Common subexpressions make equal outputs one register, and an output may be a constant of the program. The
caller gets copies: a tensor of its own for each. An operand that is returned stays the operand, as in eager
code.
"""

from __future__ import annotations

from dataclasses import replace

from taenite.dtypes import ALL
from taenite.graph.ir import ABSENT, Graph, Instruction


def run(graph: Graph) -> Graph:
    types, copies, outputs = list(graph.types), [], []
    given: set[int] = set()
    for r in graph.outputs:
        if r in graph.constants or (r in given and r >= graph.n_inputs):
            copies.append(_copy(graph, r, len(types)))
            types.append(graph.types[r])
            r = len(types) - 1
        elif r != ABSENT:
            given.add(r)
        outputs.append(r)
    if not copies:
        return graph
    return replace(
        graph, types=tuple(types), instructions=(*graph.instructions, *copies), outputs=tuple(outputs)
    )


def _copy(graph: Graph, source: int, to: int) -> Instruction:
    return Instruction("astype", (ALL.index(graph.types[source].dtype),), (source,), (), (to,), 1)
