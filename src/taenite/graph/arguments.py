"""Arguments of compiled functions: tensors that programs read, and the rest, which they are made for."""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from taenite import _core
from taenite._core import Tensor
from taenite.ops.convert import asarray
from taenite.tree import flatten, unflatten


class Arguments(NamedTuple):
    """Arguments taken apart. Equal keys mean that they differ in their tensors only."""

    operands: list[Tensor]
    leaves: tuple[Any, ...]
    static: dict[str, Any]
    key: Key


class Key(NamedTuple):
    """What a program is made for."""

    structure: Any
    places: tuple[int, ...]
    """Of operands among the leaves."""
    static: tuple[str, ...]
    constants: tuple[Any, ...]


class Parameters(NamedTuple):
    """Those of a function, as far as its arguments must be told apart."""

    name: str
    static: tuple[str, ...]
    """Names of parameters whose arguments programs are made for, whatever they are."""
    signature: inspect.Signature | None
    """Where some are static: they may be given by position too."""

    @classmethod
    def of(cls, f: Callable[..., Any], static: tuple[str, ...]) -> Parameters:
        if not static:
            return cls(name_of(f), (), None)
        known = inspect.signature(f).parameters
        for name in static:
            if name not in known:
                raise ValueError(
                    f"compile: static_argnames must name parameters of {name_of(f)}, got {name!r}; "
                    f"it has {', '.join(known)}."
                )
        bare = [p.replace(annotation=inspect.Parameter.empty) for p in known.values()]
        return cls(name_of(f), static, inspect.Signature(bare))

    def take_apart(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        if self.signature is not None:
            args, kwargs = (), dict(self.signature.bind(*args, **kwargs).arguments)
        static = {name: kwargs[name] for name in self.static if name in kwargs}
        tree = (args, {name: value for name, value in kwargs.items() if name not in static})
        leaves, structure = flatten(tree)
        places = tuple(i for i, leaf in enumerate(leaves) if _is_operand(leaf))
        operands = _as_operands([leaves[i] for i in places])
        for i in places:
            leaves[i] = None
        key = Key(structure, places, tuple(static), tuple(map(_exact, (*leaves, *static.values()))))
        try:
            hash(key)
        except TypeError as error:
            raise TypeError(
                f"compile: {self.name} got an argument that is neither a tensor nor hashable ({error})."
            ) from None
        return Arguments(operands, tuple(leaves), static, key)

    def put_together(self, taken: Arguments, operands: Sequence[Tensor]) -> tuple[Any, Any]:
        """Positional and named arguments, with these operands."""
        leaves = list(taken.leaves)
        for i, x in zip(taken.key.places, operands, strict=True):
            leaves[i] = x
        args, kwargs = unflatten(taken.key.structure, leaves)
        kwargs = {**kwargs, **taken.static}
        if self.signature is None:
            return args, kwargs
        in_order = ((name, kwargs[name]) for name in self.signature.parameters if name in kwargs)
        bound = inspect.BoundArguments(self.signature, OrderedDict(in_order))
        return bound.args, bound.kwargs


def name_of(f: Callable[..., Any]) -> str:
    """What to call a function in a message."""
    return getattr(f, "__name__", type(f).__name__)


def only_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether native code may answer calls with such arguments."""
    return not kwargs and all(isinstance(x, Tensor) for x in args)


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
