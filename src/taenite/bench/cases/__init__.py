"""The cases. Importing this package fills the registry; a new file is one more import here."""

from . import decompositions, fusion, losses, micro, permutation, real

__all__ = ["decompositions", "fusion", "losses", "micro", "permutation", "real"]
