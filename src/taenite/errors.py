"""The exceptions and warnings of taenite: one class for each thing that can go wrong beyond Python's own."""

import numpy

from taenite import _core


class LinAlgError(numpy.linalg.LinAlgError):
    """A numerical failure: singular, not positive definite, not converged, or NaN or Inf in the input.

    The message names the batch index and LAPACK's ``info`` where there is one.
    """


class GaugeError(ValueError):
    """The loss depends on what a decomposition leaves undetermined (phases, signs), so it has no gradient."""


class TracingError(TypeError):
    """Python asked a traced value for a number, or a value outlived its transform."""


class DegenerateSpectrumWarning(UserWarning):
    """Equal singular values or eigenvalues: the undetermined terms of a derivative were dropped."""


class IllConditionedWarning(UserWarning):
    """A matrix to solve with or to invert is singular to working precision: few digits of the result, or
    none, are right."""


_core.set_error_classes(LinAlgError, GaugeError, TracingError)
