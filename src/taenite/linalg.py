"""Linear algebra, batched over leading axes and differentiable.

Names and results follow the array API standard where it has them, SciPy elsewhere. Integers are computed in
float64, mixed precisions in their common dtype. A matrix that is singular, not positive definite, or holds
NaN or Inf raises ``LinAlgError`` with its batch index; ``*_ex`` variants return ``info`` instead (0: fine,
k > 0: LAPACK's verdict, -1: NaN or Inf) and fill the result of a failed matrix with NaN. Right-hand sides may
hold NaN or Inf, which pass through. Matrices that are nearly singular raise an ``IllConditionedWarning``.

``cholesky``, ``eigh``, ``eigvalsh`` and ``solve(..., assume_a="pos")`` are functions of the Hermitian part of
their operand: they read one triangle, and a derivative gives each triangle its half.

Singular vectors and eigenvectors are unique up to signs or phases, and not unique at all where values are
equal. A loss that depends on phases, or on the basis of a null space, raises ``GaugeError`` in reverse mode.
Where values are equal to working precision, derivatives drop what is undetermined, with a
``DegenerateSpectrumWarning`` if that may matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy

from taenite._core import Tensor
from taenite.dtypes import complex64, complex128, float32, float64
from taenite.errors import LinAlgError
from taenite.ops.contraction import matmul as matmul
from taenite.ops.contraction import tensordot as tensordot
from taenite.ops.contraction import vecdot as vecdot
from taenite.ops.convert import asarray, inexact, promoted
from taenite.ops.creation import eye
from taenite.ops.linalg_decomp import eigh_, qr_, svd_
from taenite.ops.linalg_lu import lu_factor_, permute_rows
from taenite.ops.linalg_solve import det_, inv_, slogdet_, solve_
from taenite.ops.linalg_triangular import cholesky_, solve_pos, solve_triangular_
from taenite.ops.parts import diagonal as diagonal
from taenite.ops.parts import slice_axis, tril_, triu_
from taenite.ops.shape import broadcast_shapes, broadcast_to
from taenite.ops.shape import matrix_transpose as matrix_transpose
from taenite.primitive import AnyRecord, Outputs

# ---- arguments

_INEXACT = frozenset((float32, float64, complex64, complex128))


def _matrices(x: Any, who: str) -> Tensor:
    a = inexact(x)
    if a.ndim < 2:
        raise ValueError(f"linalg.{who}: a must have at least 2 axes, got shape {a.shape}.")
    return a


def _square(x: Any, who: str, name: str = "a") -> Tensor:
    a = inexact(x)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"linalg.{who}: {name} must be square in its last two axes, got shape {a.shape}.")
    return a


def _is_ready(a: Any, b: Any, left: bool) -> bool:
    """One square matrix and right-hand sides of its dtype: nothing to convert, and quickly seen."""
    if type(a) is not Tensor or type(b) is not Tensor or b.dtype is not a.dtype or a.dtype not in _INEXACT:
        return False
    shape, of_b = a.shape, b.shape
    if len(shape) != 2 or not 0 < len(of_b) <= 2:
        return False
    return bool(shape[0] == shape[1] and of_b[0 if left else -1] == shape[0])


def _system(a: Any, b: Any, who: str, name: str = "a", left: bool = True) -> tuple[Tensor, Tensor]:
    """Both in one dtype and with the same leading axes; b is a vector only if it has one axis."""
    if _is_ready(a, b, left):
        return a, b
    a, b = promoted(_square(a, who, name), inexact(b))
    trailing = min(b.ndim, 2)
    if trailing == 0 or b.shape[-trailing if left else -1] != a.shape[-1]:
        side = "rows" if left else "columns"
        raise ValueError(
            f"linalg.{who}: b must have as many {side} as {name}, got shapes {a.shape} and {b.shape}."
        )
    return _one_batch(a, b, b.ndim - trailing, who)


def _one_batch(a: Tensor, b: Tensor, leading: int, who: str) -> tuple[Tensor, Tensor]:
    batch_a, batch_b = a.shape[:-2], b.shape[:leading]
    if batch_a == batch_b:
        return a, b
    try:
        batch = broadcast_shapes(batch_a, batch_b)
    except ValueError:
        raise ValueError(
            f"linalg.{who}: leading axes must broadcast, got shapes {a.shape} and {b.shape}."
        ) from None
    return broadcast_to(a, (*batch, *a.shape[-2:])), broadcast_to(b, (*batch, *b.shape[leading:]))


def _named(who: str, record: AnyRecord[Outputs], *operands: Tensor, **attrs: Any) -> Outputs:
    """A call of a primitive whose errors have the name of the function that the user called."""
    try:
        return record(*operands, **attrs)
    except LinAlgError as error:
        raise LinAlgError(str(error).replace(f"linalg.{record.name}:", f"linalg.{who}:", 1)) from None


def _triangle(
    who: str, a: Tensor, b: Tensor, upper: bool, op: tuple[int, int] = (0, 0), unit: int = 0
) -> Tensor:
    """op(a)^-1 b by the triangle of a."""
    transposed, conjugated = op
    return _named(
        who, solve_triangular_, a, b,
        upper=int(upper), transposed=transposed, conjugated=conjugated, unit_diagonal=unit, left=1,
    )  # fmt: skip


_TRANS = {"N": (0, 0), "T": (1, 0), "C": (1, 1), 0: (0, 0), 1: (1, 0), 2: (1, 1)}


def _flag(given: Any, who: str, name: str) -> int:
    if not isinstance(given, bool | numpy.bool_ | int):
        raise TypeError(f"linalg.{who}: {name} must be a bool, got {given!r}.")
    return int(bool(given))


def _trans(trans: str | int, who: str) -> tuple[int, int]:
    try:
        return _TRANS[trans]
    except KeyError:
        raise ValueError(f"linalg.{who}: trans must be 'N', 'T' or 'C', got {trans!r}.") from None


# ---- linear systems


def solve(a: Any, b: Any, /, *, assume_a: str = "gen") -> Tensor:
    """x with a x = b. ``b`` is one vector if it has one axis, else matrices of right-hand sides.

    ``assume_a``: ``"gen"`` (LU), ``"pos"`` (Hermitian positive definite, Cholesky), ``"upper"``, ``"lower"``.

    >>> tn.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).tolist()
    [1.0, 0.5]
    """
    a, b = _system(a, b, "solve")
    if assume_a == "gen":
        return solve_(a, b, raises=1, mask=1)[0]
    if assume_a == "pos":
        return solve_pos(a, b, mask=1)[0]
    if assume_a in ("upper", "lower"):
        return _triangle("solve", a, b, assume_a == "upper")
    raise ValueError(f"linalg.solve: assume_a must be 'gen', 'pos', 'upper' or 'lower', got {assume_a!r}.")


class SolveExResult(NamedTuple):
    """What ``solve_ex`` returns."""

    result: Tensor
    info: Tensor


def solve_ex(a: Any, b: Any, /) -> SolveExResult:
    """``solve`` that reports failures in ``info``.

    >>> tn.linalg.solve_ex([[0.0]], [1.0]).info.item()
    1
    """
    a, b = _system(a, b, "solve_ex")
    x, _, _, info = solve_(a, b, raises=0, mask=0b1001)
    return SolveExResult(x, info)


def solve_triangular(
    a: Any,
    b: Any,
    /,
    *,
    upper: bool,
    trans: str | int = "N",
    unit_diagonal: bool = False,
    left: bool = True,
) -> Tensor:
    """x with op(a) x = b, or x op(a) = b with ``left=False``; only one triangle of ``a`` is read.

    ``trans``: ``"N"``, ``"T"`` or ``"C"`` for a, its transpose or its conjugate transpose; ``upper`` says
    which triangle of ``a`` itself. With ``unit_diagonal`` its diagonal is not read and stands for ones.

    >>> tn.linalg.solve_triangular([[2.0, 9.0], [1.0, 1.0]], [2.0, 2.0], upper=False).tolist()
    [1.0, 1.0]
    """
    transposed, conjugated = _trans(trans, "solve_triangular")
    a, b = _system(a, b, "solve_triangular", left=left)
    return solve_triangular_(
        a,
        b,
        upper=_flag(upper, "solve_triangular", "upper"),
        transposed=transposed,
        conjugated=conjugated,
        unit_diagonal=_flag(unit_diagonal, "solve_triangular", "unit_diagonal"),
        left=_flag(left, "solve_triangular", "left"),
    )


def inv(a: Any, /) -> Tensor:
    """The inverse.

    >>> tn.linalg.inv([[1.0, 1.0], [0.0, 1.0]]).tolist()
    [[1.0, -1.0], [0.0, 1.0]]
    """
    return inv_(_square(a, "inv"), raises=1, mask=1)[0]


class InvExResult(NamedTuple):
    """What ``inv_ex`` returns."""

    inverse: Tensor
    info: Tensor


def inv_ex(a: Any, /) -> InvExResult:
    """``inv`` that reports failures in ``info``.

    >>> tn.linalg.inv_ex([[0.0]]).info.item()
    1
    """
    return InvExResult(*inv_(_square(a, "inv_ex"), raises=0))


# ---- determinants


def det(a: Any, /) -> Tensor:
    """The determinant. Its derivatives of first and second order are right for singular matrices too.

    >>> tn.linalg.det([[2.0, 1.0], [1.0, 3.0]]).item()
    5.0
    """
    return det_(_square(a, "det"), mask=1)[0]


class SlogdetResult(NamedTuple):
    """What ``slogdet`` returns."""

    sign: Tensor
    logabsdet: Tensor


def slogdet(a: Any, /) -> SlogdetResult:
    """The sign (of a complex matrix the phase) of the determinant and the logarithm of its modulus.

    A singular matrix has (0, -inf), and no derivative there: asking for one raises ``LinAlgError``.

    >>> tn.linalg.slogdet([[-1.0, 0.0], [0.0, 1.0]]).sign.item()
    -1.0
    """
    sign, logabsdet, _, _ = slogdet_(_square(a, "slogdet"), mask=0b11)
    return SlogdetResult(sign, logabsdet)


# ---- Cholesky


def cholesky(a: Any, /, *, upper: bool = False) -> Tensor:
    """The triangle L with a = L L^H, or U with a = U^H U. Reads that triangle of ``a``.

    >>> tn.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    return cholesky_(_square(a, "cholesky"), upper=_flag(upper, "cholesky", "upper"), raises=1, mask=1)[0]


class CholeskyExResult(NamedTuple):
    """What ``cholesky_ex`` returns."""

    L: Tensor
    info: Tensor


def cholesky_ex(a: Any, /, *, upper: bool = False) -> CholeskyExResult:
    """``cholesky`` that reports failures in ``info``: the order of the leading minor that is not positive.

    >>> tn.linalg.cholesky_ex([[1.0, 2.0], [2.0, 1.0]]).info.item()
    2
    """
    return CholeskyExResult(
        *cholesky_(_square(a, "cholesky_ex"), upper=_flag(upper, "cholesky_ex", "upper"), raises=0)
    )


def cho_solve(factor: Any, b: Any, /, *, upper: bool = False) -> Tensor:
    """x with a x = b from the Cholesky factor of a, differentiable in the factor.

    >>> tn.linalg.cho_solve([[2.0, 0.0], [0.0, 1.0]], [4.0, 1.0]).tolist()
    [1.0, 1.0]
    """
    factor, b = _system(factor, b, "cho_solve", "factor")
    is_upper, ops = bool(_flag(upper, "cho_solve", "upper")), (_TRANS["N"], _TRANS["C"])
    first, second = reversed(ops) if is_upper else ops
    return _triangle(
        "cho_solve", factor, _triangle("cho_solve", factor, b, is_upper, first), is_upper, second
    )


# ---- LU


class LUFactors(NamedTuple):
    """What ``lu_factor`` returns: both triangles in one matrix (that of L without its unit diagonal), and for
    each row the row that it was exchanged with, from 0."""

    lu: Tensor
    pivots: Tensor


def lu_factor(a: Any, /) -> LUFactors:
    """LU factors with partial pivoting in LAPACK's form, for ``lu_solve``. A singular matrix has them too:
    a pivot of a square matrix that is zero to working precision is set to zero.

    >>> tn.linalg.lu_factor([[1.0, 2.0], [2.0, 2.0]]).lu.tolist()
    [[2.0, 2.0], [0.5, 1.0]]
    """
    lu, pivots, _ = lu_factor_(_matrices(a, "lu_factor"), raises=1, mask=0b11)
    return LUFactors(lu, pivots)


class LUFactorExResult(NamedTuple):
    """What ``lu_factor_ex`` returns."""

    lu: Tensor
    pivots: Tensor
    info: Tensor


def lu_factor_ex(a: Any, /) -> LUFactorExResult:
    """``lu_factor`` with ``info``: the first pivot that is zero to working precision, counted from 1.

    >>> tn.linalg.lu_factor_ex([[1.0, 1.0], [1.0, 1.0]]).info.item()
    2
    """
    return LUFactorExResult(*lu_factor_(_matrices(a, "lu_factor_ex"), raises=0))


def lu_solve(factors: tuple[Any, Any], b: Any, /, *, trans: str | int = "N") -> Tensor:
    """x with op(a) x = b from what ``lu_factor(a)`` returned, differentiable in the factors.

    >>> factors = tn.linalg.lu_factor([[0.0, 2.0], [1.0, 0.0]])
    >>> tn.linalg.lu_solve(factors, [2.0, 3.0]).tolist()
    [3.0, 1.0]
    """
    transposed, _ = op = _trans(trans, "lu_solve")
    lu, b = _system(factors[0], b, "lu_solve", "factors")
    pivots = asarray(factors[1])
    pivots = broadcast_to(pivots, (*lu.shape[:-2], pivots.shape[-1]))
    if not transposed:
        y = _triangle("lu_solve", lu, permute_rows(b, pivots, inverse=0), False, unit=1)
        return _triangle("lu_solve", lu, y, True)
    y = _triangle("lu_solve", lu, b, True, op)
    return permute_rows(_triangle("lu_solve", lu, y, False, op, unit=1), pivots, inverse=1)


class LUResult(NamedTuple):
    """What ``lu`` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


def lu(a: Any, /) -> LUResult:
    """P, L, U with a = P L U: a permutation, a lower triangle with unit diagonal, an upper triangle.

    >>> tn.linalg.lu([[1.0, 2.0], [2.0, 2.0]]).U.tolist()
    [[2.0, 2.0], [0.0, 1.0]]
    """
    a = _matrices(a, "lu")
    packed, pivots, _ = _named("lu", lu_factor_, a, raises=1, mask=0b11)
    m, n = a.shape[-2:]
    k = min(m, n)
    L = tril_(slice_axis(packed, a.ndim - 1, 0, k), k=-1) + eye(m, k, dtype=a.dtype)
    U = triu_(slice_axis(packed, a.ndim - 2, 0, k), k=0)
    unit = broadcast_to(eye(m, dtype=a.dtype), (*a.shape[:-2], m, m))
    return LUResult(permute_rows(unit, pivots, inverse=1), L, U)


# ---- QR, singular values, eigenvalues of Hermitian matrices


class QRResult(NamedTuple):
    """What ``qr`` returns."""

    Q: Tensor
    R: Tensor


# typing keeps overloads alive when the interpreter ends, and with them this module and the native classes.
if TYPE_CHECKING:

    @overload
    def qr(a: Any, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult: ...
    @overload
    def qr(a: Any, /, *, mode: Literal["r"]) -> Tensor: ...
    def qr(a: Any, /, *, mode: str = "reduced") -> QRResult | Tensor: ...

else:

    def qr(a: Any, /, *, mode: str = "reduced") -> QRResult | Tensor:
        """Q with orthonormal columns and an upper triangle R, a = Q R; R alone with ``mode="r"``.

        Q is m x min(m, n), or with ``mode="complete"`` m x m. The diagonal of R is real but may be negative.

        >>> tn.linalg.qr([[1.0, 2.0], [0.0, 3.0]]).R.tolist()
        [[1.0, 2.0], [0.0, 3.0]]
        """
        if mode not in ("reduced", "complete", "r"):
            raise ValueError(f"linalg.qr: mode must be 'reduced', 'complete' or 'r', got {mode!r}.")
        a = _matrices(a, "qr")
        if mode == "r":
            return qr_(a, complete=0, mask=0b10)[1]
        return QRResult(*qr_(a, complete=int(mode == "complete")))


class SVDResult(NamedTuple):
    """What ``svd`` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def svd(a: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """U, S, Vh with a = U diag(S) Vh: orthonormal columns and rows, singular values in descending order.

    U is m x m and Vh is n x n; with ``full_matrices=False`` both have min(m, n) vectors.

    >>> tn.linalg.svd([[0.0, 2.0], [1.0, 0.0]]).S.tolist()
    [2.0, 1.0]
    """
    return SVDResult(*svd_(_matrices(a, "svd"), full=_flag(full_matrices, "svd", "full_matrices")))


def svdvals(a: Any, /) -> Tensor:
    """The singular values, in descending order.

    >>> tn.linalg.svdvals([[0.0, 2.0], [1.0, 0.0]]).tolist()
    [2.0, 1.0]
    """
    return _named("svdvals", svd_, _matrices(a, "svdvals"), full=0, mask=0b010)[1]


class EighResult(NamedTuple):
    """What ``eigh`` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def _lower(uplo: str, who: str) -> int:
    if uplo not in ("L", "U"):
        raise ValueError(f"linalg.{who}: UPLO must be 'L' or 'U', got {uplo!r}.")
    return int(uplo == "L")


def eigh(a: Any, /, UPLO: str = "L") -> EighResult:
    """Ascending eigenvalues w and orthonormal eigenvectors V of Hermitian matrices, a = V diag(w) V^H.

    Reads the triangle ``UPLO``, ``"L"`` or ``"U"``.

    >>> tn.linalg.eigh([[2.0, 1.0], [1.0, 2.0]]).eigenvalues.tolist()
    [1.0, 3.0]
    """
    return EighResult(*eigh_(_square(a, "eigh"), lower=_lower(UPLO, "eigh")))


def eigvalsh(a: Any, /, UPLO: str = "L") -> Tensor:
    """The eigenvalues of Hermitian matrices, in ascending order; reads the triangle ``UPLO``.

    >>> tn.linalg.eigvalsh([[2.0, 1.0], [1.0, 2.0]]).tolist()
    [1.0, 3.0]
    """
    lower = _lower(UPLO, "eigvalsh")
    return _named("eigvalsh", eigh_, _square(a, "eigvalsh"), lower=lower, mask=0b01)[0]
