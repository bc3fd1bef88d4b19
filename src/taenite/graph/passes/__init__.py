"""Passes over the graph, one file each: ``run(graph) -> graph``."""

from __future__ import annotations

import os

from taenite.graph.check import check
from taenite.graph.ir import Graph
from taenite.graph.passes import cse, dead, fold, group, shapes, transposes

DEFAULT = (shapes.run, fold.run, transposes.run, cse.run, dead.run, group.run)


def optimize(graph: Graph) -> Graph:
    """The graph after all passes. With TAENITE_CHECK_GRAPHS=1 in the environment, each is checked."""
    checks = os.environ.get("TAENITE_CHECK_GRAPHS") == "1"
    for run in DEFAULT:
        graph = run(graph)
        if checks:
            check(graph)
    return graph
