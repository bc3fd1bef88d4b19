"""Dead code: drops instructions that nobody needs, and stops demanding outputs that nobody reads.

Effects stay. So does an instruction of which only the shape is read, by a size or a guard.
"""

from __future__ import annotations

from taenite.graph.ir import Graph, Instruction
from taenite.graph.primitives import PRIMITIVES
from taenite.graph.rewrite import dims_of_sizes, has_effect, keep_sizes, with_mask

_SHAPE_ONLY = {name: p.shape_only for name, p in PRIMITIVES.items() if p.shape_only}


def run(graph: Graph) -> Graph:
    dims = dims_of_sizes(graph)
    read = set(graph.outputs)
    shaped = {r for g in graph.guards for r in dims[g.lhs] | dims[g.rhs]}
    kept: list[Instruction] = []
    for i in reversed(graph.instructions):
        if not has_effect(i):
            if read.isdisjoint(i.outputs) and shaped.isdisjoint(i.outputs):
                continue
            mask = _mask(i, read, shaped)
            i = i if mask == i.mask else with_mask(i, mask)
        kept.append(i)
        _note_operands(i, read, shaped)
        for s in i.sizes:
            shaped |= dims[s]
    kept.reverse()
    needed = read | shaped
    instructions, guards, sizes = keep_sizes(kept, graph.guards, graph.sizes)
    constants = {r: value for r, value in graph.constants.items() if r in needed}
    return graph.with_instructions(
        tuple(instructions), constants=constants, guards=guards, sizes=sizes, groups=()
    )


def _mask(i: Instruction, read: set[int], shaped: set[int]) -> int:
    """What is demanded and read; never nothing."""
    if len(i.outputs) == 1:
        return i.mask
    mask = sum(1 << j for j, r in enumerate(i.outputs) if r in read) & i.mask
    return mask or sum(1 << j for j, r in enumerate(i.outputs) if r in shaped) & i.mask or i.mask


def _note_operands(i: Instruction, read: set[int], shaped: set[int]) -> None:
    by_shape = _SHAPE_ONLY.get(i.primitive)
    if not by_shape:
        read.update(i.inputs)
        return
    for k, r in enumerate(i.inputs):
        (shaped if by_shape >> k & 1 else read).add(r)
