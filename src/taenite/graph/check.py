"""Whether a graph is well formed, and where it is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from taenite import _core
from taenite.graph.ir import ABSENT, Graph, Instruction, Type
from taenite.graph.primitives import PRIMITIVES
from taenite.graph.rewrite import dims_of_sizes
from taenite.graph.show import show_instruction, show_size, show_type
from taenite.primitive import REGISTRY

_ARITHMETIC = ("add", "sub", "mul", "floordiv", "mod")
_AROUND = 2


class Fault(NamedTuple):
    """A rule that does not hold, what was found, and the instruction where (-1: none)."""

    rule: str
    got: str
    at: int = -1


def check(graph: Graph) -> None:
    """Raise ValueError if the graph is not well formed, with the lines around the fault."""
    for fault in _faults(graph):
        raise ValueError(f"graph: {fault.rule}, got {fault.got}.{neighbourhood(graph, fault.at)}")


def neighbourhood(graph: Graph, at: int) -> str:
    """An instruction with the lines before and after it, marked; nothing for -1."""
    if at < 0:
        return ""
    first, last = max(at - _AROUND, 0), min(at + _AROUND + 1, len(graph.instructions))
    lines = (
        f"\n{'->' if k == at else '  '} {k}: {show_instruction(graph, graph.instructions[k])}"
        for k in range(first, last)
    )
    return "".join(lines)


def _faults(graph: Graph) -> Iterator[Fault]:
    yield from _faults_of_sizes(graph)
    yield from _faults_of_constants(graph)
    yield from _faults_of_instructions(graph)
    yield from _faults_of_groups(graph)


# ---- sizes, guards, constants


def _faults_of_sizes(graph: Graph) -> Iterator[Fault]:
    for s, e in enumerate(graph.sizes):
        if e.op == "dim":
            if not 0 <= e.a < len(graph.types):
                yield Fault(f"size {s} must be of one of {len(graph.types)} registers", f"%{e.a}")
            elif not 0 <= e.b < graph.types[e.a].ndim:
                yield Fault(f"size {s} must be of an axis of %{e.a}", f"axis {e.b}")
        elif e.op in _ARITHMETIC:
            if not (0 <= e.a < s and 0 <= e.b < s):
                yield Fault(f"size {s} must be computed from sizes before it", f"{e.a} and {e.b}")
        elif e.op != "const":
            yield Fault(f"size {s} must be const, dim or one of {', '.join(_ARITHMETIC)}", e.op)
    for guard in graph.guards:
        for s in (guard.lhs, guard.rhs):
            if not 0 <= s < len(graph.sizes):
                yield Fault(f"a guard must compare two of {len(graph.sizes)} sizes", f"size {s}")


def _faults_of_constants(graph: Graph) -> Iterator[Fault]:
    for r, value in graph.constants.items():
        if not graph.n_inputs <= r < len(graph.types):
            yield Fault(f"a constant must be a register from %{graph.n_inputs} on that exists", f"%{r}")
        elif (found := Type(value.dtype, _core.hint_shape(value))) != graph.types[r]:
            yield Fault(f"the constant %{r} must be {show_type(graph.types[r])}", show_type(found))


# ---- instructions


def _faults_of_instructions(graph: Graph) -> Iterator[Fault]:
    written = {*range(graph.n_inputs), *graph.constants}
    shaped = set(written)  # what is not demanded has a shape all the same
    dims = dims_of_sizes(graph)
    for at, i in enumerate(graph.instructions):
        yield from _faults_of_call(graph, i, at)
        yield from _faults_of_reading(graph, i, at, written, shaped, dims)
        for r in i.outputs:
            if not 0 <= r < len(graph.types):
                yield Fault(f"registers must be below {len(graph.types)}", f"%{r} as an output", at)
            if r in shaped:
                yield Fault("a register must be written once", f"%{r} again", at)
            shaped.add(r)
        written.update(i.demanded)
        yield from _faults_of_types(graph, i, at)
    for r in graph.outputs:
        if r != ABSENT and r not in written:
            yield Fault("an output must be written", f"%{r}, which is not", len(graph.instructions) - 1)
    for guard in graph.guards:
        for r in dims[guard.lhs] | dims[guard.rhs]:
            if r not in shaped:
                yield Fault("a guard must compare sizes of registers that are written", f"%{r}")


def _faults_of_call(graph: Graph, i: Instruction, at: int) -> Iterator[Fault]:
    """Is it a call of a primitive as that is?"""
    primitive = PRIMITIVES.get(i.primitive)
    if primitive is None:
        yield Fault("an instruction must call a primitive", repr(i.primitive), at)
        return
    if primitive.n_in not in (-1, len(i.inputs)):
        yield Fault(f"{i.primitive} takes {primitive.n_in} operands", str(len(i.inputs)), at)
    record = REGISTRY.get(i.primitive)
    if record and len(record.attrs) != len(i.attrs):
        yield Fault(f"{i.primitive} takes the attributes {record.attrs}", str(i.attrs), at)
    if len(i.outputs) != primitive.n_out:
        yield Fault(f"{i.primitive} has {primitive.n_out} outputs", str(len(i.outputs)), at)
    if i.mask < 0 or i.mask >> primitive.n_out:
        yield Fault(f"a mask must demand outputs of {primitive.n_out}", bin(i.mask), at)
    for _, branch in i.branches:
        for fault in _faults(branch):
            yield Fault(f"in a branch, {fault.rule}", fault.got + "." + neighbourhood(branch, fault.at), at)
    for s in i.sizes:
        if not 0 <= s < len(graph.sizes):
            yield Fault(f"sizes must be below {len(graph.sizes)}", str(s), at)


def _faults_of_reading(
    graph: Graph, i: Instruction, at: int, written: set[int], shaped: set[int], dims: list[frozenset[int]]
) -> Iterator[Fault]:
    shape_only = PRIMITIVES[i.primitive].shape_only
    for k, r in enumerate(i.inputs):
        if not 0 <= r < len(graph.types):
            yield Fault(f"registers must be below {len(graph.types)}", f"%{r} as an operand", at)
        if r not in (shaped if shape_only >> k & 1 else written):
            yield Fault("a register must be written before it is read", f"%{r}", at)
    for s in i.sizes:
        for r in dims[s] - shaped:
            rule = "a register must be written before its shape is read"
            yield Fault(rule, f"%{r} in {show_size(graph, s)}", at)


def _faults_of_types(graph: Graph, i: Instruction, at: int) -> Iterator[Fault]:
    """Inference, run again."""
    operands = [(graph.types[r].dtype, graph.types[r].shape) for r in i.inputs]
    sizes = tuple(graph.sizes[s].value for s in i.sizes)
    try:
        inferred = PRIMITIVES[i.primitive].infer(operands, i.attrs, sizes, i.mask)
    except (TypeError, ValueError, IndexError) as error:
        yield Fault("an instruction must accept its operands", str(error).rstrip("."), at)
        return
    for r, (dtype, shape) in zip(i.outputs, inferred, strict=True):
        type = graph.types[r]
        if (type.dtype, type.shape) != (dtype, shape):
            yield Fault(f"%{r} must be {dtype}{list(shape)} by inference", show_type(type), at)


# ---- groups


def _faults_of_groups(graph: Graph) -> Iterator[Fault]:
    end = 0
    for first, last in graph.groups:
        if not end <= first < last <= len(graph.instructions):
            rule = "groups must be disjoint increasing ranges of the instructions"
            yield Fault(rule, f"({first}, {last}) after {end} of {len(graph.instructions)}")
        end = last
