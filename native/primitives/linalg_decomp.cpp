// svd, eigh and qr: one LAPACK driver call per matrix, but for stacks of small real ones (kernels/table.h).
// Operands are handed over in the order in which their memory lies, and what LAPACK leaves is described by
// strides: nothing is transposed but the row-major operand of qr. NaN and Inf never reach LAPACK (gesdd does
// not return from Inf).
#include "primitives/linalg.h"
#include "primitives/linalg_common.h"
#include "primitives/linalg_small.h"
#include "providers/lapack.h"

namespace tn {
namespace {

using linalg::Failure;
using linalg::kNotFinite;
using linalg::leading;
using linalg::Matrices;

void require_matrices(const Tensor& a, const char* who) {
  if (!is_inexact(a.dtype))
    fail(ErrorKind::Type, who, ": a must have a floating-point dtype, got ", name(a.dtype), ".");
  if (a.ndim() < 2)
    fail(ErrorKind::Value, who, ": a must have at least two axes, got shape ", show(a.shape()), ".");
}

Dims with_trailing(const Tensor& a, std::initializer_list<int64_t> trailing) {
  Dims shape(linalg::batch_of(a));
  for (int64_t d : trailing) shape.push_back(d);
  return shape;
}

template <class T>
bool is_finite(const T* a, int64_t count) {
  return std::isfinite(linalg::finite_norm(a, count, 1, count));
}

template <class T>
void set_identity(T* a, int64_t n) {
  std::fill_n(a, n * n, T(0));
  for (int64_t i = 0; i < n; ++i) a[i * (n + 1)] = T(1);
}

// Stacks of real matrices small enough for the kernels that take several at a time. A few are left to LAPACK,
// whose calls an observer sees.
template <class T>
bool is_small(const Matrices<T>& x, int64_t rows, int64_t cols) {
  return !is_complex_v<T> && x.count() >= 16 && rows <= kSmallRows && cols <= kSmallCols;
}

// Runs `decompose(i)`, which returns LAPACK's info, for every matrix until one fails; before it, if `small`,
// `decompose_all(kernels, matrices, done)`, which leaves only some of them.
template <class T, class All, class One>
Failure each_matrix(const Matrices<T>& x, int64_t flops, bool small, All&& decompose_all, One&& decompose) {
  Unlocked unlocked(linalg::worth_unlocking(flops * x.count()));
  Scratch flags(small ? x.count() : 0);
  bool* done = flags.as<bool>();
  if (small) decompose_all(kernels().small[sizeof(T) == sizeof(double)], linalg::SmallStack<T>(x), done);
  Failure failure;
  for (int64_t i = 0; i < x.count() && !failure; ++i)
    if (!small || !done[i]) failure.note(i, decompose(i));
  return failure;
}

// Runs `of_distinct(Type<T>, a)` on the operand without its repeats (leading axes of stride 0).
template <class F>
void decompose_distinct(const Call& c, Tensor* out, int n_out, F&& of_distinct) {
  const Tensor& a = *c.in[0];
  Tensor distinct = linalg::without_repeats(a);
  visit_inexact(a.dtype, [&]<class T>(Type<T> type) { of_distinct(type, distinct); });
  for (int j = 0; j < n_out; ++j)
    out[j] = c.wants(j) ? linalg::with_repeats(out[j], linalg::batch_of(a)) : Tensor();
}

// ---- svd (a; full): U, s, Vh

struct SvdShape {
  int64_t m, n, k, u_cols, vh_rows;
};

SvdShape svd_shape(const Tensor& a, bool full) {
  int64_t m = a.shape()[a.ndim() - 2], n = a.shape()[a.ndim() - 1], k = std::min(m, n);
  return {m, n, k, full ? m : k, full ? n : k};
}

void infer_svd(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  require_matrices(a, "linalg.svd");
  auto [m, n, k, u_cols, vh_rows] = svd_shape(a, c.attrs.scalar(0));
  out[0] = {a.dtype, with_trailing(a, {m, u_cols})};
  out[1] = {real_of(a.dtype), with_trailing(a, {k})};
  out[2] = {a.dtype, with_trailing(a, {vh_rows, n})};
}

// The factors of p x q matrices as their memory lies: left p x left_cols, right right_rows x q.
template <class T>
struct SvdFactors {
  char job;
  T* left;
  int64_t left_cols;
  real_t<T>* s;
  T* right;
  int64_t right_rows;
};

template <class T>
Failure svd_of_columns(const Matrices<T>& x, bool small, const SvdFactors<T>& f) {
  int64_t p = x.rows, q = x.cols, k = std::min(p, q);
  Scratch copy(p * q * sizeof(T));
  lapack::Svd<T> svd(f.job, p, q);
  auto all = [&](const SmallKernels& kernels, const SmallMatrices& a, bool* done) {
    kernels.svd(a, f.left, f.s, f.right, done);
  };
  return each_matrix(x, p * q * k, small, all, [&](int64_t i) {
    linalg::copy_matrix(x, i, copy.as<T>());
    if (!is_finite(copy.as<T>(), p * q)) return kNotFinite;
    return svd(copy.as<T>(), p, f.s + i * k, f.left + i * p * f.left_cols, p, f.right + i * f.right_rows * q,
               leading(f.right_rows));
  });
}

// Row-major A is A^T in columns, and A^T = (Vh)^T diag(s) U^T: the factors change places. Small ones are
// taken as tall ones, however they lie.
template <class T>
void svd(const Tensor& a, bool full, bool vectors, Tensor* out) {
  auto [m, n, k, u_cols, vh_rows] = svd_shape(a, full);
  Matrices<T> x = linalg::matrices<T>(a);
  bool small = is_small(x, std::max(m, n), k) && (!full || m == n);
  bool flip = small ? m < n : x.transposed() && !is_complex_v<T>;
  auto layout = flip ? Layout::c_contiguous : Layout::column_major;
  Tensor U, s = empty(real_of(a.dtype), with_trailing(a, {k})), Vh;
  if (vectors) {
    U = empty(a.dtype, layout(with_trailing(a, {m, u_cols})));
    Vh = empty(a.dtype, layout(with_trailing(a, {vh_rows, n})));
  }
  if (!vectors) u_cols = vh_rows = 0;
  T *u = U.as<T>(), *vh = Vh.as<T>();
  auto* values = s.as<real_t<T>>();
  char job = !vectors ? 'N' : full ? 'A' : 'S';
  if (!x.empty())
    linalg::raise_failure("linalg.svd", "has an SVD that did not converge", linalg::batch_of(a),
                          flip ? svd_of_columns(x.transpose(), small, {job, vh, vh_rows, values, u, u_cols})
                               : svd_of_columns(x, small, {job, u, u_cols, values, vh, vh_rows}));
  for (int64_t i = 0; k == 0 && vectors && i < x.count(); ++i) {
    set_identity(u + i * u_cols * u_cols, u_cols);
    set_identity(vh + i * vh_rows * vh_rows, vh_rows);
  }
  out[0] = std::move(U);
  out[1] = std::move(s);
  out[2] = std::move(Vh);
}

void svd_kernel(const Call& c, Tensor* out) {
  require_matrices(*c.in[0], "linalg.svd");
  bool vectors = c.wants(0) || c.wants(2);
  decompose_distinct(c, out, 3,
                     [&]<class T>(Type<T>, const Tensor& a) { svd<T>(a, c.attrs.scalar(0), vectors, out); });
}

// ---- eigh (a; lower): w, V

void require_square(const Tensor& a, const char* who) {
  require_matrices(a, who);
  if (a.shape()[a.ndim() - 2] != a.shape()[a.ndim() - 1])
    fail(ErrorKind::Value, who, ": a must be square in its last two axes, got shape ", show(a.shape()), ".");
}

void infer_eigh(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  require_square(a, "linalg.eigh");
  out[0] = {real_of(a.dtype), with_trailing(a, {a.shape().back()})};
  out[1] = {a.dtype, a.shape()};
}

template <class T>
bool triangle_is_finite(const T* a, int64_t n, char uplo) {
  for (int64_t j = 0; j < n; ++j)
    if (!(uplo == 'L' ? is_finite(a + j * n + j, n - j) : is_finite(a + j * n, j + 1))) return false;
  return true;
}

// The matrix in columns, ready to be decomposed in place: row-major A is A^T, and conj(A^T) is A with the
// other triangle.
template <class T>
void load_hermitian(const Matrices<T>& x, int64_t i, T* to) {
  linalg::copy_matrix(x.transposed() ? x.transpose() : x, i, to);
  if constexpr (is_complex_v<T>)
    if (x.transposed())
      for (int64_t e = 0; e < x.rows * x.cols; ++e) to[e] = std::conj(to[e]);
}

template <class T>
void eigh(const Tensor& a, bool lower, bool vectors, Tensor* out) {
  Matrices<T> x = linalg::matrices<T>(a);
  int64_t n = x.rows;
  Tensor w = empty(real_of(a.dtype), with_trailing(a, {n})), V;
  if (vectors) V = empty(a.dtype, Layout::column_major(a.shape()));
  Scratch scratch(vectors || x.empty() ? 0 : n * n * sizeof(T));
  T* in_place = vectors ? V.as<T>() : scratch.as<T>();
  auto* values = w.as<real_t<T>>();
  if (!x.empty()) {
    char uplo = lower != x.transposed() ? 'L' : 'U';
    lapack::Eigh<T> driver(vectors ? 'V' : 'N', uplo, n);
    auto all = [&](const SmallKernels& kernels, const SmallMatrices& m, bool* done) {
      kernels.eigh(m, lower, values, V.as<T>(), done);
    };
    Failure failure = each_matrix(x, n * n * n, is_small(x, n, n), all, [&](int64_t i) {
      T* v = in_place + (vectors ? i * n * n : 0);
      load_hermitian(x, i, v);
      return triangle_is_finite(v, n, uplo) ? driver(v, n, values + i * n) : kNotFinite;
    });
    linalg::raise_failure("linalg.eigh", "has eigenvalues that did not converge", linalg::batch_of(a),
                          failure);
  }
  out[0] = std::move(w);
  out[1] = std::move(V);
}

void eigh_kernel(const Call& c, Tensor* out) {
  require_square(*c.in[0], "linalg.eigh");
  decompose_distinct(
      c, out, 2, [&]<class T>(Type<T>, const Tensor& a) { eigh<T>(a, c.attrs.scalar(0), c.wants(1), out); });
}

// ---- qr (a; complete): Q, R

void infer_qr(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  require_matrices(a, "linalg.qr");
  int64_t m = a.shape()[a.ndim() - 2], n = a.shape()[a.ndim() - 1];
  int64_t r = c.attrs.scalar(0) ? m : std::min(m, n);
  out[0] = {a.dtype, with_trailing(a, {m, r})};
  out[1] = {a.dtype, with_trailing(a, {r, n})};
}

// R (r x n) = the upper triangle of the factor (m x n), zero below; it may be in place where r = m.
template <class T>
void take_upper(const T* factor, int64_t m, int64_t n, T* R, int64_t r) {
  for (int64_t j = 0; j < n; ++j) {
    int64_t filled = std::min(j + 1, r);
    if (R != factor) std::copy_n(factor + j * m, filled, R + j * r);
    std::fill_n(R + j * r + filled, r - filled, T(0));
  }
}

template <class T>
void take_reflectors(const T* factor, int64_t m, int64_t k, T* Q) {
  for (int64_t j = 0; j < k; ++j) std::copy(factor + j * m + j, factor + (j + 1) * m, Q + j * m + j);
}

// The factor is made where the larger part of it stays: in Q if A is tall, in R if not.
template <class T>
Failure qr_into(const Matrices<T>& x, T* Q, T* R, int64_t r) {
  int64_t m = x.rows, n = x.cols, k = std::min(m, n);
  bool tall = m > n;
  Scratch scratch(tall && !Q ? m * n * sizeof(T) : 0), tau(k * sizeof(T));
  lapack::QrFactor<T> factor(m, n);
  lapack::QrForm<T> form(m, r, k);
  auto all = [&](const SmallKernels& kernels, const SmallMatrices& a, bool* done) {
    kernels.qr(a, int(r), Q, R, done);
  };
  return each_matrix(x, m * n * k, is_small(x, m, n), all, [&](int64_t i) {
    T *q = Q ? Q + i * m * r : scratch.as<T>(), *upper = R + i * r * n;
    T* f = tall ? q : upper;
    linalg::copy_matrix(x, i, f);
    if (!is_finite(f, m * n)) return kNotFinite;
    int64_t info = factor(f, m, tau.as<T>());
    if (Q && !tall) take_reflectors(f, m, k, q);
    take_upper(f, m, n, upper, r);
    return info || !Q ? info : form(q, m, tau.as<T>());
  });
}

template <class T>
void qr(const Tensor& a, bool complete, bool wants_q, Tensor* out) {
  Matrices<T> x = linalg::matrices<T>(a);
  int64_t r = complete ? x.rows : std::min(x.rows, x.cols);
  Tensor Q, R = empty(a.dtype, Layout::column_major(with_trailing(a, {r, x.cols})));
  if (wants_q) Q = empty(a.dtype, Layout::column_major(with_trailing(a, {x.rows, r})));
  if (!x.empty())
    linalg::raise_failure("linalg.qr", "was refused by LAPACK", linalg::batch_of(a),
                          qr_into(x, Q.as<T>(), R.as<T>(), r));
  for (int64_t i = 0; wants_q && x.cols == 0 && i < x.count(); ++i) set_identity(Q.as<T>() + i * r * r, r);
  out[0] = std::move(Q);
  out[1] = std::move(R);
}

void qr_kernel(const Call& c, Tensor* out) {
  require_matrices(*c.in[0], "linalg.qr");
  decompose_distinct(
      c, out, 2, [&]<class T>(Type<T>, const Tensor& a) { qr<T>(a, c.attrs.scalar(0), c.wants(0), out); });
}

}  // namespace

void register_linalg_decomp() {
  register_primitive({.name = "svd", .n_in = 1, .n_out = 3, .infer = infer_svd, .kernel = svd_kernel});
  register_primitive({.name = "eigh", .n_in = 1, .n_out = 2, .infer = infer_eigh, .kernel = eigh_kernel});
  register_primitive({.name = "qr", .n_in = 1, .n_out = 2, .infer = infer_qr, .kernel = qr_kernel});
}

}  // namespace tn
