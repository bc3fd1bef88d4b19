"""Differentiable linear algebra and tensor contraction on CPUs."""

from taenite import dtypes as dtypes
from taenite import errors as errors
from taenite import providers as providers
from taenite._core import Tensor as Tensor
from taenite.observe import observe as observe
from taenite.threads import threads as threads
