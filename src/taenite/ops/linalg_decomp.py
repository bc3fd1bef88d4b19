"""QR, the singular value and the Hermitian eigenvalue decompositions: records and rules.

Where values tie, the divisions of these rules drop what is undetermined and warn (see
``native/primitives/linalg_spectral.cpp``). Checks are effects: every rule is linear in its cotangents.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy

from taenite._core import Tensor
from taenite.ops import linalg_samples
from taenite.ops.arithmetic import real
from taenite.ops.convert import asarray
from taenite.ops.linalg_triangular import (
    Operands,
    adjoint,
    conjugate,
    dot,
    half_triangle,
    hermitian_part,
    triangular,
)
from taenite.ops.parts import concatenate, diagonal_scatter, slice_axis, slice_scatter
from taenite.ops.reductions import sum_
from taenite.ops.shape import expand_dims
from taenite.primitive import Decomposition, ErrorInput, NotDifferentiable, Record, Sample


def _columns(x: Tensor, start: Any, count: Any) -> Tensor:
    return slice_axis(x, x.ndim - 1, start, count)


def _rows(x: Tensor, start: Any, count: Any) -> Tensor:
    return slice_axis(x, x.ndim - 2, start, count)


def _scale_columns(x: Tensor, by: Tensor) -> Tensor:
    return x * expand_dims(by, -2)


def _diagonal_matrix(d: Tensor) -> Tensor:
    n = d.ndim
    return diagonal_scatter(d, offset=0, axis1=n - 1, axis2=n, sizes=(*d.shape, d.shape[-1]))


def _real(x: Tensor) -> Tensor:
    return real(x) if x.dtype.kind == "c" else x


def _squared(x: Tensor) -> Tensor:
    """|x|^2"""
    return _real(conjugate(x) * x)


def _present(*terms: Tensor | None) -> list[Tensor]:
    return [term for term in terms if term is not None]


def _sum(*terms: Tensor | None) -> Tensor:
    """The sum of those that are there."""
    first, *others = _present(*terms)
    for term in others:
        first = first + term
    return first


# ---- what the rules divide by: x[i, j] / (w[j] - w[i]), x[i, j] / (s[j] + s[i]), x[i, j] / s[j]


def _gap_vjp(g: Any, x: Operands, y: Operands, *, need: Any, sizes: Any) -> Iterator[Tensor | None]:
    gx = gap_divide(g[0], x[1], sizes=sizes)
    yield gx
    if need[1]:
        of_gap = _of_denominator(gx, y[0])
        yield _column_sums(of_gap) - _row_sums(of_gap)
    else:
        yield None


def _sum_vjp(g: Any, x: Operands, y: Operands, *, need: Any, sizes: Any) -> Iterator[Tensor | None]:
    gx = sum_divide(g[0], x[1], sizes=sizes)
    yield gx
    if need[1]:
        of_sum = _of_denominator(gx, y[0])
        yield _column_sums(of_sum) + _row_sums(of_sum)
    else:
        yield None


def _value_vjp(g: Any, x: Operands, y: Operands, *, need: Any, sizes: Any) -> Iterator[Tensor | None]:
    gx = value_divide(g[0], x[1], sizes=sizes)
    yield gx
    yield _column_sums(_of_denominator(gx, y[0])) if need[1] else None


def _of_denominator(gx: Tensor, y: Tensor) -> Tensor:
    """The cotangent of d in y = x / d, where gx = g / d: Re(conj(g) dy) = -Re(conj(gx) y) dd."""
    return -_real(conjugate(gx) * y)


def _column_sums(x: Tensor) -> Tensor:
    return sum_(x, axes=(x.ndim - 2,))


def _row_sums(x: Tensor) -> Tensor:
    return sum_(x, axes=(x.ndim - 1,))


def _division_samples() -> Iterator[Sample]:
    values = numpy.array([4.0, 2.5, 1.0])
    for kind in linalg_samples.KINDS:
        yield Sample([linalg_samples.noise((3, 3), kind), values], (3, 3))
        yield Sample([linalg_samples.noise((2, 3, 3), kind), numpy.stack([values, values + 1])], (3, 3))


def _divided(x: Any, d: Any) -> Any:
    return numpy.divide(x, d, out=numpy.zeros_like(x), where=d != 0)


def _mismatch(call: Any) -> list[ErrorInput]:
    x, w = asarray(numpy.eye(3)), asarray(numpy.ones(2))
    return [ErrorInput(lambda: call(x, w, sizes=(3, 3)), ValueError, "do not belong together")]


gap_divide = Record(
    "gap_divide",
    vjp=_gap_vjp,
    reference=lambda x, w: _divided(x, w[..., None, :] - w[..., :, None]),
    samples=_division_samples,
    errors=lambda: _mismatch(gap_divide),
)
sum_divide = Record(
    "sum_divide",
    vjp=_sum_vjp,
    reference=lambda x, s: _divided(x, s[..., None, :] + s[..., :, None]),
    samples=_division_samples,
    errors=lambda: _mismatch(sum_divide),
)
value_divide = Record(
    "value_divide",
    vjp=_value_vjp,
    reference=lambda x, s: _divided(x, s[..., None, :] + 0 * x.real),
    samples=_division_samples,
    errors=lambda: _mismatch(value_divide),
)
check_ties = Record("check_ties", attrs=("lone_zeros",), derivative=NotDifferentiable("it is a check"))
check_gauge = Record("check_gauge", attrs=("kind",), derivative=NotDifferentiable("it is a check"))
SVD_PHASES, EIGH_PHASES, SVD_COMPLEMENT, QR_COMPLEMENT = range(4)


# ---- svd: A = U diag(S) Vh


def _svd_vjp(
    g: Any, x: Operands, y: Operands, *, need: Any, sizes: Any, full: int
) -> Iterator[Tensor | None]:
    """Giles 2008, section 3.3; phases of complex vectors: Wan and Zhang 2019, arXiv:1909.02659.

    gA = (U M + U' / S) V^H + U (V' / S)^H with M from the cotangents within the spaces of U and V, and U', V'
    from those outside.
    """
    (A,), (U, S, Vh), (gU, gS, gVh) = x, y, g
    m, n = A.shape[-2:]
    k = min(m, n)
    U1, U2 = _split_columns(U, k, m - k) if full and m > n else (U, None)
    V1h, V2h = _split_rows(Vh, k, n - k) if full and m < n else (Vh, None)
    if gU is None and gVh is None:
        yield dot(_scale_columns(U1, gS), V1h)
        return
    gU1, gU2 = (gU, None) if gU is None or U2 is None else _split_columns(gU, k, m - k)
    gV1h: Any
    gV2h: Any
    gV1h, gV2h = (gVh, None) if gVh is None or V2h is None else _split_rows(gVh, k, n - k)
    X = None if gU1 is None else dot(U1, gU1, adjoint_a=True)
    Y = None if gV1h is None else dot(V1h, gV1h, adjoint_b=True)
    left = dot(U1, _within(S, X, Y, g, m, n))
    if m > n and gU1 is not None:
        left = left + value_divide(_outside(U1, X, gU1, U2, gU2), S, sizes=(m, n))
    gA = dot(left, V1h)
    if m < n and gV1h is not None:
        V2, gV2 = (None, None) if V2h is None else (adjoint(V2h), adjoint(gV2h))
        right = value_divide(_outside(adjoint(V1h), Y, adjoint(gV1h), V2, gV2), S, sizes=(m, n))
        gA = gA + dot(U1, right, adjoint_b=True)
    yield gA


def _split_columns(x: Tensor, k: Any, rest: Any) -> tuple[Tensor, Tensor]:
    return _columns(x, 0, k), _columns(x, k, rest)


def _split_rows(x: Tensor, k: Any, rest: Any) -> tuple[Tensor, Tensor]:
    return _rows(x, 0, k), _rows(x, k, rest)


def _within(S: Tensor, X: Tensor | None, Y: Tensor | None, g: Any, m: Any, n: Any) -> Tensor:
    """M = herm((X + Y) / (s[j] - s[i])) + skew((X - Y) / (s[j] + s[i])) + diag(gS), X = U^H gU, Y = V^H gV.

    The textbook divides by s[j]^2 - s[i]^2. Split in two, small values keep all their digits, a tie loses the
    first term only, and the diagonal of the second one is the phase term.
    """
    gU, gS, gVh = g
    both = _sum(X, Y)
    apart = X if Y is None else -Y if X is None else X - Y
    is_complex = both.dtype.kind == "c"
    if is_complex:
        check_gauge(both, *_present(gU, gVh), kind=SVD_PHASES)
    P, Q = gap_divide(both, S, sizes=(m, n)), sum_divide(apart, S, sizes=(m, n))
    M = hermitian_part(P - Q) + Q
    if gS is None:
        return M
    check_ties(both, gS, S, lone_zeros=int(is_complex or m != n), sizes=(m, n))
    return M + _diagonal_matrix(gS)


def _outside(U1: Tensor, X: Any, gU1: Tensor, U2: Tensor | None, gU2: Tensor | None) -> Tensor:
    """(1 - U1 U1^H) gU1; the complement of a full basis turns against U1, so that its cotangent adds
    -U2 gU2^H U1. Which basis of the complement LAPACK takes must not matter."""
    outside = gU1 - dot(U1, X)
    if U2 is None or gU2 is None:
        return outside
    check_gauge(dot(U2, gU2, adjoint_a=True), gU2, kind=SVD_COMPLEMENT)
    return outside - dot(U2, dot(gU2, U1, adjoint_a=True))


def _svd_samples() -> Iterator[Sample]:
    for a in linalg_samples.of_kinds(linalg_samples.with_singular_values, linalg_samples.SHAPES):
        for full in (0, 1):
            yield Sample([a], full=full, observe=_svd_invariants)


def _svd_invariants(outputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """|U|^2, S, |V|^2 and U diag(S^2) V^H of the leading vectors."""
    U, S, Vh = outputs
    k = S.shape[-1]
    product = dot(_scale_columns(_columns(U, 0, k), S * S), _rows(Vh, 0, k))
    return _squared(U), S, _squared(Vh), product


svd_ = Decomposition(
    "svd",
    attrs=("full",),
    vjp=_svd_vjp,
    reference=lambda a, *, full: numpy.linalg.svd(a, full_matrices=bool(full)),
    samples=_svd_samples,
    errors=lambda: linalg_samples.refusals(lambda a: svd_(a, full=0)),
)


# ---- eigh: A = V diag(w) V^H. A function of the Hermitian part of A, whichever triangle is read: gA is
# ---- Hermitian.


def _eigh_vjp(
    g: Any, x: Operands, y: Operands, *, need: Any, sizes: Any, lower: int
) -> Iterator[Tensor | None]:
    """gA = V (diag(gw) + herm(X / (w[j] - w[i]))) V^H with X = V^H gV (Giles 2008, section 3.1)."""
    (w, V), (gw, gV) = y, g
    if gV is None:
        yield dot(_scale_columns(V, gw), V, adjoint_b=True)
        return
    n = V.shape[-1]
    X = dot(V, gV, adjoint_a=True)
    if X.dtype.kind == "c":
        check_gauge(X, gV, kind=EIGH_PHASES)
    M = hermitian_part(gap_divide(X, w, sizes=(n, n)))
    if gw is not None:
        check_ties(X, gw, w, lone_zeros=0, sizes=(n, n))
        M = M + _diagonal_matrix(gw)
    yield dot(dot(V, M), V, adjoint_b=True)


def _eigh_samples() -> Iterator[Sample]:
    for a in linalg_samples.of_kinds(linalg_samples.with_eigenvalues, [(3, 3), (2, 4, 4), (1, 1), (0, 0)]):
        for lower in (0, 1):
            yield Sample([a], lower=lower, prepare=_hermitian_operand, observe=_eigh_invariants)


def _hermitian_operand(operands: tuple[Any, ...]) -> tuple[Tensor, ...]:
    return (hermitian_part(operands[0]),)


def _eigh_invariants(outputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """w, |V|^2 and V diag(w^2) V^H."""
    w, V = outputs
    return w, _squared(V), dot(_scale_columns(V, w * w), V, adjoint_b=True)


eigh_ = Decomposition(
    "eigh",
    attrs=("lower",),
    vjp=_eigh_vjp,
    reference=lambda a, *, lower: numpy.linalg.eigh(a, "L" if lower else "U"),
    samples=_eigh_samples,
    errors=lambda: linalg_samples.refusals(lambda a: eigh_(a, lower=1)),
)


# ---- qr: A = Q R


def _qr_vjp(
    g: Any, x: Operands, y: Operands, *, need: Any, sizes: Any, complete: int
) -> Iterator[Tensor | None]:
    """Roberts and Roberts 2020, arXiv:2009.10071. A wide A = Q [R1, R2] is square in its first m columns, and
    R2 = Q^H A2."""
    (A,), (Q, R), (gQ, gR) = x, y, g
    m, n = A.shape[-2:]
    if m >= n:
        yield _tall_qr(Q, R, gQ, gR, m, n, bool(complete) and m > n)
        return
    R1 = _columns(R, 0, m)
    if gR is None:
        yield _padded_columns(_tall_qr(Q, R1, gQ, None, m, m, False), A)
        return
    gR1, gR2 = _split_columns(gR, m, n - m)
    gQ = _sum(gQ, dot(_columns(A, m, n - m), gR2, adjoint_b=True))
    yield concatenate(_tall_qr(Q, R1, gQ, gR1, m, m, False), dot(Q, gR2), axis=A.ndim - 1)


def _tall_qr(
    Q: Tensor, R: Tensor, gQ: Tensor | None, gR: Tensor | None, m: Any, n: Any, complete: bool
) -> Tensor:
    """gA = (gQ + Q copyltu(M)) R^-H with M = R gR^H - gQ^H Q; copyltu mirrors the lower triangle."""
    Q2 = gQ2 = None
    if complete:
        Q, Q2 = _split_columns(Q, n, m - n)
        R, gR = _rows(R, 0, n), None if gR is None else _rows(gR, 0, n)
        gQ, gQ2 = (None, None) if gQ is None else _split_columns(gQ, n, m - n)
    of_r = None if gR is None else dot(R, gR, adjoint_b=True)
    of_q = None if gQ is None else -dot(gQ, Q, adjoint_a=True)
    M = half_triangle(_sum(of_r, of_q), upper=0)
    return triangular(
        R, _sum(_beside(Q, gQ, Q2, gQ2), dot(Q, 2 * hermitian_part(M))), upper=1, adjoint=1, left=0
    )


def _beside(Q: Tensor, gQ: Tensor | None, Q2: Tensor | None, gQ2: Tensor | None) -> Tensor | None:
    """gQ, and from the complement what turns it against Q."""
    if gQ is None or Q2 is None or gQ2 is None:
        return gQ
    check_gauge(dot(Q2, gQ2, adjoint_a=True), gQ2, kind=QR_COMPLEMENT)
    return gQ - dot(Q2, dot(gQ2, Q, adjoint_a=True))


def _padded_columns(x: Tensor, like: Tensor) -> Tensor:
    """x with columns of zeros behind it, in the shape of another tensor."""
    cuts = [number for size in x.shape for number in (0, size, 1)]
    return slice_scatter(x, drop=(), sizes=(*like.shape, *cuts))


def _qr_samples() -> Iterator[Sample]:
    for a in linalg_samples.of_kinds(linalg_samples.with_singular_values, linalg_samples.SHAPES):
        yield Sample([a], complete=0)
        yield Sample([a], complete=1, observe=_qr_invariants)


def _qr_invariants(outputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Q and R up to the basis of the complement: the leading columns and rows, and |Q|^2."""
    Q, R = outputs
    k = min(Q.shape[-1], R.shape[-1])
    return _columns(Q, 0, k), _rows(R, 0, k), _squared(Q)


qr_ = Decomposition(
    "qr",
    attrs=("complete",),
    vjp=_qr_vjp,
    reference=lambda a, *, complete: numpy.linalg.qr(a, "complete" if complete else "reduced"),
    samples=_qr_samples,
    errors=lambda: linalg_samples.refusals(lambda a: qr_(a, complete=0)),
)
