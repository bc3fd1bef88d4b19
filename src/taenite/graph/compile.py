"""``compile``: trace a function once for its dtypes and ranks, and run it natively at any size."""

from __future__ import annotations

import functools
import gc
import inspect
import operator
import sys
import traceback
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from taenite import _core
from taenite._core import Tensor
from taenite.errors import TracingError
from taenite.graph import derive
from taenite.graph.arguments import Arguments, Parameters, name_of, only_tensors
from taenite.graph.passes import FOR_CALLERS, optimize
from taenite.graph.program import PreparedCall, Program
from taenite.graph.trace import as_output, tracing
from taenite.tree import flatten

MOST_STRUCTURES = 256
"""Structures of arguments that one compiled function remembers; each has up to 8 programs."""


class Stats(NamedTuple):
    """What a compiled function did."""

    programs: int
    """That it holds."""
    traces: int
    """Made so far."""
    hits: int
    """Calls that found a program."""
    branches: int
    """Programs of the sides of `cond` that its programs and their derivatives name."""


class Compiled(_core.CompiledBase):
    """What `compile` returns: call it like the function."""

    def __init__(self, f: Callable[..., Any], static_argnames: Sequence[str] = ()) -> None:
        super().__init__()
        functools.update_wrapper(self, f)
        self._f = f
        self._parameters = Parameters.of(f, tuple(static_argnames))
        self._structures: OrderedDict[Any, _core.Variants] = OrderedDict()
        self._programs: list[weakref.ref[Program]] = []
        self._traces = 0

    @property
    def stats(self) -> Stats:
        """What it holds, and what it did so far.

        >>> double = tn.compile(lambda x: 2 * x)
        >>> double(tn.asarray([1.0])).tolist(), double(tn.asarray([1.0, 2.0])).tolist()
        ([2.0], [2.0, 4.0])
        >>> double.stats
        Stats(programs=1, traces=1, hits=2, branches=0)
        """
        hits = sum(v.hits for v in self._structures.values())
        branches = _core.count_branches([p.executable for p in self.programs])
        return Stats(sum(len(v) for v in self._structures.values()), self._traces, hits, branches)

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
        taken = self._parameters.take_apart(args, kwargs)
        program, captured = self._trace(taken)
        return PreparedCall(program, captured, self._parameters, taken.key, only_tensors(args, kwargs))

    def __reduce__(self) -> str | tuple[Any, ...]:
        """A decorated function of a module is found there by its name; of others, the function pickles."""
        name = getattr(self, "__qualname__", "")
        if _found_at(getattr(self, "__module__", None), name) is self:
            return name
        return Compiled, (self._f, self._parameters.static)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self._parameters.name}>"

    # ---- calls that native code does not answer alone ----

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        taken = self._parameters.take_apart(args, kwargs)
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
        types = program.traced.types[: len(taken.operands)]
        variants.add(program.executable, types, captured, program.kind, program.unflatten)
        return variants.run(taken.operands)

    def _variants_for(self, taken: Arguments, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self._structures.get(taken.key)
        if found is None:
            found = self.variants_of(len(args)) if only_tensors(args, kwargs) else _core.Variants()
            self._structures[taken.key] = found
            if len(self._structures) > MOST_STRUCTURES:
                self._structures.popitem(last=False)
        return found

    def _trace(self, taken: Arguments) -> tuple[Program, list[Tensor]]:
        self._traces += 1
        with tracing(taken.operands) as tracer:
            outputs, structure = flatten(self._call(*self._parameters.put_together(taken, tracer.inputs)))
            tensors = [as_output(y, f"compile: {self._parameters.name}") for y in outputs]
            with _collector_paused():
                graph = tracer.graph(tensors)
                captured = derive.captured(graph)
                graph = derive.with_captured_as_inputs(graph, captured)
                optimized = optimize(graph, FOR_CALLERS)
        native = None if captured else tracer.native
        return Program(self._parameters.name, graph, optimized, structure, native), captured

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return self._f(*args, **kwargs)
        except TracingError as error:
            raise TracingError(f"{_where(error, self._f)}{error}{_ADVICE}") from error


def _found_at(module: str | None, name: str) -> Any:
    try:
        return operator.attrgetter(name)(sys.modules[module or "__main__"])
    except (AttributeError, KeyError):
        return None


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
    return f"{name_of(f)}, {mine[-1].filename}:{mine[-1].lineno}: "


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
