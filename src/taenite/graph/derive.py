"""The derivatives of executables: a pullback split into forward and backward, and a pushforward.

An executable is differentiated by tracing it under the same engine that serves eager code, so there is one
set of rules. The joint graph of a pullback is cut where cotangents enter: what does not depend on them is the
forward program, what does is the backward program, and what crosses the cut is saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.graph.ir import ABSENT, Graph, Instruction, SizeExpr, Type
from taenite.graph.passes import SIMPLIFY, group, optimize
from taenite.graph.rewrite import dims_of_sizes, is_symbolic
from taenite.graph.trace import tracing


def is_inexact(x: Tensor | None) -> bool:
    return x is not None and x.dtype.kind in "fc"


def pullback(executable: _core.Executable, likes: list[Tensor], need: str) -> tuple[Graph, Any, Any, int]:
    """The joint trace, on which sizes are checked, forward and backward executables, and how many values the
    first saves for the second."""
    primal: Graph = executable.graph
    results = [y for y in outputs_like(executable, likes) if is_inexact(y)]
    with tracing([*likes, *results]) as tracer:
        operands, cotangents = tracer.inputs[: len(likes)], tracer.inputs[len(likes) :]
        outputs, gradients = pull(executable, operands, cotangents, need)
        joint = tracer.graph([*outputs, *gradients])
    n_out = len(primal.outputs)
    forward, backward, n_residuals = split(optimize(joint, SIMPLIFY), len(likes), n_out)
    forward, backward = group.run(forward), group.run(backward)
    return joint, _core.executable(forward, forward), _core.executable(backward, backward), n_residuals


def outputs_like(executable: _core.Executable, likes: list[Tensor]) -> list[Tensor]:
    """Values without numbers, of the dtypes and shapes of the outputs that are not identically zero."""
    with tracing(likes) as tracer:
        return [_core.bare(y) for y in executable.inline(tracer.inputs) if y is not None]


def _at(is_at: Callable[[Tensor, int], bool], values: list[Tensor | None], level: int) -> list[bool]:
    return [y is not None and is_at(y, level) for y in values]


def pull(
    executable: _core.Executable, operands: list[Tensor], cotangents: Sequence[Tensor | None], need: str
) -> tuple[list[Tensor | None], list[Tensor | None]]:
    """Outputs and gradients; a cotangent is None where it is zero."""
    level = _core.open_level()
    try:
        leaves = [_core.track(x, level) if n == "1" else x for x, n in zip(operands, need, strict=True)]
        results = executable.inline(leaves)
        live = _at(_core.is_tracked_at, results, level)
        outputs = [_core.lower(y) if on else y for y, on in zip(results, live, strict=True)]
        with_cotangent = [(y, on) for y, on in zip(results, live, strict=True) if is_inexact(y)]
        pairs = [
            (y, ct) for (y, on), ct in zip(with_cotangent, cotangents, strict=True) if on and ct is not None
        ]
        wanted = [leaf for leaf, n in zip(leaves, need, strict=True) if n == "1"]
        found = _core.pull([y for y, _ in pairs], [ct for _, ct in pairs], wanted, False) if pairs else []
    finally:
        _core.close_level(level)
    gradients = iter(found)
    return outputs, [next(gradients, None) if n == "1" else None for n in need]


def pushforward(executable: _core.Executable, likes: list[Tensor], need: str) -> tuple[Graph, Any, None, int]:
    """The trace, and the executable of outputs and their tangents."""
    needed = [x for x, n in zip(likes, need, strict=True) if n == "1"]
    with tracing([*likes, *needed]) as tracer:
        operands, tangents = tracer.inputs[: len(likes)], iter(tracer.inputs[len(likes) :])
        level = _core.open_level()
        try:
            duals = [
                _core.make_dual(x, next(tangents), level) if n == "1" else x
                for x, n in zip(operands, need, strict=True)
            ]
            results = executable.inline(duals)
            live = _at(_core.is_dual_at, results, level)
            outputs = [_core.lower(y) if on else y for y, on in zip(results, live, strict=True)]
            directions = [_core.tangent_of(y) if on else None for y, on in zip(results, live, strict=True)]
        finally:
            _core.close_level(level)
        joint = tracer.graph([*outputs, *directions])
    optimized = optimize(joint)
    return joint, _core.executable(optimized, optimized), None, 0


# ---- the cut ----


def split(joint: Graph, n_operands: int, n_out: int) -> tuple[Graph, Graph, int]:
    """The forward graph (outputs, then residuals), the backward graph (of residuals and cotangents), and the
    number of residuals."""
    before, after = _before_and_after(joint, n_operands)
    gradients = joint.outputs[n_out:]
    made = {r for i in after for r in i.outputs} | set(range(n_operands, joint.n_inputs))
    residuals = _crossing(joint, after, gradients, made)
    forward = replace(
        joint,
        n_inputs=n_operands,
        instructions=tuple(before),
        outputs=(*joint.outputs[:n_out], *residuals),
        guards=(),
        groups=(),
    )
    forward = _drop_cotangents(forward, n_operands, joint.n_inputs)
    return forward, _backward(joint, after, residuals, n_operands, gradients), len(residuals)


def _shapes_read(i: Instruction, dims: list[frozenset[int]]) -> frozenset[int]:
    """The registers whose dimensions its sizes are computed from."""
    return frozenset().union(*[dims[s] for s in i.sizes])


def _before_and_after(graph: Graph, n_operands: int) -> tuple[list[Instruction], list[Instruction]]:
    """The instructions that need no cotangent, and those that do. Effects have no outputs to tell them by."""
    late, dims = set(range(n_operands, graph.n_inputs)), dims_of_sizes(graph)
    before, after = [], []
    for i in graph.instructions:
        if late.intersection(i.inputs) or late.intersection(_shapes_read(i, dims)):
            late.update(i.outputs)
            after.append(i)
        else:
            before.append(i)
    return before, after


def _crossing(graph: Graph, after: list[Instruction], gradients: Sequence[int], made: set[int]) -> list[int]:
    """What the backward part reads and does not make, constants aside."""
    read: dict[int, None] = {}
    dims = dims_of_sizes(graph)
    for i in after:
        for r in (*i.inputs, *sorted(_shapes_read(i, dims))):
            read[r] = None
    for r in gradients:
        read[r] = None
    return [r for r in read if r != ABSENT and r not in made and r not in graph.constants]


def _drop_cotangents(forward: Graph, first: int, last: int) -> Graph:
    """Renumber the registers above the cotangents, which the forward graph does not have."""
    return renumber(forward, {r: r if r < first else r - (last - first) for r in range(len(forward.types))
                               if not first <= r < last})  # fmt: skip


def _backward(
    joint: Graph, after: list[Instruction], residuals: list[int], n_operands: int, gradients: Sequence[int]
) -> Graph:
    order = [*residuals, *range(n_operands, joint.n_inputs)]
    order += list(joint.constants)
    order += [r for i in after for r in i.outputs]
    number = {r: k for k, r in enumerate(order)}
    whole = replace(
        joint,
        n_inputs=len(residuals) + joint.n_inputs - n_operands,
        instructions=tuple(after),
        outputs=tuple(gradients),
        guards=(),
        groups=(),
    )
    return renumber(whole, number)


def renumber(graph: Graph, number: dict[int, int]) -> Graph:
    """The graph with its registers renamed; registers without a new number are gone, with their sizes."""
    types = [None] * len(number)
    for old, new in number.items():
        types[new] = graph.types[old]  # type: ignore[call-overload]
    return replace(
        graph,
        types=tuple(types),  # type: ignore[arg-type]
        instructions=tuple(
            replace(
                i,
                inputs=tuple(number[r] for r in i.inputs),
                outputs=tuple(number[r] for r in i.outputs),
            )
            for i in graph.instructions
        ),
        outputs=tuple(ABSENT if r == ABSENT else number[r] for r in graph.outputs),
        constants={number[r]: x for r, x in graph.constants.items() if r in number},
        sizes=tuple(_size_renumbered(e, number) for e in graph.sizes),
    )


def captured(graph: Graph) -> list[Tensor]:
    """The values of transforms that the function closed over."""
    return [x for x in graph.constants.values() if is_symbolic(x)]


def with_captured_as_inputs(graph: Graph, values: Sequence[Tensor]) -> Graph:
    """The graph with these values as further inputs, whether it closes over them or not."""
    if not values:
        return graph
    types, at = list(graph.types), []
    for value in values:
        found = next((r for r, x in graph.constants.items() if _core.is_same(x, value)), len(types))
        if found == len(types):
            types.append(Type(value.dtype, _core.hint_shape(value)))
        at.append(found)
    order = [*range(graph.n_inputs), *at]
    order += sorted(set(range(len(types))).difference(order))
    moved = renumber(replace(graph, types=tuple(types)), {old: new for new, old in enumerate(order)})
    n_inputs = graph.n_inputs + len(at)
    kept = {r: x for r, x in moved.constants.items() if r >= n_inputs}
    return replace(moved, n_inputs=n_inputs, constants=kept)


def _size_renumbered(e: SizeExpr, number: dict[int, int]) -> SizeExpr:
    if e.op != "dim":
        return e
    return replace(e, a=number[e.a]) if e.a in number else SizeExpr("const", e.value, 0, e.value)


def _derive(
    mode: str, executable: _core.Executable, likes: list[Tensor], need: str
) -> tuple[Graph, Any, Any, int]:
    return pullback(executable, likes, need) if mode == "pullback" else pushforward(executable, likes, need)


_core.set_graph_hooks(_derive, str(Path(__file__).resolve().parent.parent))
