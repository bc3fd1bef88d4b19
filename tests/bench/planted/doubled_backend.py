"""Every gradient is twice what it should be."""

from taenite.bench.adapters import eager_backend

REQUIRES = "taenite"


class Backend(eager_backend.Backend):
    name = "doubled"

    def to_numpy(self, outputs):
        value, *gradients = super().to_numpy(outputs)
        return (value, *[2 * gradient for gradient in gradients])
