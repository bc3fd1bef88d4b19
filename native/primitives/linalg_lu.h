// LU factors of a stack of square matrices, and what is computed from them.
#pragma once
#include "primitives/linalg_common.h"

namespace tn::linalg {

// Which op(A) is meant: A, its transpose, its conjugate, or both.
struct Op {
  bool transposed = false;
  bool conjugated = false;
};

// A matrix whose reciprocal condition number is below the unit round-off.
struct IllConditioned {
  int64_t index = -1;
  double rcond = 0;
};

// P F = L U. F is A or, where A lies row-major, its transpose, so that taking A in is a plain copy.
// Matrices that are repeated along leading axes are factored once.
struct Factored {
  Tensor lu;      // column-major
  Tensor pivots;  // int32, n + 1 for each matrix: LAPACK's pivots, then 1 if F is the transpose
  Tensor info;    // int32: 0, k if pivot k is zero to working precision, or kNotFinite
  Failure failure;
  IllConditioned ill;
};

// Whether pivots are judged, and condition numbers estimated where they look suspicious; else only an exact
// zero counts.
enum class Judge { no, yes };

// Raises for no matrix; the factors of one that failed are not usable, but harmless.
Factored factor_square(const Tensor& a, Judge judge = Judge::yes);
// Raises for the first matrix that failed; warns of one that is nearly singular.
void report(const char* who, std::span<const int64_t> batch, const Failure& failure,
            const IllConditioned& ill);
// Whether the factors of a matrix have a pivot that is zero to working precision.
bool has_zero_pivot(const Tensor& lu);

// x = op(A)^-1 b; x is dense, each of its matrices column-major (vectors where b has one axis less than lu).
void solve_factored(const Tensor& lu, const Tensor& pivots, Op op, const Tensor& b, const Tensor& x);
// y = op(A)^-1 as a column-major or row-major stack.
Tensor invert_factored(const Tensor& lu, const Tensor& pivots, Op op);

struct Inverses {
  Tensor y;
  Tensor info;  // as in Factored
  Failure failure;
  IllConditioned ill;
};

// Raises for no matrix, and puts NaN for those that failed. Repeated matrices are inverted once.
Inverses invert_square(const Tensor& a);

// NaN into every matrix (or vector, with one trailing axis) of `out` whose info is not 0.
void mark_failures(const Tensor& info, const Tensor& out, int trailing = 2);

// Shapes: a must be (..., n, n); b (..., n, m) or (..., n) with the leading axes of a.
void require_square(const char* who, const Tensor& a);
void require_right_side(const char* who, const Tensor& a, const Tensor& b);
// Uninitialised, of b's shape and dtype, matrices column-major.
Tensor like_right_side(const Tensor& a, const Tensor& b);
bool is_vector(const Tensor& a, const Tensor& b);
template <class T>
Matrices<T> right_side(const Tensor& a, const Tensor& b) {
  return is_vector(a, b) ? columns<T>(b) : matrices<T>(b);
}

// Whether the diagonal of U says that a matrix may be singular to working precision: its entries differ by
// more than u^(3/4), u the unit round-off. A screen: who needs certainty goes on to estimate (several times
// the cost of a solve) or to decompose.
template <class T>
bool suspicious(const Matrices<T>& lu, int64_t i) {
  using R = real_t<T>;
  R least = std::numeric_limits<R>::max(), most = 0;
  for (int64_t k = 0; k < lu.rows; ++k) {
    const R pivot = std::abs(lu[i][k * (lu.row_stride + lu.col_stride)]);
    least = std::min(least, pivot);
    most = std::max(most, pivot);
  }
  return !(least > most * std::pow(std::numeric_limits<R>::epsilon(), R(0.75)));
}

template <class T>
void conjugate(T* x, int64_t n) {
  if constexpr (is_complex_v<T>)
    for (int64_t i = 0; i < n; ++i) x[i] = std::conj(x[i]);
}

}  // namespace tn::linalg
