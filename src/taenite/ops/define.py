"""The decorators that turn a documented signature into a native function and its record.

A public function is written as a ``def`` with a docstring and no body. The decorator registers the record
of the primitive of the same name and returns a native function, so that a call enters no Python frame.
The ``def`` remains for its signature and its docstring, and takes the calls that the native one does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import update_wrapper
from typing import Any, TypeVar, cast

import numpy

from taenite import _core
from taenite.primitive import ErrorInput, NotDifferentiable, Record, Rule, Sample

F = TypeVar("F", bound=Callable[..., Any])
Domain = tuple[float, float]


def elementwise(
    *,
    derivative: Rule | tuple[Rule | None, ...] | NotDifferentiable | None = None,
    adjoint: Rule | tuple[Rule | None, ...] | None = None,
    vjp: Rule | None = None,
    reference: Callable[..., Any],
    domain: Domain | tuple[Domain, ...] = (-2.0, 2.0),
    kinds: str = "fc",
) -> Callable[[F], F]:
    """``domain``: where samples of each operand lie; ``kinds``: the kinds of dtypes that are sampled."""

    def decorate(definition: F) -> F:
        name = definition.__name__
        record = Record(
            name,
            derivative=derivative,  # type: ignore[arg-type]
            adjoint=adjoint,
            vjp=vjp,
            reference=reference,
            samples=lambda: samples(record.primitive.n_in, domain, kinds),
            errors=lambda: errors(function, record.primitive.n_in, kinds),
        )
        function = native(record, definition)
        return function

    return decorate


def native(record: Record, definition: F, *, reduces: bool = False) -> F:
    """The native function of a primitive, wearing the name, signature and docstring of ``definition``."""
    function: Any = _core.make_function(record.primitive, definition, reduces)
    update_wrapper(function, definition)
    function.record = record
    return cast(F, function)


def points(rng: numpy.random.Generator, shape: tuple[int, ...], domain: Domain, kind: str) -> Any:
    """Random numbers of a kind ('b', 'i', 'f' or 'c') whose real parts lie in a domain."""
    low, high = domain
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind == "i":
        return rng.integers(int(low), int(high) + 1, shape)
    x = rng.uniform(low, high, shape)
    return x + 1j * rng.uniform(0.2, 0.8, shape) if kind == "c" else x


def samples(n_in: int, domain: Domain | tuple[Domain, ...], kinds: str) -> Iterator[Sample]:
    """Operands in their domains: of the same shape, 0-d, empty, broadcast, and of mixed kinds."""
    rng = numpy.random.default_rng(7)
    domains = domain if isinstance(domain[0], tuple) else (domain,) * n_in

    def operands(shapes: Iterable[tuple[int, ...]], kinds: Iterable[str]) -> list[Any]:
        return [points(rng, s, d, k) for s, d, k in zip(shapes, domains, kinds, strict=True)]

    for kind in kinds:
        for shape in [(2, 3), (), (0, 3)]:
            yield Sample(operands([shape] * n_in, kind * n_in))
        if n_in == 2:
            yield Sample(operands([(2, 1), (3,)], kind * 2))
    if n_in == 2 and "f" in kinds and "c" in kinds:
        yield Sample(operands([(2, 3), (3,)], "fc"))
        yield Sample(operands([(2, 1), (2, 3)], "cf"))


def errors(function: Callable[..., Any], n_in: int, kinds: str) -> Iterator[ErrorInput]:
    """What every elementwise function refuses."""
    yield ErrorInput(lambda: function(*["text"] * n_in), TypeError, "dtype must be one of")
    yield ErrorInput(lambda: function(*[1.0] * (n_in + 1)), TypeError, "positional argument")
    if n_in == 2:
        rng = numpy.random.default_rng(7)
        x, y = (points(rng, shape, (1.0, 2.0), kinds[0]) for shape in [(2, 3), (4,)])
        yield ErrorInput(lambda: function(x, y), ValueError, "(2, 3) and (4,) do not broadcast")
