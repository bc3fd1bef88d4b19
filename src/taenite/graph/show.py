"""A graph as text for people, and for Graphviz."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import ALL
from taenite.graph.costs import flops, moved_bytes
from taenite.graph.ir import ABSENT, Graph, Guard, Instruction, Type
from taenite.graph.primitives import PRIMITIVES
from taenite.primitive import REGISTRY

_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%"}
_RELATION = {("eq", True): "==", ("lt", True): "<", ("le", True): "<=",
             ("eq", False): "!=", ("lt", False): ">=", ("le", False): ">"}  # fmt: skip
_ITEMS_SHOWN = 4
_DEEPEST = 6  # nested parts of a size


def show(graph: Graph) -> str:
    """The graph, one instruction per line, with what each costs.

    A line says ``registers: types = primitive(operands; sizes; attributes)  # flops, bytes  file:line``.
    """
    inputs = ", ".join(typed(graph, r) for r in range(graph.n_inputs))
    lines = [f"program({inputs})"]
    lines += [f"  {typed(graph, r)} = {_constant(value)}" for r, value in sorted(graph.constants.items())]
    lines += [f"  guard {show_guard(graph, guard)}" for guard in graph.guards]
    lines += _body(graph)
    lines.append(f"  return {', '.join(_register(r) for r in graph.outputs)}")
    return "\n".join((*lines, *_total(graph)))


def show_type(type: Type) -> str:
    """Such as ``f64[2, 3]``."""
    kind, bits = type.dtype.kind, 8 * type.dtype.itemsize
    name = "bool" if kind == "b" else f"{kind}{bits}"
    return f"{name}[{', '.join(map(str, type.shape))}]"


def show_size(graph: Graph, size: int, depth: int = 0) -> str:
    """The expression of a size, such as ``%0.shape[1]*2``; the innermost parts of a deep one are left out."""
    if not 0 <= size < len(graph.sizes):
        return f"size {size}?"
    e = graph.sizes[size]
    if e.op == "const":
        return str(e.a)
    if e.op == "dim":
        return f"%{e.a}.shape[{e.b}]"
    if not (e.a < size and e.b < size):
        return f"{e.op}(size {e.a}, size {e.b})?"
    if depth == _DEEPEST:
        return "(...)"
    text = f"{show_size(graph, e.a, depth + 1)}{_INFIX.get(e.op, e.op)}{show_size(graph, e.b, depth + 1)}"
    return f"({text})" if depth else text


def show_guard(graph: Graph, guard: Guard) -> str:
    """What has to be true of the sizes."""
    relation = _RELATION.get((guard.relation, guard.holds), guard.relation)
    return f"{show_size(graph, guard.lhs)} {relation} {show_size(graph, guard.rhs)}"


def show_instruction(graph: Graph, i: Instruction) -> str:
    """The line of an instruction without what it costs."""
    outputs = ", ".join(typed(graph, r) if i.mask >> j & 1 else "_" for j, r in enumerate(i.outputs))
    arguments = [", ".join(map(_register, i.inputs))]
    if i.sizes:
        arguments.append("sizes=(" + ", ".join(show_size(graph, s) for s in i.sizes) + ")")
    arguments += [", ".join(f"{name}={value}" for name, value in named_attrs(i))] if i.attrs else []
    return f"{outputs}{' = ' if outputs else ''}{i.primitive}({'; '.join(arguments).removeprefix('; ')})"


def named_attrs(i: Instruction) -> list[tuple[str, str]]:
    """Names and values of the static attributes; a dtype by its name."""
    record = REGISTRY.get(i.primitive)
    known = record.attrs if record else ()
    names = known if len(known) == len(i.attrs) else [f"attr{k}" for k in range(len(i.attrs))]
    return [(name, _attr(name, value)) for name, value in zip(names, i.attrs, strict=True)]


def typed(graph: Graph, register: int) -> str:
    """A register with its type."""
    known = 0 <= register < len(graph.types)
    return f"{_register(register)}: {show_type(graph.types[register]) if known else '?'}"


def costs(graph: Graph, i: Instruction) -> tuple[int, int]:
    """Arithmetic operations and bytes moved."""
    return flops(i, graph.types), moved_bytes(i, graph.types)


def _attr(name: str, value: Any) -> str:
    return ALL[value].name if name == "dtype" else str(value).replace(" ", "")


def _register(r: int) -> str:
    return "zero" if r == ABSENT else f"%{r}"


def _constant(value: Tensor) -> str:
    small = math.prod(_core.hint_shape(value)) <= _ITEMS_SHOWN
    return str(value.tolist()) if small and not _core.is_wrapped(value) else "constant"


def _body(graph: Graph) -> Iterator[str]:
    """The instructions, those of a group indented under its line."""
    starts = dict(graph.groups)
    end = 0
    for k, i in enumerate(graph.instructions):
        if k in starts:
            yield "  group:"
            end = starts[k]
        line = ("    " if k < end else "  ") + show_instruction(graph, i)
        note = "  ".join(part for part in (_cost(*costs(graph, i)), i.source) if part)
        yield f"{line}  # {note}" if note else line
        for name, (_, branch) in zip(("true", "false"), i.branches, strict=False):
            yield from (f"    {part}" for part in show(branch).replace("program", name, 1).splitlines())


def _cost(flops: int, bytes: int) -> str:
    parts = [quantity(flops, 1000, ("FLOP", "kFLOP", "MFLOP", "GFLOP"))] if flops else []
    parts += [quantity(bytes, 1024, ("B", "KiB", "MiB", "GiB"))] if bytes else []
    return ", ".join(parts)


def _total(graph: Graph) -> list[str]:
    each = [costs(graph, i) for i in graph.instructions if i.primitive in PRIMITIVES]
    total = _cost(sum(f for f, _ in each), sum(b for _, b in each))
    return [f"# {len(each)} instructions: {total}"] if total else []


def quantity(n: float, step: int, units: tuple[str, ...]) -> str:
    """A number with three digits and the unit that fits."""
    for unit in units[:-1]:
        if n < 999.5:
            return f"{n:.3g} {unit}"
        n /= step
    return f"{n:.3g} {units[-1]}"


# ---- Graphviz


def to_dot(graph: Graph) -> str:
    """The graph in the language of Graphviz: ``dot -Tsvg`` draws it."""
    lines = ["digraph program {", '  node [shape=box, fontname="monospace"];']
    lines += [_node(f"r{r}", typed(graph, r), "ellipse") for r in range(graph.n_inputs)]
    lines += [_node(f"r{r}", typed(graph, r), "note") for r in sorted(graph.constants)]
    lines += _clusters(graph)
    lines += _edges(graph)
    return "\n".join([*lines, "}"])


def _node(name: str, label: str, shape: str = "box") -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'  {name} [label="{escaped}", shape={shape}];'


def _clusters(graph: Graph) -> Iterator[str]:
    """A node for each instruction, those of a group in a frame."""
    starts, ends = {first for first, _ in graph.groups}, {last - 1 for _, last in graph.groups}
    for k, i in enumerate(graph.instructions):
        if k in starts:
            yield f'  subgraph cluster_{k} {{ label="group";'
        attrs = ", ".join(f"{name}={value}" for name, value in named_attrs(i))
        yield _node(f"i{k}", f"{i.primitive}({attrs})")
        if k in ends:
            yield "  }"


def _edges(graph: Graph) -> Iterator[str]:
    origin = {r: f"r{r}" for r in (*range(graph.n_inputs), *graph.constants)}
    for k, i in enumerate(graph.instructions):
        for r in i.inputs:
            yield f'  {origin.get(r, f"r{r}")} -> i{k} [label="{typed(graph, r)}"];'
        origin |= dict.fromkeys(i.outputs, f"i{k}")
    for j, r in enumerate(graph.outputs):
        if r != ABSENT:
            yield f'  {origin.get(r, f"r{r}")} -> out{j} [label="{typed(graph, r)}"];'
            yield _node(f"out{j}", f"output {j}", "ellipse")
