"""Traced programs: the graph as plain data, what is done to it, and the functions that run it."""
