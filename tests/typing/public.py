"""What a type checker sees of the public names. Checked by mypy, never run."""

from typing import Any, assert_type

import numpy

import taenite as tn

x = tn.asarray([1.0, 2.0])
assert_type(x, tn.Tensor)
assert_type(x + 1, tn.Tensor)
assert_type(2.0 * x, tn.Tensor)
assert_type(x @ x, tn.Tensor)
assert_type(-x, tn.Tensor)
assert_type(x == 1, tn.Tensor)
assert_type(x[0], tn.Tensor)
assert_type(x.sum(axis=0), tn.Tensor)
assert_type(x.real, tn.Tensor)
assert_type(x.shape, tuple[int, ...])
assert_type(x.dtype, tn.dtypes.DType)
assert_type(x.grad, tn.Tensor | None)
assert_type(float(x), float)
assert_type(x.numpy(), numpy.ndarray[Any, Any])
memoryview(x)

assert_type(tn.sin(x), tn.Tensor)
assert_type(tn.where(x > 0, x, 0.0), tn.Tensor)
assert_type(tn.variable(x), tn.Tensor)
assert_type(tn.linalg.solve(x, x), tn.Tensor)
assert_type(tn.linalg.qr(x).Q, tn.Tensor)
assert_type(tn.linalg.svd(x).Vh, tn.Tensor)
assert_type(tn.linalg.qr(x, mode="r"), tn.Tensor)
assert_type(tn.linalg.eigh(x).eigenvalues, tn.Tensor)
assert_type(tn.show_config(), None)
assert_type(tn.show_config(mode="dicts"), dict[str, Any])
assert_type(tn.providers.info(), list[tn.providers.ProviderInfo])

with tn.no_grad(), tn.threads(1), tn.observe() as calls:
    assert_type(calls.counts["gemm"], int)
