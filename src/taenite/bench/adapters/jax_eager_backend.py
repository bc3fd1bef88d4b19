"""JAX without `jit`: every operation of the formula is dispatched by itself."""

from __future__ import annotations

from . import jax_backend

REQUIRES = "jax"


class Backend(jax_backend.Backend):
    """JAX, operation by operation; its compiled operations are cached by the first call."""

    name = "jax_eager"
    wrap = staticmethod(lambda function: function)
