"""The cases. Importing this package fills the registry; a new file is one more import here."""

from . import losses, micro, primal, real

__all__ = ["losses", "micro", "primal", "real"]
