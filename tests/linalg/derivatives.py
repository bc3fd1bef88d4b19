"""Checks of derivatives against central differences, and of the two modes against each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import taenite as tn

STEP = 1e-5  # error of a central difference: about STEP^2 for truncation, u / STEP for cancellation: 1e-10


def as_numpy(x: Any) -> np.ndarray:
    return np.asarray(x)


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def inner(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.real(np.sum(np.conj(a) * b)))


def flat(y: Any) -> tuple[np.ndarray, ...]:
    return tuple(as_numpy(v) for v in y) if isinstance(y, tuple) else (as_numpy(y),)


def check_derivatives(f: Callable[..., Any], *x: np.ndarray, second: bool = True, rtol: float = 1e-6) -> None:
    """jvp = central difference; <w, J v> = <J^H w, v>; and the same of the gradient."""
    rng = np.random.default_rng(7)
    v = [draw(rng, a.shape, a.dtype) for a in x]
    y, dy = tn.jvp(f, tuple(map(tn.asarray, x)), tuple(map(tn.asarray, v)))
    forward = flat(f(*[tn.asarray(a + STEP * t) for a, t in zip(x, v, strict=True)]))
    backward = flat(f(*[tn.asarray(a - STEP * t) for a, t in zip(x, v, strict=True)]))
    for got, p, m in zip(flat(dy), forward, backward, strict=True):
        expected = (p - m) / (2 * STEP)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol * (1 + np.abs(expected).max(initial=0)))
    w = [draw(rng, a.shape, a.dtype) for a in flat(y)]
    g = pull(f, x, w)
    left = sum(inner(a, b) for a, b in zip(w, flat(dy), strict=True))
    right = sum(inner(a, b) for a, b in zip(g, v, strict=True))
    size = sum(np.abs(a).sum() * np.abs(b).max(initial=0) for a, b in zip(g, v, strict=True))
    assert abs(left - right) <= 1e-12 * (1 + size), (left, right)
    if second:
        check_derivatives(gradient_of(f, w), *x, second=False, rtol=rtol)


def pull(f: Callable[..., Any], x: Any, w: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    y, pullback = tn.vjp(f, *map(tn.asarray, x))
    seeds = tuple(map(tn.asarray, w))
    return flat(pullback(seeds if isinstance(y, tuple) else seeds[0]))


def gradient_of(f: Callable[..., Any], w: list[np.ndarray]) -> Callable[..., Any]:
    def g(*x: Any) -> Any:
        y, pullback = tn.vjp(f, *x)
        seeds = tuple(map(tn.asarray, w))
        return tuple(pullback(seeds if isinstance(y, tuple) else seeds[0]))

    return g
