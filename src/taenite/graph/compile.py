"""``compile``: trace a function once for its dtypes and ranks, and run it natively at any size."""

from __future__ import annotations

import functools
import gc
import inspect
import traceback
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import int64
from taenite.errors import TracingError
from taenite.graph import derive
from taenite.graph.passes import FOR_CALLERS, optimize
from taenite.graph.program import PreparedCall, Program
from taenite.graph.trace import tracing
from taenite.ops.convert import asarray
from taenite.ops.creation import size_tensor
from taenite.tree import flatten, unflatten

MOST_STRUCTURES = 256
"""Structures of arguments that one compiled function remembers; each has up to 8 programs."""


class Stats(NamedTuple):
    """What a compiled function did: programs that it holds, traces made, calls that found a program."""

    programs: int
    traces: int
    hits: int


class _Arguments(NamedTuple):
    """Arguments taken apart: tensors that the program reads, and everything else, which it is made for."""

    operands: list[Tensor]
    places: tuple[int, ...]
    leaves: tuple[Any, ...]
    structure: Any
    key: Any


class Compiled(_core.CompiledBase):
    """What `compile` returns: call it like the function."""

    def __init__(self, f: Callable[..., Any], static_argnames: Sequence[str] = ()) -> None:
        super().__init__()
        functools.update_wrapper(self, f)
        self._f = f
        self._static = _checked_names(f, static_argnames)
        self._signature = inspect.signature(f) if self._static else None
        self._structures: OrderedDict[Any, _core.Variants] = OrderedDict()
        self._programs: list[weakref.ref[Program]] = []
        self._traces = 0

    @property
    def stats(self) -> Stats:
        """Programs, traces and hits so far.

        >>> double = tn.compile(lambda x: 2 * x)
        >>> double(tn.asarray([1.0])).tolist(), double(tn.asarray([1.0, 2.0])).tolist()
        ([2.0], [2.0, 4.0])
        >>> double.stats
        Stats(programs=1, traces=1, hits=2)
        """
        hits = sum(v.hits for v in self._structures.values())
        return Stats(sum(len(v) for v in self._structures.values()), self._traces, hits)

    def clear(self) -> None:
        """Forget all programs."""
        self._structures.clear()
        self._programs.clear()
        self.forget()

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that are held, in the order of their traces."""
        return tuple(p for held in self._programs if (p := held()) is not None)

    def prepare(self, *args: Any, **kwargs: Any) -> PreparedCall:
        """The program for these arguments, as a call that checks shapes only.

        >>> f = tn.compile(lambda x: x @ x)
        >>> call = f.prepare(tn.asarray([[1.0, 2.0], [3.0, 4.0]]))
        >>> call(tn.asarray([[0.0, 1.0], [1.0, 0.0]])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        taken = self._take_apart(args, kwargs)
        program, captured = self._trace(taken)
        program.make_ready()
        positional = not kwargs and all(isinstance(x, Tensor) for x in args)

        def take_apart(*args: Any, **kwargs: Any) -> list[Tensor]:
            given = self._take_apart(args, kwargs)
            if given.key != taken.key:
                raise TypeError(
                    f"{_name(self._f)}: the structure of the arguments, and those that are no tensors, must "
                    "be what the call was prepared for; prepare another call."
                )
            return given.operands

        return PreparedCall(program, taken.operands, captured, take_apart, positional)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {_name(self._f)}>"

    # ---- calls that native code does not answer alone ----

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        taken = self._take_apart(args, kwargs)
        if any(_core.is_traced(x) for x in taken.operands):
            return self._f(*args, **kwargs)
        variants = self._variants_for(taken, args, kwargs)
        found = variants.run(taken.operands)
        if found is not NotImplemented:
            return found
        program, captured = self._trace(taken)
        if any(_core.level_of(x) > 0 for x in captured):
            return self._f(*args, **kwargs)
        self._programs = [held for held in self._programs if held() is not None]
        self._programs.append(weakref.ref(program))
        variants.add(program.executable, taken.operands, captured, program.kind, program.unflatten)
        return variants.run(taken.operands)

    def _variants_for(self, taken: _Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self._structures.get(taken.key)
        if found is None:
            only_tensors = not kwargs and all(isinstance(x, Tensor) for x in args)
            found = self.variants_of(len(args)) if only_tensors else _core.Variants()
            self._structures[taken.key] = found
            if len(self._structures) > MOST_STRUCTURES:
                self._structures.popitem(last=False)
        return found

    def _take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Arguments:
        if self._signature is not None:
            args, kwargs = (), dict(self._signature.bind(*args, **kwargs).arguments)
        static = {name: kwargs[name] for name in self._static if name in kwargs}
        tree = (args, {name: value for name, value in kwargs.items() if name not in static})
        leaves, structure = flatten(tree)
        places = tuple(i for i, leaf in enumerate(leaves) if _is_operand(leaf))
        operands = _as_operands([leaves[i] for i in places])
        for i in places:
            leaves[i] = None
        constants = tuple(map(_exact, (*leaves, *static.values())))
        key = (structure, places, tuple(static), constants)
        try:
            hash(key)
        except TypeError as error:
            raise TypeError(
                f"compile: {_name(self._f)} got an argument that is neither a tensor nor hashable ({error})."
            ) from None
        return _Arguments(operands, places, (*leaves, static), structure, key)

    def _trace(self, taken: _Arguments) -> tuple[Program, list[Tensor]]:
        self._traces += 1
        with tracing(taken.operands) as tracer:
            *leaves, static = taken.leaves
            for i, x in zip(taken.places, tracer.inputs, strict=True):
                leaves[i] = x
            args, kwargs = unflatten(taken.structure, leaves)
            outputs, structure = flatten(self._call(args, {**kwargs, **static}))
            tensors = [_as_output(y, self._f) for y in outputs]
            with _collector_paused():
                graph = tracer.graph(tensors)
                captured = derive.captured(graph)
                graph = derive.with_captured_as_inputs(graph, captured)
                optimized = optimize(graph, FOR_CALLERS)
        native = None if captured else tracer.native
        return Program(_name(self._f), graph, optimized, structure, native), captured

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._signature is not None:
            bound = inspect.BoundArguments(self._signature, OrderedDict(
                (name, kwargs[name]) for name in self._signature.parameters if name in kwargs
            ))  # fmt: skip
            args, kwargs = bound.args, bound.kwargs
        try:
            return self._f(*args, **kwargs)
        except TracingError as error:
            raise TracingError(f"{_where(error, self._f)}{error}{_ADVICE}") from error


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Graphs are many small objects without cycles; collecting between them would only cost time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_ADVICE = (
    " Compiled functions are traced without numbers: choose between values with tn.where, "
    "between computations with tn.cond, and pass what Python must know by static_argnames."
)


def _where(error: TracingError, f: Callable[..., Any]) -> str:
    """The line of the traced function that asked for a number."""
    frames = traceback.extract_tb(error.__traceback__)
    file = inspect.getsourcefile(f) if inspect.isroutine(f) else None
    mine = [frame for frame in frames if frame.filename == file] or frames[-1:]
    return f"{_name(f)}, {mine[-1].filename}:{mine[-1].lineno}: "


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _checked_names(f: Callable[..., Any], names: Sequence[str]) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else tuple(names)
    if names:
        known = inspect.signature(f).parameters
        for name in names:
            if name not in known:
                raise ValueError(
                    f"compile: static_argnames must name parameters of {_name(f)}, got {name!r}; "
                    f"it has {', '.join(known)}."
                )
    return names


def _exact(x: Any) -> Any:
    """What is equal only for equal numbers of equal types: not for 1 and True, or 0.0 and -0.0."""
    if isinstance(x, tuple | frozenset):
        return type(x), type(x)(map(_exact, x)) if type(x) in (tuple, frozenset) else (x, *map(_exact, x))
    return type(x), repr(x) if isinstance(x, float | complex) else x


def _is_operand(leaf: Any) -> bool:
    """Numbers with a fraction are operands; integers, flags and strings are what a program is made for."""
    return isinstance(leaf, Tensor | numpy.ndarray | numpy.generic | float | complex)


def _as_operands(values: list[Any]) -> list[Tensor]:
    """Tensors, with Python's floats in the dtype that arithmetic with the tensors would give them."""
    tensors = [asarray(x) for x in values]
    inexact = [t.dtype for t, x in zip(tensors, values, strict=True)
               if not isinstance(x, float | complex) and t.dtype.kind in "fc"]  # fmt: skip
    if not inexact:
        return tensors
    wide = functools.reduce(_core.promote, inexact)
    out = []
    for t, x in zip(tensors, values, strict=True):
        weak = type(x) is float or (type(x) is complex and wide.kind == "c")
        out.append(t.astype(wide) if weak and t.dtype is not wide else t)
    return out


def _as_output(y: Any, f: Callable[..., Any]) -> Tensor:
    if isinstance(y, _core.Size):
        size: Any = y
        return size_tensor(size, dtype=int64)
    if not isinstance(y, Tensor | numpy.ndarray | numpy.generic | int | float | complex):
        raise TypeError(f"compile: {_name(f)} must return tensors, got {type(y).__name__}.")
    return asarray(y)


def compile(f: Callable[..., Any] | None = None, *, static_argnames: str | Sequence[str] = ()) -> Any:
    """The function, traced once for the dtypes and ranks of its arguments and run as one native program.

    A program serves every size that its guards admit; another is traced where they do not, and up to 8 are
    kept for each structure of arguments. Tensors, NumPy arrays and Python floats are operands; everything
    else (integers, flags, strings, what ``static_argnames`` names) is part of what a program is made for.
    Transforms may be inside and outside: a compiled function of tracked tensors records one node.

    Raises
    ------
    TracingError
        ``f`` asks a traced value for its number.
    TypeError
        An argument is neither a tensor nor hashable, or ``f`` returns something else than tensors.

    >>> g = tn.compile(tn.value_and_grad(lambda x: (x * x).sum()))
    >>> value, gradient = g(tn.asarray([1.0, 2.0]))
    >>> value.item(), gradient.tolist()
    (5.0, [2.0, 4.0])
    """
    if f is None:
        return functools.partial(compile, static_argnames=static_argnames)
    return Compiled(f, (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames))
