"""Passes over the graph, one file each: ``run(graph) -> graph``."""
