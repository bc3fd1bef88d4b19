// Triangles: solve_triangular, cholesky, solve_pos, and the linear maps of their derivatives.
#include "primitives/linalg.h"
#include "primitives/linalg_lu.h"
#include "providers/lapack.h"

namespace tn {
namespace {

using namespace linalg;

// ---- solve_triangular: (a, b) -> op(a)^-1 b, or b op(a)^-1
// attributes: upper, transposed, conjugated, unit_diagonal, left

struct Triangle {
  bool upper, transposed, conjugated, unit_diagonal, left;
};

Triangle triangle_of(const Attrs& attrs) {
  return {attrs.scalar(0) != 0, attrs.scalar(1) != 0, attrs.scalar(2) != 0, attrs.scalar(3) != 0,
          attrs.scalar(4) != 0};
}

void infer_triangular(const Call& c, Meta* out) {
  const Tensor &a = *c.in[0], &b = *c.in[1];
  require_square("linalg.solve_triangular", a);
  if (c.attrs.scalar(4) || is_vector(a, b)) {
    require_right_side("linalg.solve_triangular", a, b);
  } else {
    Tensor across;
    across.dtype = b.dtype;
    across.layout = b.layout;
    std::swap(across.layout.shape[b.ndim() - 1], across.layout.shape[b.ndim() - 2]);
    require_right_side("linalg.solve_triangular", a, across);
  }
  *out = {b.dtype, b.shape()};
}

template <class T>
Failure zero_on_diagonal(const Matrices<T>& a) {
  Failure failure;
  for (int64_t i = 0; i < a.count() && !failure; ++i)
    for (int64_t k = 0; k < a.rows; ++k)
      if (a[i][k * (a.row_stride + a.col_stride)] == T(0)) failure.note(i, k + 1);
  return failure;
}

// A column-major matrix that BLAS reads in place, or a dense copy of it.
template <class T>
class Readable {
 public:
  explicit Readable(const Matrices<T>& a)
      : a_(a),
        in_place_((a.row_stride == 1 || a.rows == 1) && a.col_stride >= a.rows),
        copy_(in_place_ ? 0 : a.rows * a.cols * sizeof(T)) {}
  int64_t ld() const { return in_place_ ? leading(a_.col_stride) : leading(a_.rows); }
  const T* operator[](int64_t i) const {
    if (in_place_) return a_[i];
    copy_matrix(a_, i, copy_.template as<T>());
    return copy_.template as<T>();
  }

 private:
  Matrices<T> a_;
  bool in_place_;
  Scratch copy_;
};

// In terms of what lies column-major in memory: transposing X swaps the sides, transposing A swaps the
// triangles.
template <class T>
void solve_triangles(const Matrices<T>& a, Triangle t, const Matrices<T>& b, const Matrices<T>& x) {
  const bool a_flipped = a.transposed(), x_flipped = x.transposed();
  const Matrices<T> to = x_flipped ? x.transpose() : x, from = x_flipped ? b.transpose() : b;
  const Readable<T> triangle(a_flipped ? a.transpose() : a);
  const bool transposed = (t.transposed != x_flipped) != a_flipped;
  const bool flip = t.conjugated && !transposed && is_complex_v<T>;
  const char side = t.left != x_flipped ? 'L' : 'R', uplo = t.upper != a_flipped ? 'U' : 'L',
             trans = !transposed    ? 'N'
                     : t.conjugated ? providers::kAdjoint<T>
                                    : 'T';
  for (int64_t i = 0; i < to.count(); ++i) {
    copy_matrix(from, i, to[i]);
    if (flip) conjugate(to[i], to.rows * to.cols);
    providers::trsm(side, uplo, trans, t.unit_diagonal ? 'U' : 'N', to.rows, to.cols, T(1), triangle[i],
                    triangle.ld(), to[i], leading(to.rows));
    if (flip) conjugate(to[i], to.rows * to.cols);
  }
}

// Row-major where b is, else column-major.
Tensor like_triangular_side(const Tensor& a, const Tensor& b) {
  if (is_vector(a, b)) return empty(b.dtype, b.shape());
  const int n = b.ndim();
  const bool row_major = b.strides()[n - 1] == 1 && b.strides()[n - 2] != 1;
  return empty(b.dtype, row_major ? Layout::c_contiguous(b.shape()) : Layout::column_major(b.shape()));
}

void solve_triangular(const Call& c, Tensor* out) {
  Meta meta;
  infer_triangular(c, &meta);
  const Tensor &a = *c.in[0], &b = *c.in[1];
  Triangle t = triangle_of(c.attrs);
  if (is_vector(a, b) && !t.left) {  // b A^-1 = A^-T b
    t.left = true;
    t.transposed = !t.transposed;
  }
  *out = like_triangular_side(a, b);
  if (out->numel() == 0) return;
  Failure failure;
  visit_inexact(a.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> triangles = matrices<T>(a), from = right_side<T>(a, b), to = right_side<T>(a, *out);
    if (!t.unit_diagonal) failure = zero_on_diagonal(triangles);
    if (failure) return;
    Unlocked unlocked(worth_unlocking(b.numel() * a.shape().back()));
    solve_triangles(triangles, t, from, to);
  });
  raise_failure("linalg.solve_triangular", {"is singular", "diagonal element ", " is exactly zero"},
                batch_of(a), failure);
}

// ---- cholesky: (a) -> L or U, info; attributes: upper, raises

const Problem kNotPositive{"is not positive definite", "the leading minor of order ", " is not positive"};

// One triangle of `from` in column-major `to`, zeros in the other; NaN if an element of it is not finite.
template <class T>
real_t<T> copy_triangle(const Matrices<T>& from, int64_t i, bool upper, T* to) {
  using R = real_t<T>;
  constexpr int64_t parts = sizeof(T) / sizeof(R);
  const int64_t n = from.rows;
  bool finite = true;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t first = upper ? 0 : j, last = upper ? j + 1 : n;
    T* column = to + j * n;
    std::fill(column, column + first, T(0));
    std::fill(column + last, column + n, T(0));
    const T* source = from[i] + j * from.col_stride;
    if (from.row_stride == 1)
      std::memcpy(column + first, source + first, (last - first) * sizeof(T));
    else
      for (int64_t r = first; r < last; ++r) column[r] = source[r * from.row_stride];
    const R* reals = reinterpret_cast<const R*>(column + first);
    if (!std::isfinite(absolute_sum(reals, (last - first) * parts)))
      finite = finite && all_finite(reals, (last - first) * parts);
  }
  observe::copy(n * (n + 1) / 2 * sizeof(T));
  return finite ? R(0) : std::numeric_limits<R>::quiet_NaN();
}

template <class T>
int64_t cholesky_one(const Matrices<T>& from, int64_t i, bool upper, T* to) {
  if (std::isnan(copy_triangle(from, i, upper, to))) return kNotFinite;
  return lapack::cholesky(upper ? 'U' : 'L', from.rows, to, from.rows);
}

struct Cholesky {
  Tensor factor, info;
  Failure failure;
};

// What lies column-major in memory is A or its transpose, which is its conjugate: the factor comes out in the
// orientation of A.
Cholesky cholesky_factor(const Tensor& a, bool upper) {
  const Tensor once = without_repeats(a);
  Cholesky f;
  f.info = empty(DType::I32, batch_of(once));
  visit_inexact(a.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> m = matrices<T>(once);
    const bool flipped = m.transposed();
    const int64_t n = m.rows;
    f.factor =
        empty(a.dtype, flipped ? Layout::c_contiguous(once.shape()) : Layout::column_major(once.shape()));
    if (n == 0) return std::fill_n(f.info.as<int32_t>(), m.count(), 0), void();
    Unlocked unlocked(worth_unlocking(m.count() * n * n * n));
    const Matrices<T> from = flipped ? m.transpose() : m;
    for (int64_t i = 0; i < m.count(); ++i) {
      const int64_t info = cholesky_one(from, i, upper != flipped, f.factor.as<T>() + i * n * n);
      f.info.as<int32_t>()[i] = static_cast<int32_t>(info);
      f.failure.note(i, info);
    }
  });
  return f;
}

void infer_cholesky(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  require_square("linalg.cholesky", a);
  out[0] = {a.dtype, a.shape()};
  out[1] = {DType::I32, Dims(batch_of(a))};
}

void cholesky(const Call& c, Tensor* out) {
  Meta meta[2];
  infer_cholesky(c, meta);
  const Cholesky f = cholesky_factor(*c.in[0], c.attrs.scalar(0));
  if (c.attrs.scalar(1)) raise_failure("linalg.cholesky", kNotPositive, batch_of(f.factor), f.failure);
  if (f.failure) mark_failures(f.info, f.factor);
  const auto batch = batch_of(*c.in[0]);
  if (c.wants(0)) out[0] = with_repeats(f.factor, batch);
  if (c.wants(1)) out[1] = with_repeats(f.info, batch);
}

// ---- solve_pos: (a, b) -> x, L. solve_pos_with: (a: shape only, L, b) -> a^-1 b; attribute: conjugated

void infer_solve_pos(const Call& c, Meta* out) {
  const Tensor &a = *c.in[0], &b = *c.in[1];
  require_square("linalg.solve", a);
  require_right_side("linalg.solve", a, b);
  out[0] = {b.dtype, b.shape()};
  out[1] = {a.dtype, a.shape()};
}

// Row-major L is, column-major, the upper factor of the conjugate.
template <class T>
void solve_with_factor(const Matrices<T>& factor, bool conjugated, const Matrices<T>& b, T* x) {
  const bool flipped = factor.transposed();
  const Readable<T> readable(flipped ? factor.transpose() : factor);
  const bool flip = conjugated != flipped && is_complex_v<T>;
  const int64_t size = b.rows * b.cols;
  for (int64_t i = 0; i < b.count(); ++i, x += size) {
    copy_matrix(b, i, x);
    if (flip) conjugate(x, size);
    lapack::cholesky_solve(flipped ? 'U' : 'L', b.rows, b.cols, readable[i], readable.ld(), x, b.rows);
    if (flip) conjugate(x, size);
  }
}

void solve_from_cholesky(const Tensor& factor, bool conjugated, const Tensor& b, Tensor* x) {
  *x = like_right_side(factor, b);
  if (x->numel() == 0) return;
  visit_inexact(b.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> factors = matrices<T>(factor), from = right_side<T>(factor, b);
    Unlocked unlocked(worth_unlocking(b.numel() * from.rows));
    solve_with_factor(factors, conjugated, from, x->as<T>());
  });
}

void solve_pos(const Call& c, Tensor* out) {
  Meta meta[2];
  infer_solve_pos(c, meta);
  const Cholesky f = cholesky_factor(*c.in[0], false);
  raise_failure("linalg.solve", kNotPositive, batch_of(f.factor), f.failure);
  const Tensor factor = with_repeats(f.factor, batch_of(*c.in[0]));
  if (c.wants(0)) solve_from_cholesky(factor, false, *c.in[1], &out[0]);
  if (c.wants(1)) out[1] = factor;
}

void infer_solve_pos_with(const Call& c, Meta* out) {
  require_right_side("linalg.solve_pos_with", *c.in[0], *c.in[2]);
  *out = {c.in[2]->dtype, c.in[2]->shape()};
}

void solve_pos_with(const Call& c, Tensor* out) {
  Meta meta;
  infer_solve_pos_with(c, &meta);
  solve_from_cholesky(*c.in[1], c.attrs.scalar(0), *c.in[2], out);
}

// ---- hermitian_part: (X) -> (X + X^H) / 2. half_triangle: (X) -> its triangle with half of its diagonal;
// attribute: upper. Both are their own adjoints.

void infer_square(const Call& c, Meta* out) {
  require_square("linalg", *c.in[0]);
  *out = {c.in[0]->dtype, c.in[0]->shape()};
}

template <class T>
T conj_of(T x) {
  if constexpr (is_complex_v<T>)
    return std::conj(x);
  else
    return x;
}

template <class T>
void hermitian_block(const Matrices<T>& x, const T* from, T* to, int64_t i0, int64_t j0, int64_t size) {
  const int64_t n = x.rows, i1 = std::min(n, i0 + size), j1 = std::min(n, j0 + size);
  for (int64_t j = j0; j < j1; ++j)
    for (int64_t i = std::max(i0, j); i < i1; ++i) {
      const T half =
          (from[i * x.row_stride + j * x.col_stride] + conj_of(from[j * x.row_stride + i * x.col_stride])) *
          real_t<T>(0.5);
      to[i * n + j] = half;
      to[j * n + i] = conj_of(half);
    }
}

void hermitian_part(const Call& c, Tensor* out) {
  constexpr int64_t kBlock = 16;
  Meta meta;
  infer_square(c, &meta);
  *out = empty(meta);
  visit_inexact(meta.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> x = matrices<T>(*c.in[0]);
    T* to = out->as<T>();
    Unlocked unlocked(worth_unlocking(out->numel()));
    for (int64_t k = 0; k < x.count(); ++k, to += x.rows * x.rows)
      for (int64_t j = 0; j < x.rows; j += kBlock)
        for (int64_t i = j; i < x.rows; i += kBlock) hermitian_block(x, x[k], to, i, j, kBlock);
  });
}

template <class T>
void half_triangle_row(const T* from, int64_t stride, int64_t i, int64_t n, bool upper, T* to) {
  const int64_t first = upper ? i : 0, last = upper ? n : i + 1;
  std::fill(to, to + first, T(0));
  for (int64_t j = first; j < last; ++j) to[j] = from[j * stride];
  std::fill(to + last, to + n, T(0));
  to[i] *= real_t<T>(0.5);
}

void half_triangle(const Call& c, Tensor* out) {
  Meta meta;
  infer_square(c, &meta);
  visit_inexact(meta.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> given = matrices<T>(*c.in[0]);
    const bool columns_first = given.row_stride == 1 && given.col_stride != 1;
    const Matrices<T> x = columns_first ? given.transpose() : given;
    const bool upper = (c.attrs.scalar(0) != 0) != columns_first;
    *out = empty(meta.dtype,
                 columns_first ? Layout::column_major(meta.shape) : Layout::c_contiguous(meta.shape));
    T* to = out->as<T>();
    Unlocked unlocked(worth_unlocking(out->numel()));
    for (int64_t k = 0; k < x.count(); ++k)
      for (int64_t i = 0; i < x.rows; ++i, to += x.rows)
        half_triangle_row(x[k] + i * x.row_stride, x.col_stride, i, x.rows, upper, to);
  });
}

}  // namespace

void register_linalg_triangular() {
  register_primitive({.name = "solve_triangular",
                      .n_in = 2,
                      .n_out = 1,
                      .infer = infer_triangular,
                      .kernel = solve_triangular});
  register_primitive(
      {.name = "cholesky", .n_in = 1, .n_out = 2, .infer = infer_cholesky, .kernel = cholesky});
  register_primitive({.name = "solve_pos",
                      .n_in = 2,
                      .n_out = 2,
                      .infer = infer_solve_pos,
                      .kernel = solve_pos,
                      .hidden = 0b10});
  register_primitive({.name = "solve_pos_with",
                      .n_in = 3,
                      .n_out = 1,
                      .infer = infer_solve_pos_with,
                      .kernel = solve_pos_with,
                      .shape_only = 0b001});
  register_primitive(
      {.name = "hermitian_part", .n_in = 1, .n_out = 1, .infer = infer_square, .kernel = hermitian_part});
  register_primitive(
      {.name = "half_triangle", .n_in = 1, .n_out = 1, .infer = infer_square, .kernel = half_triangle});
}

}  // namespace tn
