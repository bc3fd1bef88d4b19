"""The gate: oracles compare outputs with closed forms through quantities that no gauge changes.

Every bound is ``SLACK * n * u * condition``: n terms of unit round-off u, amplified by the condition of what
was asked. A backend that exceeds it raises `Disagreement`, its row is `wrong`, and it gets no time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .case import COTANGENT, UNIT, Array, Check, Disagreement, Fixture, Outputs, as_scalar

SLACK = 32.0
"""Constants of the textbook bounds (a handful of products and factorizations per row), generously rounded."""


@dataclass(frozen=True)
class Reference:
    """A loss in closed form: value, gradients, and the condition of computing them."""

    value: float
    gradients: tuple[Array, ...]
    condition: float
    scale: float
    """The size of the terms that the value sums; a cancelling sum is judged by its terms."""
    hessian: Callable[..., tuple[Array, ...]] | None = None
    """H v from the tangents v: the derivative of the gradients along them."""


def bound(n: int, condition: float = 1.0, unit: float = UNIT) -> float:
    return SLACK * n * unit * condition


def close(what: str, found: Array, wanted: Array, tolerance: float, scale: float | None = None) -> None:
    """Raise unless ``|found - wanted| <= tolerance * scale`` in the Frobenius norm."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        raise Disagreement(f"{what}: shape {found.shape}, wanted {wanted.shape}")
    if found.dtype != wanted.dtype:
        raise Disagreement(f"{what}: dtype {found.dtype}, wanted {wanted.dtype}")
    size = float(np.linalg.norm(wanted)) if scale is None else scale
    error = float(np.linalg.norm(found - wanted))
    if not error <= tolerance * size:
        raise Disagreement(f"{what}: off by {error / size:.2e} relative, allowed {tolerance:.2e}")


def orthonormal_columns(what: str, q: Array, tolerance: float) -> None:
    gram = np.swapaxes(q, -1, -2) @ q
    eye = np.broadcast_to(np.eye(q.shape[-1]), gram.shape)
    close(f"{what}^T {what} = I", gram, eye, tolerance)


def loss_oracle(reference: Callable[..., Reference]) -> Callable[[Fixture], Check]:
    """An oracle for scalar losses, from ``reference(*operands)``."""

    def oracle(fixture: Fixture) -> Check:
        expected = reference(*fixture.operands)
        n = max(max(operand.shape[-2:], default=1) for operand in fixture.operands)
        tolerance = bound(n, expected.condition, fixture.unit)

        def check(phase: str, outputs: Outputs) -> None:
            if phase == "hvp":
                check_products(expected, n, fixture, outputs)
                return
            if phase == "pullback":
                check_gradients(expected, COTANGENT, outputs, tolerance)
                return
            value = np.asarray(expected.value)
            close("value", np.asarray(as_scalar(outputs[0])), value, tolerance, expected.scale)
            if phase == "jvp":
                check_tangent(expected, fixture.tangents, outputs[1], tolerance)
            if phase in ("backward", "vjp"):
                check_gradients(expected, COTANGENT if phase == "vjp" else 1.0, outputs[1:], tolerance)

        return check

    return oracle


def check_tangent(expected: Reference, tangents: tuple[Array, ...], found: Array, tolerance: float) -> None:
    pairs = list(zip(expected.gradients, tangents, strict=True))
    wanted = sum(float(np.vdot(g, t)) for g, t in pairs)
    scale = sum(float(np.linalg.norm(g) * np.linalg.norm(t)) for g, t in pairs)
    close("tangent", np.asarray(as_scalar(found)), np.asarray(wanted), tolerance, scale)


def check_gradients(expected: Reference, cotangent: float, found: Outputs, tolerance: float) -> None:
    if len(found) != len(expected.gradients):
        raise Disagreement(f"{len(found)} gradients, wanted {len(expected.gradients)}")
    for index, (got, gradient) in enumerate(zip(found, expected.gradients, strict=True)):
        close(f"gradient {index}", got, cotangent * gradient, tolerance)


def check_products(expected: Reference, n: int, fixture: Fixture, found: Outputs) -> None:
    """H v against its closed form, which divides by the smallest singular value twice: condition squared."""
    assert expected.hessian is not None, "a case with hvp rows needs the closed form of H v"
    wanted = expected.hessian(*fixture.tangents)
    if len(found) != len(wanted):
        raise Disagreement(f"{len(found)} products, wanted {len(wanted)}")
    for index, (got, product) in enumerate(zip(found, wanted, strict=True)):
        close(f"product {index}", got, product, bound(n, expected.condition**2, fixture.unit))


def value_oracle(compute: Callable[..., Array], condition: float = 1.0) -> Callable[[Fixture], Check]:
    """An oracle that compares the one output with NumPy's."""

    def oracle(fixture: Fixture) -> Check:
        wanted = np.asarray(compute(*fixture.operands))
        n = fixture.operands[0].shape[-1]

        def check(phase: str, outputs: Outputs) -> None:
            close("value", outputs[0], wanted, bound(n, condition, fixture.unit))

        return check

    return oracle


def elementwise_oracle(compute: Callable[..., Array], ulps: float) -> Callable[[Fixture], Check]:
    """An oracle for elementwise functions: every element within some units in the last place."""

    def oracle(fixture: Fixture) -> Check:
        wanted = np.asarray(compute(*fixture.operands))
        spacing = np.spacing(np.abs(wanted)) * (fixture.unit / UNIT)

        def check(phase: str, outputs: Outputs) -> None:
            found = np.asarray(outputs[0])
            if found.shape != wanted.shape or found.dtype != wanted.dtype:
                raise Disagreement(f"value: {found.dtype}{found.shape}, wanted {wanted.dtype}{wanted.shape}")
            worst = float(np.max(np.abs(found - wanted) / spacing))
            if not worst <= ulps:
                raise Disagreement(f"value: off by {worst:.1f} ulp, allowed {ulps:.0f}")

        return check

    return oracle
