"""The cases. Importing this package fills the registry; a new file is one more import here."""

from . import control, decompositions, einsum, fusion, losses, micro, permutation, real, reductions, stacks

__all__ = [
    "control",
    "decompositions",
    "einsum",
    "fusion",
    "losses",
    "micro",
    "permutation",
    "real",
    "reductions",
    "stacks",
]
