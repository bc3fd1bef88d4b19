"""Transforms of functions, and what controls recording."""

from taenite.autodiff.control import no_grad as no_grad
from taenite.autodiff.control import stop_gradient as stop_gradient
from taenite.autodiff.control import variable as variable
from taenite.autodiff.transforms import grad as grad
from taenite.autodiff.transforms import jvp as jvp
from taenite.autodiff.transforms import value_and_grad as value_and_grad
from taenite.autodiff.transforms import vjp as vjp
