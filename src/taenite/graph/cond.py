"""``cond``: one of two computations, chosen by a value that is known only when the program runs.

In a trace both sides are traced, each into a graph of its own with the values that it closes over as further
operands, and become branches: numbered executables, one for each set of shapes. The primitive ``cond`` names
two of them in its attributes, so that rules are cached by what is chosen between. Its derivative is another
``cond``, between the pullbacks of both sides, which compute again what they need: only the side that is taken
runs, forward and backward.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.graph import derive
from taenite.graph.ir import Graph, Type
from taenite.graph.passes import FOR_CALLERS, optimize
from taenite.graph.show import show_type
from taenite.graph.trace import as_output, tracing
from taenite.ops.convert import asarray
from taenite.ops.creation import zeros_like
from taenite.primitive import Decomposition, ErrorInput
from taenite.tree import flatten, paths, unflatten

MOST_OUTPUTS = 6
"""Of one call of the primitive."""
MOST_OPERANDS = 31
"""Beside ``pred``: which of them need a derivative are the bits of a word."""

LARGEST_CONSTANT = 8
"""Elements of a tensor that is a part of a branch."""

atexit.register(_core.forget_branches)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """``true_fn(*operands)`` if ``pred`` holds, else ``false_fn(*operands)``; the other one is not run.

    In a compiled function both are traced, and the program runs the one that ``pred`` chooses; so does its
    derivative, of every order. What the other one would raise, or its NaN, never appears. Both may close over
    values of the function around them, and must return trees of the same structure, dtypes and shapes, of at
    most 6 tensors. What does not depend on a traced value is computed while tracing, as everywhere.

    Parameters
    ----------
    pred
        A bool, or a bool tensor of one element.
    operands
        Trees of tensors; leaves that are not tensors are passed on as they are.

    Raises
    ------
    TypeError
        ``pred`` is not a bool; the functions return other structures or dtypes, or no tensors.
    ValueError
        ``pred`` has several elements; the functions return other shapes, or more than 6 tensors.

    >>> @tn.compile
    ... def safe_log(x):
    ...     return tn.cond((x > 0).all(), lambda x: tn.log(x).sum(), lambda x: 0 * x.sum(), x)
    >>> safe_log(tn.asarray([1.0, 1.0])).item(), safe_log(tn.asarray([-1.0, 1.0])).item()
    (0.0, 0.0)
    >>> tn.grad(safe_log)(tn.asarray([-1.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    _require_pred(pred)
    if not (isinstance(pred, Tensor) and _core.is_traced(pred)):
        return true_fn(*operands) if pred else false_fn(*operands)
    leaves, structure = flatten(operands)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor | numpy.ndarray | numpy.generic)]
    tensors = [asarray(leaves[i]) for i in places]

    def arguments(traced: Sequence[Tensor]) -> Any:
        given = dict(zip(places, traced, strict=True))
        return unflatten(structure, [given.get(i, leaf) for i, leaf in enumerate(leaves)])

    sides = [_side(f, name, tensors, arguments) for f, name in ((true_fn, "true_fn"), (false_fn, "false_fn"))]
    _require_alike(*sides)
    return unflatten(sides[0].structure, _call(pred, tensors, sides))


def _require_pred(pred: Any) -> None:
    if isinstance(pred, bool | numpy.bool_):
        return
    if not isinstance(pred, Tensor):
        raise TypeError(f"cond: pred must be a bool or a bool tensor, got {type(pred).__name__}.")
    if pred.dtype.kind != "b":
        raise TypeError(f"cond: pred must be of dtype bool, got {pred.dtype}.")
    shape = _core.hint_shape(pred)
    if any(n != 1 for n in shape):
        raise ValueError(f"cond: pred must have one element, got shape {shape}; see all and any.")


# ---- both sides, traced


class _Side(NamedTuple):
    """One of the functions as a graph, with the tree that it returns."""

    name: str
    graph: Graph
    structure: Any
    paths: list[str]

    @property
    def types(self) -> list[Type]:
        return [self.graph.types[r] for r in self.graph.outputs]


def _side(f: Callable[..., Any], name: str, tensors: list[Tensor], arguments: Callable[..., Any]) -> _Side:
    with tracing(tensors) as tracer:
        result = f(*arguments(tracer.inputs))
        outputs, structure = flatten(result)
        graph = tracer.graph([as_output(y, f"cond: {name}") for y in outputs])
    return _Side(name, graph, structure, paths(result))


def _require_alike(yes: _Side, no: _Side) -> None:
    if yes.structure != no.structure:
        raise TypeError(
            f"cond: true_fn and false_fn must return the same structure, got {yes.structure} "
            f"and {no.structure}."
        )
    if len(yes.types) > MOST_OUTPUTS:
        raise ValueError(f"cond: a branch returns at most {MOST_OUTPUTS} tensors, got {len(yes.types)}.")
    for path, a, b in zip(yes.paths, yes.types, no.types, strict=True):
        if a != b:
            raise (ValueError if a.dtype is b.dtype else TypeError)(
                "cond: true_fn and false_fn must return the same dtypes and shapes, "
                f"got {show_type(a)} and {show_type(b)}{' for output ' + path if path else ''}."
            )


def _call(pred: Tensor, tensors: list[Tensor], sides: list[_Side]) -> list[Tensor]:
    closed_over: list[Tensor] = []
    for side in sides:
        for x in _closed_over(side.graph):
            if not any(_core.is_same(x, known) for known in closed_over):
                closed_over.append(x)
    operands = (*tensors, *closed_over)
    _require_few(len(operands))
    graphs = [derive.with_captured_as_inputs(side.graph, closed_over) for side in sides]
    numbers = [_core.add_branch(_executable(graph)) for graph in graphs]
    return _bind(pred, operands, numbers, len(sides[0].types))


def _closed_over(graph: Graph) -> list[Tensor]:
    """What is an operand too: values of transforms, and data, which branches do not keep alive."""
    data = [x for x in graph.constants.values() if not _core.is_traced(x) and x.size > LARGEST_CONSTANT]
    return [*derive.captured(graph), *data]


def _require_few(n: int) -> None:
    if n > MOST_OPERANDS:
        raise ValueError(
            f"cond: operands, closed-over values and cotangents must be at most {MOST_OPERANDS}, got {n}; "
            "stack some of them."
        )


def _executable(graph: Graph) -> _core.Executable:
    return _core.executable(graph, optimize(graph, FOR_CALLERS))


def _bind(pred: Tensor, operands: Sequence[Tensor], numbers: Sequence[int], n_out: int) -> list[Tensor]:
    yes, no = numbers
    return list(cond_(pred, *operands, true=yes, false=no, mask=(1 << n_out) - 1)[:n_out])


# ---- the derivative


class _Pullback(NamedTuple):
    """Of a branch, at any shapes: from operands and the cotangents of outputs in ``live`` to the gradients of
    operands in ``need`` (1 or 0 for each)."""

    branch: int
    need: str
    live: tuple[bool, ...]

    def trace(self, likes: Sequence[Tensor]) -> tuple[Graph, list[bool]]:
        """The graph for such operands and cotangents, and which of the gradients are identically zero."""
        n = len(self.need)
        executable = _core.branch_like(self.branch, list(likes[:n]))
        results = derive.outputs_like(executable, list(likes[:n]))
        with tracing(likes) as tracer:
            operands, arriving = tracer.inputs[:n], iter(tracer.inputs[n:])
            cotangents = [next(arriving) if live else None for live in self.live]
            inexact = [ct for y, ct in zip(results, cotangents, strict=False) if derive.is_inexact(y)]
            _, found = derive.pull(executable, operands, inexact, self.need)
            needed = [(x, g) for x, g, n in zip(operands, found, self.need, strict=True) if n == "1"]
            graph = tracer.graph([zeros_like(x) if g is None else g for x, g in needed])
        return graph, [g is None for _, g in needed]

    def variant(self, chosen: Sequence[int], reads: Sequence[bool], likes: list[Tensor]) -> _core.Executable:
        """The chosen gradients at other shapes, from no more than was read at the first."""
        made = _gradients(self.trace(likes)[0], chosen)
        for i, may in enumerate(reads):
            if made.reads(i) and not may:
                raise NotImplementedError(f"cond: a derivative reads operand {i} at certain sizes only.")
        return made


def _gradients(graph: Graph, chosen: Sequence[int]) -> _core.Executable:
    return _executable(replace(graph, outputs=tuple(graph.outputs[k] for k in chosen)))


def _cond_vjp(
    g: tuple[Tensor | None, ...],
    x: tuple[Tensor, ...],
    y: Any,
    *,
    need: Any,
    sizes: Any,
    true: int,
    false: int,
) -> Iterator[Tensor | None]:
    """Between the pullbacks. What they read the shape of only is not kept: zeros of that shape stand for it.
    So a cotangent is no operand of the transposed call, which makes that linear."""
    pred, *operands = x
    given = [*operands, *(ct for ct in g if ct is not None)]
    _require_few(len(given))
    bits, live = "".join("01"[n] for n in need[1:]), tuple(ct is not None for ct in g)
    sides = [_Pullback(branch, bits, live) for branch in (true, false)]
    traced = [side.trace(given) for side in sides]
    some = [k for k, zero in enumerate(zip(*(zeros for _, zeros in traced), strict=True)) if not all(zero)]
    gradients: dict[int, Tensor] = {}
    for first in range(0, len(some), MOST_OUTPUTS):
        chosen = some[first : first + MOST_OUTPUTS]
        made = [_gradients(graph, chosen) for graph, _ in traced]
        reads = [any(e.reads(i) for e in made) for i in range(len(given))]
        numbers = [
            _core.add_branch(e, partial(side.variant, chosen, reads))
            for e, side in zip(made, sides, strict=True)
        ]
        values = [v if read else _core.zeros_like(v) for v, read in zip(given, reads, strict=True)]
        gradients.update(zip(chosen, _bind(pred, values, numbers, len(chosen)), strict=True))
    position = count()
    yield None
    yield from (gradients.get(next(position)) if n else None for n in need[1:])


cond_ = Decomposition(
    "cond",
    attrs=("true", "false"),
    vjp=_cond_vjp,
    errors=lambda: [ErrorInput(lambda: cond(1.0, abs, abs, 0.0), TypeError, "pred must be a bool")],
)
