// Determinants and their derivatives. cofactor is d det / dA, right for singular matrices too; its own
// derivative comes from the singular values.
#include <optional>

#include "primitives/linalg.h"
#include "primitives/linalg_lu.h"
#include "providers/lapack.h"

namespace tn {
namespace {

using namespace linalg;

bool odd_swaps(const int32_t* pivots, int64_t n) {
  bool odd = false;
  for (int64_t k = 0; k < n; ++k) odd ^= pivots[k] != k + 1;
  return odd;
}

template <class T>
T determinant(const T* lu, const int32_t* pivots, int64_t n) {
  T d = odd_swaps(pivots, n) ? -1 : 1;
  for (int64_t k = 0; k < n; ++k) d *= lu[k * (n + 1)];
  return d;
}

// ---- det: (a) -> d, lu, pivots. slogdet: (a) -> sign, logabsdet, lu, pivots

void infer_factors(const Tensor& a, Meta* lu, Meta* pivots) {
  *lu = {a.dtype, a.shape()};
  Dims shape(batch_of(a));
  shape.push_back(a.shape().back() + 1);
  *pivots = {DType::I32, shape};
}

void infer_det(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  require_square("linalg.det", a);
  out[0] = {a.dtype, Dims(batch_of(a))};
  infer_factors(a, &out[1], &out[2]);
}

void infer_slogdet(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  require_square("linalg.slogdet", a);
  out[0] = {a.dtype, Dims(batch_of(a))};
  out[1] = {real_of(a.dtype), out[0].shape};
  infer_factors(a, &out[2], &out[3]);
}

Factored finite_factors(const char* who, const Tensor& a) {
  Factored f = factor_square(a, Judge::no);
  for (int64_t i = 0; f.failure && i < f.info.numel(); ++i)
    if (f.info.as<int32_t>()[i] == kNotFinite) fail_not_finite(who, batch_of(f.lu), i);
  return f;
}

void put_factors(const Tensor& a, const Factored& f, Tensor* lu, Tensor* pivots) {
  *lu = with_repeats(f.lu, batch_of(a));
  *pivots = with_repeats(f.pivots, batch_of(a));
}

void det(const Call& c, Tensor* out) {
  Meta meta[3];
  infer_det(c, meta);
  const Factored f = finite_factors("linalg.det", *c.in[0]);
  const int64_t n = c.in[0]->shape().back();
  Tensor d = empty(f.lu.dtype, batch_of(f.lu));
  visit_inexact(f.lu.dtype, [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < d.numel(); ++i)
      d.as<T>()[i] = determinant(f.lu.as<T>() + i * n * n, f.pivots.as<int32_t>() + i * (n + 1), n);
  });
  out[0] = with_repeats(d, batch_of(*c.in[0]));
  put_factors(*c.in[0], f, &out[1], &out[2]);
}

template <class T>
void log_determinant(const T* lu, const int32_t* pivots, int64_t n, T* sign, real_t<T>* log) {
  *sign = odd_swaps(pivots, n) ? -1 : 1;
  *log = 0;
  for (int64_t k = 0; k < n; ++k) {
    const T u = lu[k * (n + 1)];
    const real_t<T> size = std::abs(u);
    *log += std::log(size);
    *sign *= size == 0 ? T(0) : u / size;
  }
}

void slogdet(const Call& c, Tensor* out) {
  Meta meta[4];
  infer_slogdet(c, meta);
  const Factored f = finite_factors("linalg.slogdet", *c.in[0]);
  const int64_t n = c.in[0]->shape().back();
  Tensor sign = empty(f.lu.dtype, batch_of(f.lu)), log = empty(meta[1].dtype, batch_of(f.lu));
  visit_inexact(f.lu.dtype, [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < sign.numel(); ++i)
      log_determinant(f.lu.as<T>() + i * n * n, f.pivots.as<int32_t>() + i * (n + 1), n, sign.as<T>() + i,
                      log.as<real_t<T>>() + i);
  });
  const auto batch = batch_of(*c.in[0]);
  out[0] = with_repeats(sign, batch);
  out[1] = with_repeats(log, batch);
  put_factors(*c.in[0], f, &out[2], &out[3]);
}

// ---- cofactor: (a, lu, pivots) -> C, C[i, j] = d det(a) / d a[i, j]

// A = U diag(s) Vh and the phase det(U) det(Vh), so that det(A) is the phase times the product of s.
template <class T>
class Spectrum {
 public:
  explicit Spectrum(int64_t n)
      : n_(n),
        svd_('S', n, n),
        memory_((4 * n * n) * sizeof(T) + n * sizeof(real_t<T>)),
        pivots_(n * sizeof(int32_t)) {}

  void of(const Matrices<T>& a, int64_t i) {
    copy_matrix(a, i, work());
    if (svd_(work(), n_, s(), U(), n_, Vh(), n_) != 0)
      fail(ErrorKind::LinAlg, "linalg.det: the SVD in the derivative did not converge.");
    phase_ = unit_determinant(U()) * unit_determinant(Vh());
  }
  T* U() const { return memory_.template as<T>(); }
  T* Vh() const { return U() + n_ * n_; }
  T* work() const { return U() + 2 * n_ * n_; }
  T* more_work() const { return U() + 3 * n_ * n_; }
  real_t<T>* s() const { return reinterpret_cast<real_t<T>*>(U() + 4 * n_ * n_); }

  // C = phase conj(U) K conj(Vh), written through the strides of `out`; K column-major, destroyed.
  void compose(T* K, const Matrices<T>& out, int64_t i) const {
    T* half = K == work() ? more_work() : work();
    conjugate(K, n_ * n_);
    providers::gemm('N', 'N', n_, n_, n_, T(1), U(), n_, K, n_, T(0), half, n_);
    providers::gemm('N', 'N', n_, n_, n_, T(1), half, n_, Vh(), n_, T(0), K, n_);
    conjugate(K, n_ * n_);
    for (int64_t c = 0; c < n_; ++c)
      for (int64_t r = 0; r < n_; ++r)
        out[i][r * out.row_stride + c * out.col_stride] = phase_ * K[c * n_ + r];
  }

 private:
  T unit_determinant(const T* Q) const {
    T* lu = work();
    std::memcpy(lu, Q, n_ * n_ * sizeof(T));
    lapack::lu(n_, n_, lu, n_, pivots_.template as<int32_t>());
    const T d = determinant(lu, pivots_.template as<int32_t>(), n_);
    return d / std::abs(d);
  }
  int64_t n_;
  lapack::Svd<T> svd_;
  Scratch memory_, pivots_;
  T phase_ = 1;
};

// The product of s without entries i and j.
template <class R>
R product_without(const R* s, int64_t n, int64_t i, int64_t j) {
  R p = 1;
  for (int64_t k = 0; k < n; ++k)
    if (k != i && k != j) p *= s[k];
  return p;
}

template <class T>
void cofactor_of_singular(Spectrum<T>& spectrum, const Matrices<T>& a, int64_t i, const Matrices<T>& out) {
  const int64_t n = a.rows;
  spectrum.of(a, i);
  T* K = spectrum.work();
  std::fill(K, K + n * n, T(0));
  for (int64_t k = 0; k < n; ++k) K[k * (n + 1)] = product_without(spectrum.s(), n, k, k);
  spectrum.compose(K, out, i);
}

// det(F) F^-1 is the transpose of F's cofactor matrix.
template <class T>
void cofactor_of_regular(const lapack::LuInverse<T>& invert, const Matrices<T>& lu, const int32_t* pivots,
                         int64_t i, T* inverse, const Matrices<T>& out) {
  const int64_t n = lu.rows;
  copy_matrix(lu, i, inverse);
  const T d = determinant(inverse, pivots, n);
  invert(inverse, n, pivots);
  const bool of_transpose = pivots[n] != 0;
  const int64_t row = of_transpose ? out.row_stride : out.col_stride,
                col = of_transpose ? out.col_stride : out.row_stride;
  for (int64_t c = 0; c < n; ++c)
    for (int64_t r = 0; r < n; ++r) out[i][r * row + c * col] = d * inverse[c * n + r];
}

void infer_cofactor(const Call& c, Meta* out) { *out = {c.in[0]->dtype, c.in[0]->shape()}; }

void cofactor(const Call& c, Tensor* out) {
  const Tensor& a = *c.in[0];
  const int64_t n = a.shape().back();
  if (a.numel() == 0) return void(*out = empty(a.dtype, a.shape()));
  const bool of_transpose = c.in[2]->as<int32_t>()[n] != 0;
  *out = empty(a.dtype, of_transpose ? Layout::column_major(a.shape()) : Layout::c_contiguous(a.shape()));
  visit_inexact(a.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> from = matrices<T>(a), lu = matrices<T>(*c.in[1]), to = matrices<T>(*out);
    const Matrices<int32_t> pivots = columns<int32_t>(*c.in[2]);
    Unlocked unlocked(worth_unlocking(from.count() * n * n * n));
    const lapack::LuInverse<T> invert(n);
    std::optional<Spectrum<T>> spectrum;
    Scratch inverse(n * n * sizeof(T));
    for (int64_t i = 0; i < from.count(); ++i) {
      if (!suspicious(lu, i)) {
        cofactor_of_regular(invert, lu, pivots[i], i, inverse.as<T>(), to);
        continue;
      }
      if (!spectrum) spectrum.emplace(n);
      cofactor_of_singular(*spectrum, from, i, to);
    }
  });
}

// ---- cofactor_derivative: (a, G) -> the derivative of the cofactor matrix of a along G

// cof(S + E) to first order, S = diag(s): its diagonal is the sum of gamma[i, j] E[j, j], and off the
// diagonal it is -gamma[i, j] E[j, i], with gamma[i, j] the product of s without entries i and j.
template <class T>
void second_minors(const real_t<T>* s, const T* E, int64_t n, T* K) {
  std::fill(K, K + n * n, T(0));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const real_t<T> gamma = product_without(s, n, i, j);
      K[i * (n + 1)] += gamma * E[j * (n + 1)];
      K[j * n + i] = -gamma * E[i * n + j];
    }
}

void infer_cofactor_derivative(const Call& c, Meta* out) {
  const Tensor &a = *c.in[0], &g = *c.in[1];
  require_square("linalg.det", a);
  if (a.shape() != g.shape() || a.dtype != g.dtype)
    fail(ErrorKind::Value, "cofactor_derivative: operands must agree, got shapes ", show(a.shape()), " and ",
         show(g.shape()), ".");
  *out = {a.dtype, a.shape()};
}

template <class T>
void cofactor_derivative_one(Spectrum<T>& spectrum, const Matrices<T>& a, const Matrices<T>& g, int64_t i,
                             const Matrices<T>& out) {
  const int64_t n = a.rows;
  spectrum.of(a, i);
  T *G = spectrum.work(), *half = spectrum.more_work();
  copy_matrix(g, i, G);
  providers::gemm(providers::kAdjoint<T>, 'N', n, n, n, T(1), spectrum.U(), n, G, n, T(0), half, n);
  providers::gemm('N', providers::kAdjoint<T>, n, n, n, T(1), half, n, spectrum.Vh(), n, T(0), G, n);
  second_minors(spectrum.s(), G, n, half);
  spectrum.compose(half, out, i);
}

void cofactor_derivative(const Call& c, Tensor* out) {
  Meta meta;
  infer_cofactor_derivative(c, &meta);
  *out = empty(meta);
  if (out->numel() == 0) return;
  visit_inexact(meta.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> a = matrices<T>(*c.in[0]), g = matrices<T>(*c.in[1]), to = matrices<T>(*out);
    Unlocked unlocked(worth_unlocking(a.count() * a.rows * a.rows * a.rows));
    Spectrum<T> spectrum(a.rows);
    for (int64_t i = 0; i < a.count(); ++i) cofactor_derivative_one(spectrum, a, g, i, to);
  });
}

}  // namespace

void register_linalg_det() {
  register_primitive(
      {.name = "det", .n_in = 1, .n_out = 3, .infer = infer_det, .kernel = det, .hidden = 0b110});
  register_primitive({.name = "slogdet",
                      .n_in = 1,
                      .n_out = 4,
                      .infer = infer_slogdet,
                      .kernel = slogdet,
                      .hidden = 0b1100});
  register_primitive(
      {.name = "cofactor", .n_in = 3, .n_out = 1, .infer = infer_cofactor, .kernel = cofactor});
  register_primitive({.name = "cofactor_derivative",
                      .n_in = 2,
                      .n_out = 1,
                      .infer = infer_cofactor_derivative,
                      .kernel = cofactor_derivative});
}

}  // namespace tn
