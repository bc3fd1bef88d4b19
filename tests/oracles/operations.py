"""What each oracle file asks of taenite: PyTorch's operation and argument names in terms of ours.

`OPERATIONS` maps a file to `make(*op_args, **op_kwargs)`, which returns the function of the inputs. Tuples of
outputs are compared in the order of the stored names. Files of operations that taenite does not have are
listed in `OUT_OF_SCOPE`, so that the two together cover the folder exactly.
"""

import math

import taenite as tn


def plain(function):
    return lambda: function


def reduction(function):
    return lambda dim=None, keepdim=False: lambda a: function(a, axis=axes(dim, a), keepdims=keepdim)


def axes(dim, a):
    """PyTorch lets the one element of a tensor without axes stand at axis 0 and -1."""
    if a.ndim == 0:
        return None
    return tuple(dim) if isinstance(dim, list) else dim


def deviation(function):
    """`var` and `std`, with PyTorch's old and new names of the correction."""

    def make(unbiased=True, dim=None, keepdim=False, correction=None):
        divisor = int(unbiased) if correction is None else correction
        return lambda a: function(a, axis=axes(dim, a), correction=divisor, keepdims=keepdim)

    return make


def scaled(function):
    return lambda alpha=1: lambda a, b: function(a, alpha * b if alpha != 1 else b)


def reflected(function):
    return lambda alpha=1: lambda a, b: function(b, alpha * a if alpha != 1 else a)


def product(dim=None, keepdim=False, dtype=None):
    dtype = dtype and getattr(tn, dtype)
    return lambda a: tn.prod(a, axis=axes(dim, a), keepdims=keepdim, dtype=dtype)


def diagonal(offset=0, dim1=0, dim2=1):
    return lambda a: tn.linalg.diagonal(tn.moveaxis(a, (dim1, dim2), (-2, -1)), offset=offset)


def vecdot(dim=-1):
    return lambda a, b: tn.vecdot(a, b, axis=dim)


def multi_dot():
    def chain(*matrices):
        first, *rest = matrices
        for matrix in rest:
            first = first @ matrix
        return first

    return chain


def real_double(memory_format=None):
    return lambda a: tn.astype(tn.real(a), tn.float64)


def complex_double(memory_format=None):
    return lambda a: tn.astype(a, tn.complex128)


def rounded(decimals=0):
    return lambda a: tn.round(a * 10.0**decimals) / 10.0**decimals


def float_power():
    def function(a, b):
        widest = tn.complex128 if a.dtype in (tn.complex64, tn.complex128) else tn.float64
        return tn.pow(tn.astype(a, widest), tn.astype(b, widest))

    return function


def cholesky(upper=False):
    return lambda a: tn.linalg.cholesky(symmetrised(a), upper=upper)


def eigh(UPLO="L"):
    def values_and_moduli(a):
        values, vectors = tn.linalg.eigh(symmetrised(a))
        return values, tn.abs(vectors)

    return values_and_moduli


def eigvalsh(UPLO="L"):
    return lambda a: tn.linalg.eigvalsh(symmetrised(a))


def adjoint(a):
    return tn.conj(tn.matrix_transpose(a))


def symmetrised(a):
    """The wrapper that every stored eigh, eigvalsh and cholesky case has around its operation."""
    return a + adjoint(a)


def solve():
    """PyTorch takes b with one axis less than a, too, for a stack of vectors."""

    def function(a, b):
        vectors = b.ndim == a.ndim - 1 > 1
        return tn.squeeze(tn.linalg.solve(a, b[..., None]), -1) if vectors else tn.linalg.solve(a, b)

    return function


def lu(pivot=True):
    return lambda a: tuple(tn.linalg.lu(a))[1:]


def lu_factor(pivot=True):
    return lambda a: tn.linalg.lu_factor(a)[0]


def lu_solve(pivots, adjoint=False, left=True):
    return lambda lu, b: tn.linalg.lu_solve((lu, tn.asarray(pivots)), b, trans=2 if adjoint else 0)


def svd(observed):
    def make(full_matrices=True):
        def function(a):
            u, s, vh = tn.linalg.svd(a, full_matrices=full_matrices)
            k = s.shape[-1]
            return observed(u[..., :, :k], s, vh[..., :k, :])

        return function

    return make


OPERATIONS = {
    "__radd____identity": reflected(tn.add),
    "__rdiv____identity": reflected(tn.divide),
    "__rmod____identity": reflected(tn.remainder),
    "__rmul____identity": reflected(tn.multiply),
    "__rpow____identity": reflected(tn.pow),
    "__rsub____identity": reflected(tn.subtract),
    "abs__identity": plain(tn.abs),
    "acos__identity": plain(tn.acos),
    "acosh__identity": plain(tn.acosh),
    "add__identity": scaled(tn.add),
    "amax__identity": reduction(tn.max),
    "amin__identity": reduction(tn.min),
    "angle__identity": plain(tn.angle),
    "asin__identity": plain(tn.asin),
    "asinh__identity": plain(tn.asinh),
    "atan2__identity": plain(tn.atan2),
    "atan__identity": plain(tn.atan),
    "atanh__identity": plain(tn.atanh),
    "cdouble__identity": complex_double,
    "ceil__identity": plain(tn.ceil),
    "cholesky__identity": cholesky,
    "cholesky_ex__identity": cholesky,
    "clamp_max__identity": plain(tn.minimum),
    "clamp_min__identity": plain(tn.maximum),
    "complex__identity": plain(lambda a, b: a + 1j * b),
    "conj__identity": plain(tn.conj),
    "conj_physical__identity": plain(tn.conj),
    "copysign__identity": plain(tn.copysign),
    "cos__identity": plain(tn.cos),
    "cosh__identity": plain(tn.cosh),
    "deg2rad__identity": plain(lambda a: a * (math.pi / 180)),
    "det__identity": plain(tn.linalg.det),
    "diagonal__identity": diagonal,
    "div_no_rounding_mode__identity": plain(tn.divide),
    "double__identity": real_double,
    "eigh__gauge_ill_defined": plain(tn.linalg.eigh),
    "eigh__values_vectors_abs": eigh,
    "eigvalsh__identity": eigvalsh,
    "exp2__identity": plain(tn.exp2),
    "exp__identity": plain(tn.exp),
    "expm1__identity": plain(tn.expm1),
    "float_power__identity": float_power,
    "floor__identity": plain(tn.floor),
    "frac__identity": plain(lambda a: a - tn.trunc(a)),
    "hypot__identity": plain(tn.hypot),
    "imag__identity": plain(tn.imag),
    "inv__identity": plain(tn.linalg.inv),
    "inv_ex__identity": plain(tn.linalg.inv),
    "log10__identity": plain(tn.log10),
    "log1p__identity": plain(tn.log1p),
    "log2__identity": plain(tn.log2),
    "log__identity": plain(tn.log),
    "logaddexp__identity": plain(tn.logaddexp),
    "lu__identity": lu,
    "lu_factor__identity": lu_factor,
    "lu_factor_ex__identity": lu_factor,
    "lu_solve__identity": lu_solve,
    "max_binary__identity": plain(tn.maximum),
    "maximum__identity": plain(tn.maximum),
    "mean__identity": reduction(tn.mean),
    "min_binary__identity": plain(tn.minimum),
    "minimum__identity": plain(tn.minimum),
    "mul__identity": plain(tn.multiply),
    "multi_dot__identity": multi_dot,
    "neg__identity": plain(tn.negative),
    "positive__identity": plain(tn.positive),
    "pow__identity": plain(tn.pow),
    "prod__identity": product,
    "qr__identity": plain(tn.linalg.qr),
    "rad2deg__identity": plain(lambda a: a * (180 / math.pi)),
    "real__identity": plain(tn.real),
    "reciprocal__identity": plain(tn.reciprocal),
    "round__identity": rounded,
    "round_decimals_0__identity": rounded,
    "round_decimals_3__identity": rounded,
    "round_decimals_neg_3__identity": rounded,
    "rsqrt__identity": plain(tn.rsqrt),
    "rsub__identity": reflected(tn.subtract),
    "sgn__identity": plain(tn.sign),
    "sign__identity": plain(tn.sign),
    "sin__identity": plain(tn.sin),
    "sinh__identity": plain(tn.sinh),
    "slogdet__identity": plain(tn.linalg.slogdet),
    "solve__identity": solve,
    "solve_ex__identity": solve,
    "sqrt__identity": plain(tn.sqrt),
    "square__identity": plain(tn.square),
    "std__identity": deviation(tn.std),
    "std_unbiased__identity": deviation(tn.std),
    "sub__identity": scaled(tn.subtract),
    "sum__identity": reduction(tn.sum),
    "svd__gauge_ill_defined": svd(lambda u, s, vh: (u, vh)),
    "svd__s": svd(lambda u, s, vh: s),
    "svd__u_abs": svd(lambda u, s, vh: tn.abs(u)),
    "svd__uvh_product": svd(lambda u, s, vh: (s, u @ vh)),
    "svd__vh_abs": svd(lambda u, s, vh: (s, tn.abs(vh))),
    "svdvals__identity": plain(tn.linalg.svdvals),
    "tan__identity": plain(tn.tan),
    "tanh__identity": plain(tn.tanh),
    "true_divide__identity": plain(tn.divide),
    "trunc__identity": plain(tn.trunc),
    "var__identity": deviation(tn.var),
    "var_unbiased__identity": deviation(tn.var),
    "vecdot__identity": vecdot,
}

REFUSED_DTYPES = {"logaddexp__identity": ("complex64", "complex128")}

OUT_OF_SCOPE = {
    "cond__identity",
    "cross__identity",
    "digamma__identity",
    "eig__values_vectors_abs",
    "eigvals__identity",
    "erf__identity",
    "erfc__identity",
    "erfinv__identity",
    "fill__identity",
    "fmax__identity",
    "fmin__identity",
    "frexp__identity",
    "householder_product__identity",
    "i0__identity",
    "ldexp__identity",
    "lgamma__identity",
    "logit__identity",
    "lstsq_grad_oriented__identity",
    "matrix_exp__identity",
    "matrix_norm__identity",
    "matrix_power__identity",
    "mvlgamma_mvlgamma_p_1__identity",
    "mvlgamma_mvlgamma_p_3__identity",
    "mvlgamma_mvlgamma_p_5__identity",
    "nan_to_num__identity",
    "nanmean__identity",
    "nansum__identity",
    "nn_functional_celu__identity",
    "nn_functional_elu__identity",
    "nn_functional_hardshrink__identity",
    "nn_functional_hardsigmoid__identity",
    "nn_functional_hardtanh__identity",
    "nn_functional_logsigmoid__identity",
    "nn_functional_mish__identity",
    "nn_functional_prelu__identity",
    "nn_functional_relu6__identity",
    "nn_functional_relu__identity",
    "nn_functional_rrelu__identity",
    "nn_functional_selu__identity",
    "nn_functional_silu__identity",
    "nn_functional_softplus__identity",
    "nn_functional_softshrink__identity",
    "nn_functional_softsign__identity",
    "nn_functional_tanhshrink__identity",
    "nn_functional_threshold__identity",
    "norm__identity",
    "pinv__identity",
    "pinv_hermitian__identity",
    "pinv_singular__identity",
    "polar__identity",
    "polygamma_polygamma_n_0__identity",
    "polygamma_polygamma_n_1__identity",
    "polygamma_polygamma_n_2__identity",
    "polygamma_polygamma_n_3__identity",
    "polygamma_polygamma_n_4__identity",
    "sigmoid__identity",
    "sinc__identity",
    "special_entr__identity",
    "special_erfcx__identity",
    "special_i0e__identity",
    "special_i1__identity",
    "special_i1e__identity",
    "special_log_ndtr__identity",
    "special_ndtr__identity",
    "special_ndtri__identity",
    "special_polygamma_special_polygamma_n_0__identity",
    "special_xlog1py__identity",
    "tensorinv__identity",
    "tensorsolve__identity",
    "vander__identity",
    "vector_norm__identity",
    "xlogy__identity",
}
