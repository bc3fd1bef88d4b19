"""From what the user writes to labels: one tuple of labels for each operand, and one for the output."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Label = Hashable


@dataclass(frozen=True)
class Equation:
    """The labels of each operand and of the output. Ellipsis axes have labels of their own."""

    inputs: tuple[tuple[Label, ...], ...]
    output: tuple[Label, ...]

    def __str__(self) -> str:
        terms = ["".join(map(str, term)) for term in (*self.inputs, self.output)]
        return f"{','.join(terms[:-1])}->{terms[-1]}"


@dataclass(frozen=True)
class EllipsisAxis:
    """An axis under an ellipsis, counted from the last one, so that operands align at the right."""

    from_last: int

    def __str__(self) -> str:
        return f"…{self.from_last}"


@lru_cache(1024)
def parse(equation: str, ranks: tuple[int, ...]) -> Equation:
    """Reads ``"ij,jk->ik"`` for operands of those ranks."""
    left, arrow, right = "".join(equation.split()).partition("->")
    terms = [_characters(term) for term in left.split(",")]
    return _resolve(terms, _characters(right) if arrow else None, ranks)


def interleaved(arguments: Sequence[Any]) -> tuple[list[Any], list[Sequence[Any]], Sequence[Any] | None]:
    """Splits ``a, [0, 1], b, [1, 2], [0, 2]`` into operands, terms, and the output if there is one."""
    pairs = len(arguments) // 2
    output = list(arguments[-1]) if len(arguments) % 2 else None
    return list(arguments[: 2 * pairs : 2]), [list(t) for t in arguments[1 : 2 * pairs : 2]], output


def parse_lists(
    terms: Iterable[Sequence[Any]], output: Sequence[Any] | None, ranks: tuple[int, ...]
) -> Equation:
    """The same for labels given as lists of anything hashable, with Ellipsis."""
    return _resolve([list(t) for t in terms], output, ranks)


def _characters(term: str) -> list[Any]:
    labels: list[Any] = []
    rest = term
    while rest:
        if rest.startswith("..."):
            labels.append(Ellipsis)
            rest = rest[3:]
            continue
        if rest[0] in ".->," or (rest[0].isascii() and not rest[0].isalpha()):
            raise ValueError(f"einsum: {rest[0]!r} in the term {term!r} is not a label.")
        labels.append(rest[0])
        rest = rest[1:]
    return labels


def _resolve(
    terms: Sequence[Sequence[Any]], output: Sequence[Any] | None, ranks: tuple[int, ...]
) -> Equation:
    if len(terms) != len(ranks):
        raise ValueError(f"einsum: the equation has {len(terms)} terms for {len(ranks)} operands.")
    inputs = tuple(_expand(term, rank, i) for i, (term, rank) in enumerate(zip(terms, ranks, strict=True)))
    wide = max((sum(isinstance(label, EllipsisAxis) for label in term) for term in inputs), default=0)
    ellipsis_axes = tuple(EllipsisAxis(n) for n in range(wide, 0, -1))
    if output is None:
        return Equation(inputs, (*ellipsis_axes, *_implicit(inputs)))
    return Equation(inputs, _explicit(output, inputs, ellipsis_axes))


def _expand(term: Sequence[Any], rank: int, operand: int) -> tuple[Label, ...]:
    n = sum(label is Ellipsis for label in term)
    named = len(term) - n
    if n > 1:
        raise ValueError(f"einsum: operand {operand} has {n} ellipses, at most one is allowed.")
    if rank < named or (rank > named and n == 0):
        raise ValueError(f"einsum: operand {operand} has {rank} axes, its term has {named} labels.")
    out: list[Label] = []
    for label in term:
        out += [EllipsisAxis(k) for k in range(rank - named, 0, -1)] if label is Ellipsis else [label]
    return tuple(out)


def _implicit(inputs: tuple[tuple[Label, ...], ...]) -> list[Label]:
    every = [label for term in inputs for label in term if not isinstance(label, EllipsisAxis)]
    return sorted((label for label in set(every) if every.count(label) == 1), key=lambda x: (str(type(x)), x))


def _explicit(
    output: Sequence[Any], inputs: tuple[tuple[Label, ...], ...], ellipsis_axes: tuple[Label, ...]
) -> tuple[Label, ...]:
    out: list[Label] = []
    for label in output:
        out += ellipsis_axes if label is Ellipsis else [label]
    for label in out:
        if not any(label in term for term in inputs):
            raise ValueError(f"einsum: output label {str(label)!r} never appears in an input.")
        if out.count(label) > 1:
            raise ValueError(f"einsum: output label {str(label)!r} appears more than once.")
    return tuple(out)


def sizes_of(equation: Equation, shapes: Sequence[Sequence[int]], strict: bool) -> dict[Label, int]:
    """The size of each label; disagreement is an error that names the label and its sizes.

    With ``strict=False`` size 1 broadcasts, as it always does under an ellipsis.
    """
    sizes: dict[Label, int] = {}
    seen: dict[Label, int] = {}
    for operand, (term, shape) in enumerate(zip(equation.inputs, shapes, strict=True)):
        for label, size in _own_sizes(term, shape, operand).items():
            known = sizes.get(label)
            if known is None or known == size:
                sizes[label] = size
                seen.setdefault(label, operand)
                continue
            if (strict and not isinstance(label, EllipsisAxis)) or (known != 1 and size != 1):
                hint = "; strict=False lets size 1 broadcast" if 1 in (known, size) else ""
                raise ValueError(
                    f"einsum: label {str(label)!r}: size {known} in operand {seen[label]}, "
                    f"size {size} in operand {operand}{hint}."
                )
            sizes[label] = size if known == 1 else known
    return sizes


def _own_sizes(term: tuple[Label, ...], shape: Sequence[int], operand: int) -> dict[Label, int]:
    sizes: dict[Label, int] = {}
    for label, size in zip(term, shape, strict=True):
        if sizes.setdefault(label, size) != size:
            raise ValueError(
                f"einsum: label {str(label)!r} has sizes {sizes[label]} and {size} in operand {operand}."
            )
    return sizes
