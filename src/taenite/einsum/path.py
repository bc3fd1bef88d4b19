"""In which order operands are contracted.

A path is a list of positions: each step takes those operands out of the list and appends their product, as in
NumPy and opt_einsum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import prod
from typing import Any

from taenite.einsum.parse import Label

Path = list[tuple[int, ...]]
Labels = frozenset[Label]
Sizes = dict[Label, int]
Finder = Callable[..., Sequence[Sequence[int]]]

_EXHAUSTIVE = 6  # operands up to which "auto" looks for the best path


def find_path(inputs: Sequence[Labels], output: Labels, sizes: Sizes, optimize: Any) -> Path:
    """What ``optimize=`` asks for: a name, True, False, a path, or a function such as those of opt_einsum."""
    if optimize in ("auto", True):
        optimize = "optimal" if len(inputs) <= _EXHAUSTIVE else "greedy"
    if optimize is False:
        return [(0, 1), *((0, k) for k in range(len(inputs) - 2, 0, -1))] if len(inputs) > 1 else []
    if isinstance(optimize, str):
        if optimize not in _FINDERS:
            raise ValueError(f"einsum: optimize must be 'auto', 'greedy' or 'optimal', got {optimize!r}.")
        return _FINDERS[optimize](inputs, output, sizes)
    found = optimize(list(inputs), output, sizes, None) if callable(optimize) else optimize
    return check_path(found, len(inputs))


def check_path(path: Sequence[Any], operands: int) -> Path:
    """An explicit path; NumPy's may begin with ``"einsum_path"``."""
    steps = [tuple(step) for step in path if not isinstance(step, str)]
    left = operands
    for step in steps:
        several = len(step) > 1 or left == 1
        if len(set(step)) != len(step) or not all(0 <= i < left for i in step) or not several:
            raise ValueError(f"einsum: the path step {step} does not name two or more of {left} operands.")
        left += 1 - len(step)
    if left != 1:
        steps.append(tuple(range(left)))
    return [step for step in steps if len(step) > 1]


def kept(labels: Labels, others: Sequence[Labels], output: Labels) -> Labels:
    """The labels of a product that are still needed."""
    return labels & output.union(*others)


def size(labels: Labels, sizes: Sizes) -> int:
    """How many elements a tensor with those labels has."""
    return prod(sizes[label] for label in labels)


def greedy(inputs: Sequence[Labels], output: Labels, sizes: Sizes) -> Path:
    """Again and again the pair that shrinks memory most; pairs with nothing in common come last."""
    terms = list(inputs)
    path: Path = []

    def cost(pair: tuple[int, int]) -> tuple[bool, int]:
        a, b = (terms[i] for i in pair)
        others = [t for k, t in enumerate(terms) if k not in pair]
        return not a & b, size(kept(a | b, others, output), sizes) - size(a, sizes) - size(b, sizes)

    while len(terms) > 1:
        i, j = min(combinations(range(len(terms)), 2), key=cost)
        a, b = terms[i], terms[j]
        terms = [t for k, t in enumerate(terms) if k not in (i, j)]
        terms.append(kept(a | b, terms, output))
        path.append((i, j))
    return path


def optimal(inputs: Sequence[Labels], output: Labels, sizes: Sizes) -> Path:
    """The fewest multiplications, by dynamic programming over subsets."""
    n = len(inputs)
    everything = (1 << n) - 1
    needed = [_labels_of(everything & ~s, inputs, output) for s in range(1 << n)]
    labels = [_labels_of(s, inputs, frozenset()) & needed[s] for s in range(1 << n)]
    best: dict[int, tuple[int, Any]] = {1 << i: (0, i) for i in range(n)}
    for subset in sorted(range(1, 1 << n), key=int.bit_count):
        if subset in best:
            continue
        part = (subset - 1) & subset
        while part:
            rest = subset & ~part
            if part > rest:
                cost = best[part][0] + best[rest][0] + size(labels[part] | labels[rest], sizes)
                if subset not in best or cost < best[subset][0]:
                    best[subset] = cost, (best[part][1], best[rest][1])
            part = (part - 1) & subset
    return _as_path(best[everything][1], n)


def _labels_of(subset: int, inputs: Sequence[Labels], more: Labels) -> Labels:
    return more.union(*(term for i, term in enumerate(inputs) if subset >> i & 1))


def _as_path(tree: Any, n: int) -> Path:
    """A tree of operand numbers as positions in the shrinking list."""
    alive: list[Any] = list(range(n))
    path: Path = []

    def visit(node: Any) -> Any:
        if isinstance(node, int):
            return node
        names = [visit(child) for child in node]
        step = tuple(sorted(alive.index(name) for name in names))
        for position in reversed(step):
            del alive[position]
        alive.append(node)
        path.append(step)
        return node

    visit(tree)
    return path


_FINDERS: dict[str, Callable[[Sequence[Labels], Labels, Sizes], Path]] = {
    "greedy": greedy,
    "optimal": optimal,
}
