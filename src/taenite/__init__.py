"""Differentiable linear algebra and tensor contraction on CPUs."""

from taenite import dtypes, errors
from taenite._core import Tensor as Tensor
