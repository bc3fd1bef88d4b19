"""Differentiable linear algebra and tensor contraction on CPUs."""

from taenite import dtypes as dtypes
from taenite import errors as errors
from taenite import providers as providers
from taenite import pool as pool
from taenite import tree as tree
from taenite import _methods
from taenite._core import Tensor as Tensor
from taenite.autodiff import grad as grad
from taenite.autodiff import jvp as jvp
from taenite.autodiff import no_grad as no_grad
from taenite.autodiff import stop_gradient as stop_gradient
from taenite.autodiff import value_and_grad as value_and_grad
from taenite.autodiff import variable as variable
from taenite.autodiff import vjp as vjp
from taenite.ops.exchange import from_dlpack as from_dlpack
from taenite.observe import observe as observe
from taenite.threads import threads as threads

_methods.attach()
