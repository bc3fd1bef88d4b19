"""Fresh outputs: what a caller may write to is nobody else's.

Common subexpressions make equal outputs one register, outputs may be views of one, or of a constant of the
program. The caller gets copies: a tensor with memory of its own for each. An operand that is returned stays
the operand, as in eager code, and so do its views.
"""

from __future__ import annotations

from dataclasses import replace

from taenite.dtypes import ALL
from taenite.graph.ir import Graph, Instruction
from taenite.graph.rewrite import VIEWS


def run(graph: Graph) -> Graph:
    copies = _Copies(graph)
    roots = _roots(graph)
    given: set[int] = set()
    outputs = []
    for r in graph.outputs:
        root = roots.get(r, r)
        shared = root in graph.constants or root in given
        if root >= graph.n_inputs:
            given.add(root)
        outputs.append(copies.of(r) if shared else r)
    if not copies.instructions:
        return graph
    return replace(
        graph,
        types=tuple(copies.types),
        instructions=(*graph.instructions, *copies.instructions),
        outputs=tuple(outputs),
    )


def _roots(graph: Graph) -> dict[int, int]:
    """The register whose memory each view may be of."""
    roots: dict[int, int] = {}
    for i in graph.instructions:
        if i.primitive in VIEWS:
            roots[i.outputs[0]] = roots.get(i.inputs[0], i.inputs[0])
    return roots


class _Copies:
    """Instructions that copy registers."""

    def __init__(self, graph: Graph) -> None:
        self.types = list(graph.types)
        self.instructions: list[Instruction] = []
        self.spread = {i.outputs[0]: i for i in graph.instructions if i.primitive == "broadcast_in_dim"}

    def of(self, r: int) -> int:
        """Memory of its own: what is spread over a shape is copied before it is."""
        if spread := self.spread.get(r):
            return self._add(replace(spread, inputs=(self.of(spread.inputs[0]),)), r)
        return self._add(Instruction("astype", (ALL.index(self.types[r].dtype),), (r,), (), (r,), 1), r)

    def _add(self, i: Instruction, like: int) -> int:
        self.types.append(self.types[like])
        self.instructions.append(replace(i, outputs=(len(self.types) - 1,)))
        return len(self.types) - 1
