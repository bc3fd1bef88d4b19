// What the derivatives of spectral decompositions divide by: gaps and sums of singular or eigenvalues. A
// denominator up to max(m, n) x unit round-off x the largest value is the backward error of LAPACK itself:
// its term is undetermined and dropped, with a warning if it was more than noise. Never Inf, never NaN, and
// no other epsilon.
#include "primitives/linalg.h"
#include "primitives/linalg_common.h"

namespace tn {
namespace {

using linalg::Matrices;

template <class R>
constexpr R kRoundoff = std::numeric_limits<R>::epsilon() / 2;

// What rounding leaves, relative to its neighbours, of a cotangent that is zero in exact arithmetic.
template <class R>
R noise() {
  return 8 * std::sqrt(kRoundoff<R>);
}

void warn_dropped() {
  lock_hooks.warn("DegenerateSpectrumWarning",
                  "singular or eigenvalues are equal to working precision: the undetermined terms of the "
                  "derivative were dropped, which is exact only for losses that do not depend on them.");
}

template <class R>
R largest(const Matrices<R>& w, int64_t i) {
  R most = 0;
  for (int64_t k = 0; k < w.rows; ++k) most = std::max(most, std::abs(w[i][k * w.row_stride]));
  return most;
}

template <class R>
R smallest_denominator(const Call& c, const Matrices<R>& w, int64_t i) {
  return static_cast<R>(std::max(c.sizes[0], c.sizes[1])) * kRoundoff<R> * largest(w, i);
}

template <class T>
real_t<T> largest_modulus(const Matrices<T>& x, int64_t i) {
  real_t<T> most = 0;
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t k = 0; k < x.cols; ++k)
      most = std::max(most, std::abs(x[i][r * x.row_stride + k * x.col_stride]));
  return most;
}

// ---- gap_divide, sum_divide (x, w): x[i, j] / (w[j] -+ w[i]); value_divide (x, s): x[i, j] / s[j]. The
// sizes are those of the decomposed matrix.

struct Gap {
  static constexpr bool square = true;
  template <class R>
  static R denominator(R at_row, R at_column) {
    return at_column - at_row;
  }
  // The diagonal is no term of a gap.
  template <class T>
  static real_t<T> loss(T x, bool diagonal) {
    return diagonal ? 0 : std::abs(x);
  }
};

struct Sum {
  static constexpr bool square = true;
  template <class R>
  static R denominator(R at_row, R at_column) {
    return at_column + at_row;
  }
  // Of the diagonal, only the phase is a term.
  template <class T>
  static real_t<T> loss(T x, bool diagonal) {
    return diagonal ? std::abs(std::imag(x)) : std::abs(x);
  }
};

struct One {
  static constexpr bool square = false;
  template <class R>
  static R denominator(R, R at_column) {
    return at_column;
  }
  template <class T>
  static real_t<T> loss(T x, bool) {
    return std::abs(x);
  }
};

template <class Divisor>
void infer_divide(const Call& c, Meta* out) {
  const Tensor &x = *c.in[0], &w = *c.in[1];
  const int n = x.ndim();
  Dims expected(n < 2 ? std::span<const int64_t>() : linalg::batch_of(x));
  if (n >= 2) expected.push_back(x.shape()[n - 1]);
  if (n < 2 || !is_inexact(x.dtype) || w.dtype != real_of(x.dtype) || !(w.shape() == expected) ||
      (Divisor::square && x.shape()[n - 2] != x.shape()[n - 1]))
    fail(ErrorKind::Value, "spectral division: matrices ", name(x.dtype), show(x.shape()), " and values ",
         name(w.dtype), show(w.shape()), " do not belong together.");
  out[0] = {x.dtype, x.shape()};
}

// Divides matrix i into y (row-major); returns the largest modulus of a dropped term.
template <class Divisor, class T>
real_t<T> divide_matrix(const Matrices<T>& x, const Matrices<real_t<T>>& w, int64_t i, real_t<T> smallest,
                        T* y) {
  using R = real_t<T>;
  const R* value = w[i];
  R lost = 0;
  for (int64_t r = 0; r < x.rows; ++r) {
    const T* row = x[i] + r * x.row_stride;
    const R at_row = Divisor::square ? value[r * w.row_stride] : R(0);
    for (int64_t k = 0; k < x.cols; ++k) {
      const R d = Divisor::denominator(at_row, value[k * w.row_stride]);
      const T e = row[k * x.col_stride];
      if (std::abs(d) > smallest) {
        y[r * x.cols + k] = e / d;
      } else {
        y[r * x.cols + k] = T(0);
        lost = std::max(lost, Divisor::template loss<T>(e, r == k));
      }
    }
  }
  return lost;
}

template <class Divisor>
void divide_kernel(const Call& c, Tensor* out) {
  Meta meta;
  infer_divide<Divisor>(c, &meta);
  out[0] = empty(meta);
  bool dropped = false;
  visit_inexact(meta.dtype, [&]<class T>(Type<T>) {
    using R = real_t<T>;
    auto x = linalg::matrices<T>(*c.in[0]);
    auto w = linalg::columns<R>(*c.in[1]);
    if (x.empty()) return;
    Unlocked unlocked(linalg::worth_unlocking(out[0].numel()));
    for (int64_t i = 0; i < x.count(); ++i) {
      R lost = divide_matrix<Divisor>(x, w, i, smallest_denominator(c, w, i),
                                      out[0].as<T>() + i * x.rows * x.cols);
      if (lost > 0 && !dropped) dropped = lost > noise<R>() * largest_modulus(x, i);
    }
  });
  if (dropped) warn_dropped();
}

// ---- check_ties (z, g, w; lone_zeros): where values tie, their own cotangent g says that the loss depends
// on them, and the diagonal of z (the vectors' cotangents seen in the basis of the vectors) is zero, the
// factor of the undetermined term was zero and the cotangents cannot tell the term. With lone_zeros, one zero
// value is a tie by itself.

template <class R>
bool in_tie(const R* w, int64_t stride, int64_t n, int64_t k, R smallest, bool lone_zeros) {
  auto near = [&](int64_t j) {
    return j >= 0 && j < n && std::abs(w[j * stride] - w[k * stride]) <= smallest;
  };
  return near(k - 1) || near(k + 1) || (lone_zeros && std::abs(w[k * stride]) <= smallest);
}

template <class T>
bool tie_hides_term(const Call& c, int64_t i) {
  using R = real_t<T>;
  auto z = linalg::matrices<T>(*c.in[0]);
  auto g = linalg::columns<R>(*c.in[1]), w = linalg::columns<R>(*c.in[2]);
  const R smallest = smallest_denominator(c, w, i), some_g = noise<R>() * largest(g, i);
  auto diagonal = [&](int64_t k) { return std::abs(std::real(z[i][k * (z.row_stride + z.col_stride)])); };
  R some_z = 0;
  for (int64_t k = 0; k < z.rows; ++k) some_z = std::max(some_z, noise<R>() * diagonal(k));
  for (int64_t k = 0; k < z.rows; ++k)
    if (in_tie(w[i], w.row_stride, w.rows, k, smallest, c.attrs.scalar(0)) && diagonal(k) <= some_z &&
        std::abs(g[i][k * g.row_stride]) > some_g)
      return true;
  return false;
}

void check_ties_kernel(const Call& c, Tensor*) {
  bool hidden = false;
  visit_inexact(c.in[0]->dtype, [&]<class T>(Type<T>) {
    auto z = linalg::matrices<T>(*c.in[0]);
    for (int64_t i = 0; !z.empty() && i < z.count() && !hidden; ++i) hidden = tie_hides_term<T>(c, i);
  });
  if (hidden) warn_dropped();
}

// ---- check_gauge (z, cotangents...; kind): what z holds of a direction in which the decomposition is free
// must vanish, relative to the cotangents of the vectors.

constexpr const char* kGaugeProblem[] = {
    "linalg.svd: the loss depends on the phases of complex singular vectors, which are not determined: it "
    "has "
    "no gradient. Use a loss that keeps its value when U and V are multiplied by the same phases.",
    "linalg.eigh: the loss depends on the phases of complex eigenvectors, which are not determined: it has "
    "no "
    "gradient. Use a loss that keeps its value when V is multiplied by phases.",
    "linalg.svd: the loss depends on which basis of the null space full_matrices=True returns, which is not "
    "determined: it has no gradient. Use a loss of the projector on it, or full_matrices=False.",
    "linalg.qr: the loss depends on which basis of the complement mode='complete' returns, which is not "
    "determined: it has no gradient. Use a loss of the projector on it, or mode='reduced'."};

// The largest imaginary part of the diagonal (phases), or entry of the skew part (any rotation).
template <class T>
double free_part(const Matrices<T>& z, int64_t i, bool rotations) {
  auto at = [&](int64_t r, int64_t k) { return z[i][r * z.row_stride + k * z.col_stride]; };
  double most = 0;
  for (int64_t r = 0; r < z.rows; ++r) {
    most = std::max(most, std::abs(double(std::imag(at(r, r)))));
    for (int64_t k = 0; rotations && k < r; ++k) {
      T conjugate = at(k, r);
      if constexpr (is_complex_v<T>) conjugate = std::conj(conjugate);
      most = std::max(most, double(std::abs(at(r, k) - conjugate)) / 2);
    }
  }
  return most;
}

template <class T>
double squared_norm(const Matrices<T>& x, int64_t i) {
  double sum = 0;
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t k = 0; k < x.cols; ++k) {
      double modulus = std::abs(x[i][r * x.row_stride + k * x.col_stride]);
      sum += modulus * modulus;
    }
  return sum;
}

template <class T>
bool depends_on_gauge(const Call& c, bool rotations) {
  auto z = linalg::matrices<T>(*c.in[0]);
  if (z.empty()) return false;
  for (int64_t i = 0; i < z.count(); ++i) {
    double part = free_part(z, i, rotations), scale = 0;
    if (part == 0) continue;
    for (size_t k = 1; k < c.in.size(); ++k) scale += squared_norm(linalg::matrices<T>(*c.in[k]), i);
    if (part > noise<real_t<T>>() * std::sqrt(scale)) return true;
  }
  return false;
}

void check_gauge_kernel(const Call& c, Tensor*) {
  const int64_t kind = c.attrs.scalar(0);
  bool depends =
      visit_inexact(c.in[0]->dtype, [&]<class T>(Type<T>) { return depends_on_gauge<T>(c, kind >= 2); });
  if (depends) fail(ErrorKind::Gauge, kGaugeProblem[kind]);
}

void infer_nothing(const Call&, Meta*) {}

template <class Divisor>
void register_divide(const char* name) {
  register_primitive({.name = name,
                      .n_in = 2,
                      .n_out = 1,
                      .infer = infer_divide<Divisor>,
                      .kernel = divide_kernel<Divisor>});
}

}  // namespace

void register_linalg_spectral() {
  register_divide<Gap>("gap_divide");
  register_divide<Sum>("sum_divide");
  register_divide<One>("value_divide");
  register_primitive({.name = "check_ties",
                      .n_in = 3,
                      .n_out = 0,
                      .infer = infer_nothing,
                      .kernel = check_ties_kernel,
                      .flags = kEffect});
  register_primitive({.name = "check_gauge",
                      .n_in = -1,
                      .n_out = 0,
                      .infer = infer_nothing,
                      .kernel = check_gauge_kernel,
                      .flags = kEffect});
}

}  // namespace tn
