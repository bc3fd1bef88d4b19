"""Passes over the graph, one file each: ``run(graph) -> graph``."""

from __future__ import annotations

import os
from collections.abc import Callable

from taenite.graph.check import check
from taenite.graph.ir import Graph
from taenite.graph.passes import cse, dead, fold, fresh, group, shapes, transposes

SIMPLIFY = (shapes.run, fold.run, transposes.run, cse.run, dead.run)
DEFAULT = (*SIMPLIFY, group.run)
FOR_CALLERS = (*SIMPLIFY, fresh.run, group.run)
"""For programs whose outputs go to the user."""


def optimize(graph: Graph, passes: tuple[Callable[[Graph], Graph], ...] = DEFAULT) -> Graph:
    """The graph after these passes. With TAENITE_CHECK_GRAPHS=1 in the environment, each is checked.

    Groups are ranges of instructions: they come last, once the instructions are those that run.
    """
    checks = os.environ.get("TAENITE_CHECK_GRAPHS") == "1"
    for run in passes:
        graph = run(graph)
        if checks:
            check(graph)
    return graph
