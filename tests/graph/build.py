"""Graphs by hand, and a reference that runs them one instruction at a time."""

from __future__ import annotations

from typing import Any

import numpy

import taenite as tn
from taenite import _core
from taenite.graph.check import check
from taenite.graph.ir import Graph, Guard, Instruction, SizeExpr, Type
from taenite.graph.primitives import PRIMITIVES
from taenite.primitive import REGISTRY


class Builder:
    """Registers are written in order; types come from inference."""

    def __init__(self) -> None:
        self.types: list[Type] = []
        self.n_inputs = 0
        self.instructions: list[Instruction] = []
        self.constants: dict[int, tn.Tensor] = {}
        self.sizes: list[SizeExpr] = []
        self.guards: list[Guard] = []

    def input(self, *shape: int, dtype: Any = tn.float64) -> int:
        assert len(self.types) == self.n_inputs, "inputs come first"
        self.n_inputs += 1
        return self._register(dtype, shape)

    def constant(self, value: Any, dtype: Any = tn.float64) -> int:
        tensor = value if isinstance(value, tn.Tensor) else tn.asarray(value, dtype=dtype)
        r = self._register(tensor.dtype, tensor.shape)
        self.constants[r] = tensor
        return r

    def call(self, name: str, *inputs: int, sizes: Any = (), mask: int = -1, source: str = "", **attrs: Any):
        """One register, or a tuple of them; attributes by name."""
        primitive = PRIMITIVES[name]
        given = tuple(attrs[a] for a in (REGISTRY[name].attrs if name in REGISTRY else ()))
        mask = (1 << primitive.n_out) - 1 & ~primitive.hidden if mask < 0 else mask
        operands = [(self.types[r].dtype, self.types[r].shape) for r in inputs]
        values = tuple(self.sizes[s].value for s in sizes)
        outputs = tuple(self._register(*o) for o in primitive.infer(operands, given, values, mask))
        self.instructions.append(Instruction(name, given, inputs, tuple(sizes), outputs, mask, source))
        return outputs[0] if primitive.n_out == 1 else outputs

    def dot(
        self, a: int, b: int, contract_a: Any, contract_b: Any, batch_a: Any = (), batch_b: Any = (), **more
    ):
        axes = {"contract_a": contract_a, "contract_b": contract_b, "batch_a": batch_a, "batch_b": batch_b}
        return self.call("dot_general", a, b, **{"conj_a": 0, "conj_b": 0, **axes, **more})

    def size(self, value: int) -> int:
        return self._size("const", value, 0, value)

    def dim(self, register: int, axis: int) -> int:
        return self._size("dim", register, axis, self.types[register].shape[axis])

    def times(self, a: int, b: int) -> int:
        return self._size("mul", a, b, self.sizes[a].value * self.sizes[b].value)

    def dims(self, register: int) -> tuple[int, ...]:
        return tuple(self.dim(register, axis) for axis in range(self.types[register].ndim))

    def guard(self, relation: str, lhs: int, rhs: int, holds: bool = True) -> None:
        self.guards.append(Guard(relation, lhs, rhs, holds))

    def graph(self, *outputs: int, groups: Any = ()) -> Graph:
        """The graph, which is well formed unless groups are given."""
        graph = Graph(
            tuple(self.types), self.n_inputs, tuple(self.instructions), outputs, self.constants,
            tuple(self.sizes), tuple(self.guards), tuple(groups),
        )  # fmt: skip
        if not groups:
            check(graph)
        return graph

    def _register(self, dtype: Any, shape: Any) -> int:
        self.types.append(Type(dtype, tuple(shape)))
        return len(self.types) - 1

    def _size(self, op: str, a: int, b: int, value: int) -> int:
        self.sizes.append(SizeExpr(op, a, b, value))
        return len(self.sizes) - 1


def run(graph: Graph, *inputs: Any) -> list[Any]:
    """The outputs as NumPy arrays, None where one is zero."""
    registers = dict(enumerate(map(tn.asarray, inputs))) | dict(graph.constants)
    shapes = {r: t.shape for r, t in registers.items()}
    for i in graph.instructions:
        sizes = tuple(_size(graph, s, shapes) for s in i.sizes)
        operands = [registers.get(r) for r in i.inputs]
        types = [(graph.types[r].dtype, shapes[r]) for r in i.inputs]
        inferred = PRIMITIVES[i.primitive].infer(types, i.attrs, sizes, i.mask)
        shapes |= {r: shape for r, (_, shape) in zip(i.outputs, inferred, strict=True)}
        results = _core.bind(PRIMITIVES[i.primitive], tuple(operands), i.attrs, sizes, i.mask)
        results = (results,) if PRIMITIVES[i.primitive].n_out == 1 else results
        registers |= {r: t for r, t in zip(i.outputs, results, strict=True) if t is not None}
    return [None if r < 0 else registers[r].numpy() for r in graph.outputs]


def _size(graph: Graph, s: int, shapes: dict[int, tuple[int, ...]]) -> int:
    e = graph.sizes[s]
    if e.op == "const":
        return e.a
    if e.op == "dim":
        return shapes[e.a][e.b]
    a, b = _size(graph, e.a, shapes), _size(graph, e.b, shapes)
    return {"add": a + b, "sub": a - b, "mul": a * b, "floordiv": a // max(b, 1), "mod": a % max(b, 1)}[e.op]


def names(graph: Graph) -> list[str]:
    return [i.primitive for i in graph.instructions]


def apply(one: Any, graph: Graph) -> Graph:
    """A pass, whose result is checked."""
    after = one.run(graph)
    check(after)
    return after


def random(graph: Graph, seed: int = 0) -> list[numpy.ndarray]:
    """Operands for a graph."""
    rng = numpy.random.default_rng(seed)
    arrays = []
    for type in graph.types[: graph.n_inputs]:
        x = rng.normal(size=type.shape)
        x = x + 1j * rng.normal(size=type.shape) if type.dtype.kind == "c" else x
        arrays.append(x.astype(str(type.dtype)))
    return arrays


def assert_same(before: Graph, after: Graph, rtol: float = 0) -> None:
    """That both compute the same, of random operands."""
    inputs = random(before)
    for x, y in zip(run(before, *inputs), run(after, *inputs), strict=True):
        numpy.testing.assert_allclose(y, x, rtol=rtol, atol=rtol)
