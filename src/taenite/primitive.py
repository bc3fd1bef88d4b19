"""The record of a primitive: everything about it that is not a kernel, and the only list of primitives.

A record names a native primitive and its static attributes, and declares its derivative as exactly one of

``derivative=``
    for elementwise operations: ``dy/dx`` as a function of operands and output; a tuple, one for each operand;
``adjoint=``
    for operations that are linear in each operand: the cotangent of an operand as a function of the output's
    cotangent and the operands; a tuple, one for each operand;
``vjp=``
    for everything else: the cotangents of all operands;
``NotDifferentiable("why")``
    as ``derivative=``, where there is none.

Rules are traced once for a key (attributes, dtypes, ranks, which operands need a derivative) and run natively
afterwards, at any size. JVPs are derived by transposing the traced rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from taenite import _core
from taenite._core import Tensor

Rule = Callable[..., Any]
Outputs = TypeVar("Outputs")


@dataclass(frozen=True)
class NotDifferentiable:
    """The primitive has no derivative, and never will: its outputs are constants to every transform."""

    why: str


class Sample:
    """Operands (NumPy arrays), sizes and attributes of one call, for tests and the tables of the docs.

    ``observe`` maps the tuple of outputs to a tuple of tensors that no gauge can change, where the outputs
    themselves are not well defined; ``prepare`` maps the operands to those of the call, where it reads a part
    of them only (one triangle). ``rtol`` is what differences may lose where a sample is ill-conditioned.
    """

    def __init__(
        self,
        operands: Sequence[Any],
        sizes: Sequence[int] = (),
        *,
        prepare: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None,
        observe: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None,
        rtol: float = 1e-7,
        **attrs: Any,
    ) -> None:
        self.operands = tuple(operands)
        self.sizes = tuple(sizes)
        self.prepare = prepare
        self.observe = observe
        self.rtol = rtol
        self.attrs = attrs

    def __repr__(self) -> str:
        shapes = ", ".join(f"{o.dtype}{list(o.shape)}" for o in self.operands)
        return f"Sample({shapes}, sizes={self.sizes}, {self.attrs})"


@dataclass(frozen=True)
class ErrorInput:
    """A call that must raise, with the class and a fragment of the message."""

    call: Callable[[], object]
    error: type[Exception]
    match: str


class AnyRecord(Generic[Outputs]):
    """One primitive. Calling it binds: operands by position, attributes by name."""

    def __init__(
        self,
        name: str,
        *,
        attrs: Sequence[str] = (),
        derivative: Rule | tuple[Rule, ...] | NotDifferentiable | None = None,
        adjoint: Rule | tuple[Rule | None, ...] | None = None,
        vjp: Rule | None = None,
        reference: Callable[..., Any] | None = None,
        samples: Callable[[], Iterable[Sample]] | None = None,
        errors: Callable[[], Iterable[ErrorInput]] | None = None,
    ) -> None:
        declared = [rule for rule in (derivative, adjoint, vjp) if rule is not None]
        if len(declared) != 1:
            raise TypeError(f"Record {name!r}: give exactly one of derivative, adjoint and vjp.")
        if name in REGISTRY:
            raise TypeError(f"Record {name!r}: there is one already.")
        self.name = name
        self.attrs = tuple(attrs)
        self.primitive = _core.primitive(name)
        self.derivative = derivative
        self.adjoint = adjoint
        self.vjp = vjp
        self.reference = reference
        self.samples = samples
        self.errors = errors
        REGISTRY[name] = self

    def __call__(self, *operands: Any, sizes: Sequence[Any] = (), mask: int = -1, **attrs: Any) -> Outputs:
        if len(attrs) != len(self.attrs):
            raise TypeError(f"{self.name}: takes the attributes {self.attrs}, got {tuple(attrs)}.")
        named = tuple([attrs[a] for a in self.attrs])
        outputs: Outputs = _core.bind(self.primitive, operands, named, tuple(sizes), mask)
        return outputs

    def __repr__(self) -> str:
        return f"<primitive {self.name}({', '.join(self.attrs)})>"

    @property
    def differentiable(self) -> bool:
        """Whether any rule is declared."""
        return not isinstance(self.derivative, NotDifferentiable)

    def cotangents(
        self,
        operands: tuple[Tensor, ...],
        outputs: tuple[Tensor, ...],
        cotangents: tuple[Tensor | None, ...],
        sizes: tuple[Any, ...],
        need: tuple[bool, ...],
        attrs: dict[str, Any],
    ) -> Iterator[Tensor | None]:
        """The declared rule, whichever kind it is, applied to one call."""
        if self.vjp is not None:
            yield from self.vjp(cotangents, operands, outputs, need=need, sizes=sizes, **attrs)
            return
        rules: Any = self.derivative if self.derivative is not None else self.adjoint
        if not isinstance(rules, tuple):
            rules = (rules,) * len(operands)
        (g,) = cotangents
        for i, (rule, needed) in enumerate(zip(rules, need, strict=True)):
            if not needed or rule is None:
                yield None
            elif self.derivative is not None:
                yield _times(g, rule(*operands, *outputs, **attrs))
            elif len(self.adjoint_rules) == 1 and len(operands) > 1:
                yield rule(g, *operands, sizes=sizes, operand=i, **attrs)
            else:
                yield rule(g, *operands, sizes=sizes, **attrs)

    @property
    def adjoint_rules(self) -> tuple[Rule | None, ...]:
        """The adjoint as a tuple. One rule for several operands takes their number as ``operand=``."""
        return self.adjoint if isinstance(self.adjoint, tuple) else (self.adjoint,)


REGISTRY: dict[str, AnyRecord[Any]] = {}


class Record(AnyRecord[Tensor]):
    """A primitive with one output.

    >>> from taenite.ops.transcendental import exp
    >>> exp(tn.asarray(0.0)).item()
    1.0
    """


class Decomposition(AnyRecord[tuple[Tensor, ...]]):
    """A primitive with several outputs; ``mask`` says which of them are demanded."""


def _times(g: Any, slope: Any) -> Any:
    """g times the conjugate of a slope, for the inner product Re(conj(a) b)."""
    if isinstance(slope, int | float):
        return g if slope == 1 else -g if slope == -1 else g * slope
    return g * (slope.conj() if slope.dtype.kind == "c" else slope)


def _trace_rule(
    name: str,
    operands: list[Tensor],
    outputs: list[Tensor],
    cotangents: list[Tensor | None],
    attrs: tuple[Any, ...],
    sizes: tuple[Any, ...],
    need: tuple[bool, ...],
) -> list[Tensor | None] | None:
    """What the native engine calls, once for each key, with traced values."""
    record = REGISTRY.get(name)
    if record is None:
        raise NotImplementedError(f"{name}: has no derivative rule.")
    if not record.differentiable:
        return None
    named = dict(zip(record.attrs, attrs, strict=True))
    found = record.cotangents(tuple(operands), tuple(outputs), tuple(cotangents), sizes, need, named)
    return list(found)


NO_GRAD_CEILING: ContextVar[int] = ContextVar("taenite_no_grad", default=-1)

_core.set_autodiff_hooks(_trace_rule, NO_GRAD_CEILING)
