"""Formulas of the real-work rows, written once over an array namespace.

`ops` is a small namespace of array functions; `taenite_ops(tn)`, `numpy_ops(numpy)`, `torch_ops(torch)` and
`jax_ops(jax)` build it from the imported library. Every formula takes and returns arrays of that library.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

Cuts = tuple[tuple[int, int], ...]


def gp_log_marginal(ops: Any, log_params: Any, x: Any, y: Any, eye: Any) -> Any:
    """Log marginal likelihood of a GP; `log_params` = log(signal variance, noise variance, length scales...).

    Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1.
    """
    scaled = x / ops.exp(log_params[2:])
    square = ops.sum(scaled * scaled, 1)
    distance2 = square[:, None] + square[None, :] - 2.0 * (scaled @ scaled.T)
    k = ops.exp(log_params[0] - 0.5 * distance2) + ops.exp(log_params[1]) * eye
    factor = ops.cholesky(k)
    white = ops.solve_lower(factor, y[:, None])
    half_log_det = ops.sum(ops.log(ops.diagonal(factor)))
    return -0.5 * ops.sum(white * white) - half_log_det - 0.5 * y.shape[0] * math.log(2 * math.pi)


def ising_plaquette() -> list[list[list[list[float]]]]:
    """Sum of the four bonds of a plaquette, for every state of its spins: ln of the first tensor / beta."""
    spins = (1.0, -1.0)
    return [[[[a * b + b * c + c * d + d * a for d in spins] for c in spins] for b in spins] for a in spins]


def ising_log_z(ops: Any, beta: Any, plaquette: Any, cuts: Cuts) -> Any:
    """ln Z per spin of the 2-D Ising model by tensor renormalisation, the ranks kept in each step given.

    Levin and Nave, Phys. Rev. Lett. 99, 120601 (2007). A plaquette tensor stands for two spins, and every
    step doubles that, so the logarithm of its scale counts half as much as the one before.
    """
    tensor, log_z, spins = ops.exp(beta * plaquette), 0.0, 2
    for cut in cuts:
        scale = ops.max(ops.abs(tensor))
        log_z = log_z + ops.log(scale) / spins
        tensor, spins = trg_step(ops, tensor / scale, cut), 2 * spins
    return log_z + ops.log(ops.einsum("ulul->", tensor)) / spins


def trg_step(ops: Any, tensor: Any, cut: tuple[int, int]) -> Any:
    """Cut every tensor (up, left, down, right) in two, and contract the four halves around each square."""
    bottom_right, top_left = split(ops, tensor, cut[0])
    bottom_left, top_right = split(ops, ops.einsum("uldr->urdl", tensor), cut[1])
    return ops.einsum("awx,byx,yzc,wze->aecb", top_left, top_right, bottom_right, bottom_left)


def split(ops: Any, tensor: Any, rank: int) -> tuple[Any, Any]:
    """The halves `u[i, j, k] sqrt(s[k])` and `sqrt(s[k]) vh[k, l, m]` of a tensor, cut to `rank`."""
    i, j, m, n = tensor.shape
    u, s, vh = ops.svd(tensor.reshape(i * j, m * n))
    root = ops.sqrt(s[:rank])
    return (u[:, :rank] * root).reshape(i, j, rank), (root[:, None] * vh[:rank]).reshape(rank, m, n)


def rank_of(s: Any, limit: int) -> int:
    """Largest rank <= `limit` that keeps no rounding noise and divides no group of equal singular values."""
    meaningful = sum(float(value) > 1e-10 * float(s[0]) for value in s)
    rank = min(limit, meaningful)
    while 1 < rank < meaningful and s[rank - 1] - s[rank] <= 1e-8 * s[rank - 1]:
        rank -= 1
    return rank


def spectrum(ops: Any, tensor: Any) -> Any:
    i, j, m, n = tensor.shape
    return ops.svd(tensor.reshape(i * j, m * n))[1]


def ising_cuts(numpy: Any, beta: float, bond: int, steps: int) -> Cuts:
    """The ranks that every step keeps for bond dimension `bond`, found by a run without derivatives."""
    ops = numpy_ops(numpy)
    cuts: list[tuple[int, int]] = []
    tensor = numpy.exp(beta * numpy.asarray(ising_plaquette()))
    for _ in range(steps):
        turned = tensor.transpose(0, 3, 2, 1)
        cuts.append((rank_of(spectrum(ops, tensor), bond), rank_of(spectrum(ops, turned), bond)))
        tensor = trg_step(ops, tensor / abs(tensor).max(), cuts[-1])
    return tuple(cuts)


def svd_cotangent(xp: Any, u: Any, s: Any, vh: Any, gu: Any, gs: Any, gvh: Any) -> Any:
    """Cotangent of a real thin SVD with the terms of equal singular values dropped, over torch or jax.numpy.

    Both libraries' own rules give NaN when singular values are equal, zeros included, which the tensors of
    the Ising model have by symmetry; this is the remedy that their users write.
    """
    tiny = max(u.shape[-2], vh.shape[-1]) * xp.finfo(s.dtype).eps * s[0]
    gap = s[None, :] - s[:, None]
    tied = xp.abs(gap) <= tiny
    f = xp.where(tied, 0.0, 1.0 / xp.where(tied, 1.0, gap * (s[None, :] + s[:, None])))
    inverse_s = xp.where(s > tiny, 1.0 / xp.where(s > tiny, s, 1.0), 0.0)
    utgu, vtgv = u.T @ gu, vh @ gvh.T
    j, k = f * (utgu - utgu.T), f * (vtgv - vtgv.T)
    core = j * s[None, :] + s[:, None] * k + xp.diag(gs)
    outside = (gu - u @ utgu) * inverse_s @ vh + u @ (inverse_s[:, None] * (gvh - vtgv.T @ vh))
    return u @ core @ vh + outside


def taenite_ops(tn: Any) -> SimpleNamespace:
    return SimpleNamespace(
        exp=tn.exp,
        log=tn.log,
        sqrt=tn.sqrt,
        abs=tn.abs,
        sum=lambda a, axis=None: tn.sum(a, axis=axis),
        max=tn.max,
        diagonal=tn.diagonal,
        einsum=tn.einsum,
        cholesky=tn.linalg.cholesky,
        solve_lower=lambda a, b: tn.linalg.solve_triangular(a, b, upper=False),
        svd=lambda a: tn.linalg.svd(a, full_matrices=False),
    )


def numpy_ops(numpy: Any) -> SimpleNamespace:
    return SimpleNamespace(
        exp=numpy.exp,
        log=numpy.log,
        sqrt=numpy.sqrt,
        abs=numpy.abs,
        sum=numpy.sum,
        max=numpy.max,
        diagonal=numpy.diagonal,
        einsum=lambda equation, *operands: numpy.einsum(equation, *operands, optimize=True),
        cholesky=numpy.linalg.cholesky,
        solve_lower=numpy.linalg.solve,
        svd=lambda a: numpy.linalg.svd(a, full_matrices=False),
    )


def torch_ops(torch: Any) -> SimpleNamespace:
    class TiedSvd(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            u, s, vh = torch.linalg.svd(a, full_matrices=False)
            ctx.save_for_backward(u, s, vh)
            return u, s, vh

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return svd_cotangent(torch, *ctx.saved_tensors, *cotangents)

    return SimpleNamespace(
        exp=torch.exp,
        log=torch.log,
        sqrt=torch.sqrt,
        abs=torch.abs,
        sum=torch.sum,
        max=torch.amax,
        diagonal=torch.diagonal,
        einsum=torch.einsum,
        cholesky=torch.linalg.cholesky,
        solve_lower=lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
        svd=TiedSvd.apply,
    )


def jax_ops(jax: Any) -> SimpleNamespace:
    numpy = jax.numpy

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def tied_svd(a: Any) -> Any:
        return tuple(numpy.linalg.svd(a, full_matrices=False))

    def forward(a: Any) -> Any:
        outputs = tied_svd(a)
        return outputs, outputs

    tied_svd.defvjp(forward, lambda outputs, cotangents: (svd_cotangent(numpy, *outputs, *cotangents),))
    return SimpleNamespace(
        exp=numpy.exp,
        log=numpy.log,
        sqrt=numpy.sqrt,
        abs=numpy.abs,
        sum=numpy.sum,
        max=numpy.max,
        diagonal=numpy.diagonal,
        einsum=numpy.einsum,
        cholesky=numpy.linalg.cholesky,
        solve_lower=lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        svd=tied_svd,
    )
