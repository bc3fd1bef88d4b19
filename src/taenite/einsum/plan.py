"""A plan: the steps of one einsum, which run on tensors and print themselves.

Steps are views, sums and ``dot_general``, so a plan is differentiable because its parts are, and its gradient
is contracted along the same tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.dtypes import bool_
from taenite.einsum.parse import Equation, Label, sizes_of
from taenite.einsum.path import Path, find_path, kept
from taenite.ops.contraction import contract
from taenite.ops.convert import asarray, promoted
from taenite.ops.parts import diagonal
from taenite.ops.reductions import any as any_axes
from taenite.ops.reductions import sum as sum_axes
from taenite.ops.shape import transpose

Term = tuple[Label, ...]


@dataclass(frozen=True)
class Product:
    """One call of dot_general: positions of the two operands, how their axes are paired, what comes out."""

    operands: tuple[int, int]
    labels: tuple[Term, Term]
    out: Term
    contract: tuple[tuple[int, ...], tuple[int, ...]]
    batch: tuple[tuple[int, ...], tuple[int, ...]]

    def __call__(self, a: Tensor, b: Tensor) -> Tensor:
        return contract(a, b, *self.contract, *self.batch)


@dataclass
class Plan:
    """What ``einsum`` does for an equation and shapes. Call it with tensors; print it."""

    equation: Equation
    sizes: dict[Label, int]
    shapes: tuple[tuple[int, ...], ...]
    path: Path
    prepared: list[Term] = field(default_factory=list)
    steps: list[Product] = field(default_factory=list)
    result: Term = ()

    @property
    def multiplications(self) -> int:
        """Of all products together."""
        return sum(self._cost(step) for step in self.steps)

    @property
    def largest(self) -> int:
        """Elements of the largest tensor that a step makes."""
        return max((self._elements(step.out) for step in self.steps), default=self._elements(self.result))

    def _elements(self, labels: Sequence[Label]) -> int:
        return prod(self.sizes[label] for label in labels)

    def _cost(self, step: Product) -> int:
        return self._elements(tuple(set(step.labels[0]) | set(step.labels[1])))

    def __call__(self, *operands: Any) -> Tensor:
        tensors = promoted(*(asarray(x) for x in operands))
        shapes = tuple(tuple(x.shape) for x in tensors)
        if shapes != self.shapes:
            raise ValueError(f"einsum_plan: the plan is for shapes {self.shapes}, got {shapes}.")
        return self.run(tensors)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the result."""
        return tuple(self.sizes[label] for label in self.equation.output)

    def _prepare(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        return [
            prepare(x, term, wanted, self.sizes)
            for x, term, wanted in zip(tensors, self.equation.inputs, self.prepared, strict=True)
        ]

    def run_into(self, out: Tensor, tensors: Sequence[Tensor], alpha: complex, beta: complex) -> None:
        """The one product of a plan for two operands, into memory that is there."""
        live = self._prepare(tensors)
        (step,) = self.steps
        a, b = (live[i] for i in step.operands)
        target = arrange(out, self.equation.output, step.out)
        _core.contract_into(target, a, b, (*step.contract, *step.batch, 0, 0), alpha, beta)

    def run(self, tensors: Sequence[Tensor]) -> Tensor:
        """The steps, without checks."""
        live = self._prepare(tensors)
        for step in self.steps:
            a, b = (live[i] for i in step.operands)
            for i in sorted(step.operands, reverse=True):
                del live[i]
            live.append(step(a, b))
        return arrange(live[0], self.result, self.equation.output)

    def __str__(self) -> str:
        at_once = self._elements(tuple(self.sizes)) * max(len(self.shapes) - 1, 1)
        lines = [
            f"einsum {self.equation}",
            "  sizes            " + ", ".join(f"{label}={n}" for label, n in self.sizes.items()),
            f"  multiplications  {self.multiplications:.3g} (as one sum: {at_once:.3g})",
            f"  largest result   {self.largest:.3g} elements",
        ]
        for number, step in enumerate(self.steps, 1):
            a, b, out = ("".join(map(str, labels)) for labels in (*step.labels, step.out))
            lines.append(f"  {number:>3}  {f'{a},{b}->{out}':<32} {self._cost(step):>12.3g}  {_kind(step)}")
        return "\n".join(lines)

    __repr__ = __str__


def _kind(step: Product) -> str:
    """What the contraction comes to."""
    free = [
        len(term) - len(c) - len(b) for term, c, b in zip(step.labels, step.contract, step.batch, strict=True)
    ]
    if not step.contract[0]:
        return "multiply"
    name = "matrix product" if all(free) else "matrix-vector product" if any(free) else "dot product"
    return f"{name}, batched" if step.batch[0] else name


def make_plan(equation: Equation, shapes: Sequence[Sequence[int]], strict: bool, optimize: Any) -> Plan:
    """Chooses a path and resolves every step to axes."""
    sizes = sizes_of(equation, shapes, strict)
    prepared = _prepared(equation, shapes, sizes)
    inputs = [frozenset(term) for term in prepared]
    path = find_path(inputs, frozenset(equation.output), sizes, optimize)
    plan = Plan(equation, sizes, tuple(tuple(s) for s in shapes), path, prepared)
    live = list(prepared)
    for positions in path:
        live = _take_step(plan, live, positions)
    plan.result = live[0]
    return plan


def _take_step(plan: Plan, live: list[Term], positions: tuple[int, ...]) -> list[Term]:
    """Adds the products of one path step, two operands at a time, to the plan."""
    wanted = sorted(positions)
    while len(wanted) > 1:
        i, j = wanted[0], wanted[1]
        others = [t for k, t in enumerate(live) if k not in (i, j)]
        product = make_product((i, j), live[i], live[j], others, plan.equation.output)
        plan.steps.append(product)
        live = [*others, product.out]
        wanted = [k - 2 for k in wanted[2:]] if wanted[2:] else []
        wanted.append(len(live) - 1)
    return live


def make_product(at: tuple[int, int], a: Term, b: Term, others: Sequence[Term], output: Term) -> Product:
    """Pairs the axes of two operands. The one whose free label comes first in the output goes first."""
    keep = kept(frozenset(a) | frozenset(b), [frozenset(t) for t in others], frozenset(output))
    first = next((label for label in output if (label in a) != (label in b)), None)
    if first is not None and first in b:
        at, a, b = (at[1], at[0]), b, a
    shared = [label for label in a if label in b]
    batch = sorted((label for label in shared if label in keep), key=_order(output))
    gone = [label for label in shared if label not in keep]
    free = [label for label in a if label not in b] + [label for label in b if label not in a]
    pairs = [tuple(tuple(term.index(label) for label in group) for term in (a, b)) for group in (gone, batch)]
    return Product(at, (a, b), (*batch, *free), pairs[0], pairs[1])  # type: ignore[arg-type]


def _order(output: Term) -> Any:
    return lambda label: output.index(label) if label in output else len(output)


# ---- one operand


def _prepared(equation: Equation, shapes: Sequence[Sequence[int]], sizes: dict[Label, int]) -> list[Term]:
    """Labels of each operand once diagonals are taken, and what only it has is summed or broadcast away."""
    moving = [
        tuple(dict.fromkeys(c for c, n in zip(term, shape, strict=True) if n != 1 or sizes[c] == 1))
        for term, shape in zip(equation.inputs, shapes, strict=True)
    ]
    sets = [frozenset(term) for term in moving]
    return [
        tuple(c for c in term if c in kept(sets[i], sets[:i] + sets[i + 1 :], frozenset(equation.output)))
        for i, term in enumerate(moving)
    ]


def prepare(x: Tensor, term: Term, wanted: Term, sizes: dict[Label, int]) -> Tensor:
    """Diagonals of repeated labels, then sums over labels that are not wanted."""
    if term == wanted:
        return x
    labels = list(term)
    while len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        x = diagonal(x, axis1=i, axis2=j)
        labels = [other for k, other in enumerate(labels) if k not in (i, j)] + [label]
    dropped = tuple(i for i, label in enumerate(labels) if label not in wanted)
    if dropped:
        x = _summed(x, dropped)
        labels = [label for label in labels if label in wanted]
    return arrange(x, tuple(labels), wanted)


def _summed(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """In the dtype of x, as contractions do; for bool, whether any is true."""
    y = any_axes(x, axis=axes) if x.dtype is bool_ else sum_axes(x, axis=axes)
    return y if y.dtype is x.dtype else y.astype(x.dtype)


def arrange(x: Tensor, labels: Term, wanted: Term) -> Tensor:
    """A view with the axes in the wanted order."""
    if labels == wanted:
        return x
    return transpose(x, perm=tuple(labels.index(label) for label in wanted))
