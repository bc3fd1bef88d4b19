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


OPTIONAL = {
    run.__module__.rpartition(".")[2]: run for run in (fold.run, transposes.run, cse.run, dead.run, group.run)
}
"""Passes that only save time, by name. `shapes` decides guards, `fresh` keeps outputs from sharing memory."""


def skipped() -> tuple[Callable[[Graph], Graph], ...]:
    """The passes that TAENITE_SKIP_PASSES names, separated by commas."""
    names = [name for name in os.environ.get("TAENITE_SKIP_PASSES", "").split(",") if name]
    for name in names:
        if name not in OPTIONAL:
            raise ValueError(f"TAENITE_SKIP_PASSES: names of {', '.join(OPTIONAL)}, got {name!r}.")
    return tuple(OPTIONAL[name] for name in names)


def optimize(graph: Graph, passes: tuple[Callable[[Graph], Graph], ...] = DEFAULT) -> Graph:
    """The graph after these passes. With TAENITE_CHECK_GRAPHS=1 in the environment, each is checked.

    Groups are ranges of instructions: they come last, once the instructions are those that run.
    TAENITE_SKIP_PASSES=cse,group leaves passes out, to see what they are worth.
    """
    checks = os.environ.get("TAENITE_CHECK_GRAPHS") == "1"
    without = skipped()
    for run in passes:
        if run in without:
            continue
        graph = run(graph)
        if checks:
            check(graph)
    return graph
