"""Trees of tensors: dicts, lists, tuples, named tuples, ``None``, dataclasses registered with ``optree``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import optree

NAMESPACE = "taenite"


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves, in order, and what puts them back together.

    >>> leaves, structure = tn.tree.flatten({"b": 2, "a": (1, None)})
    >>> leaves
    [1, 2]
    """
    leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
    return list(leaves), structure


def unflatten(structure: Any, leaves: list[Any]) -> Any:
    """The tree of that structure with these leaves.

    >>> leaves, structure = tn.tree.flatten({"w": 1, "b": (2, 3)})
    >>> tn.tree.unflatten(structure, [10 * leaf for leaf in leaves])
    {'w': 10, 'b': (20, 30)}
    """
    return optree.tree_unflatten(structure, leaves)


def tree_map(f: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """The tree of ``f`` of each leaf (and of the leaves of further trees in its place).

    >>> tn.tree.tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    return optree.tree_map(f, tree, *rest, namespace=NAMESPACE)


def paths(tree: Any) -> list[str]:
    """What to call each leaf in a message: ``['w'][0]``.

    >>> tn.tree.paths({"w": [1, 2]})
    ["['w'][0]", "['w'][1]"]
    """
    accessors = optree.tree_accessors(tree, namespace=NAMESPACE)
    return [accessor.codify("") for accessor in accessors]
