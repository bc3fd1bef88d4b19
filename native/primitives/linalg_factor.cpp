// The LU factorization that users see, in LAPACK's form, and the permutation that goes with it.
#include <numeric>

#include "primitives/linalg.h"
#include "primitives/linalg_common.h"
#include "primitives/linalg_pivots.h"
#include "providers/lapack.h"

namespace tn {
namespace {

using namespace linalg;

// ---- lu_factor: (a, m x n) -> lu, pivots (row k was exchanged with row pivots[k]), info; attribute: raises

void infer_lu_factor(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  if (a.ndim() < 2)
    fail(ErrorKind::Value, "linalg.lu_factor: a must have at least 2 axes, got shape ", show(a.shape()), ".");
  out[0] = {a.dtype, a.shape()};
  Dims shape(batch_of(a));
  out[2] = {DType::I32, shape};
  shape.push_back(std::min(a.shape()[a.ndim() - 1], a.shape()[a.ndim() - 2]));
  out[1] = {DType::I32, shape};
}

// Zero for the first pivot of a square matrix that is zero to working precision; info.
template <class T>
int64_t clear_zero_pivot(T* lu, int64_t n, real_t<T> norm, int64_t info) {
  const int64_t zero = zero_pivot(lu, n, info ? info - 1 : n, norm);
  if (zero == 0) return info;
  lu[(zero - 1) * (n + 1)] = 0;
  return zero;
}

template <class T>
int64_t factor(const Matrices<T>& a, int64_t i, T* lu, int32_t* pivots) {
  const int64_t smaller = std::min(a.rows, a.cols);
  const real_t<T> norm = copy_finite(a, i, lu);
  int64_t info = kNotFinite;
  if (std::isnan(norm))
    std::iota(pivots, pivots + smaller, 1);
  else
    info = lapack::lu(a.rows, a.cols, lu, leading(a.rows), pivots);
  if (info >= 0 && a.rows == a.cols) info = clear_zero_pivot(lu, smaller, norm, info);
  for (int64_t k = 0; k < smaller; ++k) --pivots[k];
  return info;
}

// Only NaN and Inf are failures: a singular matrix has factors.
void lu_factor(const Call& c, Tensor* out) {
  Meta meta[3];
  infer_lu_factor(c, meta);
  const Tensor once = without_repeats(*c.in[0]);
  const auto batch = batch_of(*c.in[0]);
  Tensor lu = empty(once.dtype, Layout::column_major(once.shape()));
  Dims pivot_shape(batch_of(once));
  Tensor info = empty(DType::I32, pivot_shape);
  pivot_shape.push_back(meta[1].shape.back());
  Tensor pivots = empty(DType::I32, pivot_shape);
  Failure failure;
  visit_inexact(once.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> a = matrices<T>(once);
    const int64_t smaller = pivot_shape.back();
    Unlocked unlocked(worth_unlocking(a.count() * a.rows * a.cols * smaller));
    for (int64_t i = 0; i < a.count(); ++i) {
      const int64_t code =
          smaller == 0 ? 0
                       : factor(a, i, lu.as<T>() + i * a.rows * a.cols, pivots.as<int32_t>() + i * smaller);
      info.as<int32_t>()[i] = static_cast<int32_t>(code);
      if (code == kNotFinite) failure.note(i, code);
    }
  });
  if (failure && c.attrs.scalar(0)) fail_not_finite("linalg.lu_factor", batch_of(once), failure.index);
  if (c.wants(0)) out[0] = with_repeats(lu, batch);
  if (c.wants(1)) out[1] = with_repeats(pivots, batch);
  if (c.wants(2)) out[2] = with_repeats(info, batch);
}

// ---- permute_rows: (x, pivots) -> the rows of x after these exchanges; attribute: inverse

bool permutes_vector(const Call& c) { return c.in[0]->ndim() == c.in[1]->ndim(); }

void infer_permute_rows(const Call& c, Meta* out) {
  const Tensor &x = *c.in[0], &pivots = *c.in[1];
  const int trailing = permutes_vector(c) ? 1 : 2;
  if (x.ndim() - trailing != pivots.ndim() - 1 ||
      !std::ranges::equal(batch_of(x, trailing), batch_of(pivots, 1)) ||
      pivots.shape().back() > x.shape()[x.ndim() - trailing])
    fail(ErrorKind::Value, "permute_rows: shapes do not fit, got ", show(x.shape()), " and ",
         show(pivots.shape()), ".");
  if (pivots.dtype != DType::I32)
    fail(ErrorKind::Type, "permute_rows: pivots must be int32, got ", name(pivots.dtype), ".");
  *out = {x.dtype, x.shape()};
}

// order[i]: which row comes to place i.
void row_order(const Matrices<int32_t>& pivots, int64_t i, int64_t rows, int64_t* order) {
  std::iota(order, order + rows, int64_t{0});
  for (int64_t k = 0; k < pivots.rows; ++k) {
    const int64_t other = pivots[i][k * pivots.row_stride];
    if (other < 0 || other >= rows)
      fail(ErrorKind::Index, "linalg.lu: pivot ", other, " is out of bounds for ", rows, " rows.");
    std::swap(order[k], order[other]);
  }
}

// y[i] = x[order[i]], or with `inverse` y[order[i]] = x[i], for `count` items of one element and their
// strides.
template <class T>
void permute_items(const T* x, int64_t x_stride, const int64_t* order, bool inverse, int64_t count, T* y,
                   int64_t y_stride) {
  if (inverse)
    for (int64_t i = 0; i < count; ++i) y[order[i] * y_stride] = x[i * x_stride];
  else
    for (int64_t i = 0; i < count; ++i) y[i * y_stride] = x[order[i] * x_stride];
}

// Whole rows where rows are contiguous, else column by column.
template <class T>
void permute(const Matrices<T>& x, int64_t i, const int64_t* order, bool inverse, const Matrices<T>& y) {
  if (x.col_stride == 1 && y.col_stride == 1) {
    for (int64_t r = 0; r < x.rows; ++r) {
      const T* from = x[i] + (inverse ? r : order[r]) * x.row_stride;
      std::copy(from, from + x.cols, y[i] + (inverse ? order[r] : r) * y.row_stride);
    }
    return;
  }
  for (int64_t c = 0; c < x.cols; ++c)
    permute_items<T>(x[i] + c * x.col_stride, x.row_stride, order, inverse, x.rows, y[i] + c * y.col_stride,
                     y.row_stride);
}

void permute_rows(const Call& c, Tensor* out) {
  Meta meta;
  infer_permute_rows(c, &meta);
  const Tensor& x = *c.in[0];
  const bool vector = permutes_vector(c), inverse = c.attrs.scalar(0);
  const bool keeps_columns = !vector && matrices<char>(x).row_stride == 1;
  *out = empty(x.dtype, keeps_columns ? Layout::column_major(x.shape()) : Layout::c_contiguous(x.shape()));
  visit_inexact(x.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> from = vector ? columns<T>(x) : matrices<T>(x),
                      to = vector ? columns<T>(*out) : matrices<T>(*out);
    const Matrices<int32_t> pivots = columns<int32_t>(*c.in[1]);
    Scratch order(from.rows * sizeof(int64_t));
    for (int64_t i = 0; i < from.count(); ++i) {
      row_order(pivots, i, from.rows, order.as<int64_t>());
      permute(from, i, order.as<int64_t>(), inverse, to);
    }
  });
}

}  // namespace

void register_linalg_factor() {
  register_primitive(
      {.name = "lu_factor", .n_in = 1, .n_out = 3, .infer = infer_lu_factor, .kernel = lu_factor});
  register_primitive(
      {.name = "permute_rows", .n_in = 2, .n_out = 1, .infer = infer_permute_rows, .kernel = permute_rows});
}

}  // namespace tn
