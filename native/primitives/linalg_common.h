// What the kernels of linear algebra share: stacks of matrices over leading axes, dense column-major copies
// of them, the finite check, and errors that name the batch index.
#pragma once
#include <cmath>
#include <cstring>
#include <limits>

#include "core/observe.h"
#include "core/visit.h"
#include "kernels/table.h"
#include "primitives/primitive.h"

namespace tn::linalg {

// Offsets, in elements, of the matrices of a stack, numbered in row-major order of the leading axes.
class Offsets {
 public:
  Offsets(std::span<const int64_t> shape, std::span<const int64_t> strides);
  int64_t count() const { return count_; }
  int64_t operator[](int64_t i) const {
    int64_t offset = 0;
    for (int k = shape_.size() - 1; k > 0; --k) {
      offset += i % shape_[k] * strides_[k];
      i /= shape_[k];
    }
    return shape_.empty() ? offset : offset + i * strides_[0];
  }

 private:
  int64_t count_;
  Dims shape_, strides_;  // neighbouring axes that one stride describes are merged
};

// The matrices in the trailing axes of a tensor. Holds no reference to it.
template <class T>
struct Matrices {
  T* data;
  int64_t rows, cols, row_stride, col_stride;
  Offsets offsets;

  int64_t count() const { return offsets.count(); }
  T* operator[](int64_t i) const { return data + offsets[i]; }
  bool empty() const { return rows == 0 || cols == 0 || count() == 0; }
  // Row-major: what lies column-major in memory is the transpose.
  bool transposed() const { return row_stride != 1 && col_stride == 1 && rows > 1; }
  Matrices transpose() const { return {data, cols, rows, col_stride, row_stride, offsets}; }
};

template <class T>
Matrices<T> matrices(const Tensor& t) {
  const int n = t.ndim() - 2;
  const std::span<const int64_t> shape = t.shape(), strides = t.strides();
  return {t.as<T>(),  shape[n],       shape[n + 1],
          strides[n], strides[n + 1], Offsets(shape.first(n), strides.first(n))};
}

// A stack of vectors as n x 1 matrices.
template <class T>
Matrices<T> columns(const Tensor& t) {
  const int n = t.ndim() - 1;
  const std::span<const int64_t> shape = t.shape(), strides = t.strides();
  return {t.as<T>(),
          shape[n],
          1,
          strides[n],
          std::max<int64_t>(1, shape[n]),
          Offsets(shape.first(n), strides.first(n))};
}

// The same matrices without repeats: leading axes of stride 0 shrink to length 1.
Tensor without_repeats(const Tensor& t);
// Undoes it on an output: leading axes of length 1 are repeated up to `batch`.
Tensor with_repeats(const Tensor& t, std::span<const int64_t> batch);

// A leading dimension as LAPACK accepts it.
inline int64_t leading(int64_t rows) { return std::max<int64_t>(1, rows); }

// to (column-major, leading dimension ld) = from (any strides).
template <class T>
void copy_matrix(const T* from, int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride, T* to,
                 int64_t ld) {
  observe::copy(rows * cols * sizeof(T));
  if (row_stride == 1) {
    if (col_stride == ld && ld == rows) {
      std::memcpy(to, from, rows * cols * sizeof(T));
      return;
    }
    for (int64_t j = 0; j < cols; ++j) std::memcpy(to + j * ld, from + j * col_stride, rows * sizeof(T));
    return;
  }
  if (col_stride == 1)
    return kernels().transpose2d[size_index(sizeof(T))](from, row_stride, to, ld, rows, cols);
  constexpr int64_t kBlock = 64 / sizeof(T) * 2;
  for (int64_t i0 = 0; i0 < rows; i0 += kBlock)
    for (int64_t j0 = 0; j0 < cols; j0 += kBlock) {
      const int64_t i1 = std::min(i0 + kBlock, rows), j1 = std::min(j0 + kBlock, cols);
      for (int64_t j = j0; j < j1; ++j)
        for (int64_t i = i0; i < i1; ++i) to[j * ld + i] = from[i * row_stride + j * col_stride];
    }
}

// Matrix i of a stack as dense column-major memory.
template <class T>
void copy_matrix(const Matrices<T>& from, int64_t i, T* to) {
  copy_matrix(from[i], from.rows, from.cols, from.row_stride, from.col_stride, to, leading(from.rows));
}

// Sum of absolute values of n contiguous reals; NaN or Inf if one of them is, or if the sum overflows.
float absolute_sum(const float* x, int64_t n);
double absolute_sum(const double* x, int64_t n);

// Whether n contiguous reals are finite, the slow way that tells an overflowing sum from Inf.
template <class R>
bool all_finite(const R* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    if (!std::isfinite(x[i])) return false;
  return true;
}

// The 1-norm of a matrix from its columns, |re| + |im| standing for the modulus.
template <class T>
class FiniteNorm {
  using R = real_t<T>;

 public:
  void add(const T* column, int64_t rows) {
    const auto* x = reinterpret_cast<const R*>(column);
    const int64_t n = rows * static_cast<int64_t>(sizeof(T) / sizeof(R));
    const R sum = absolute_sum(x, n);
    if (!std::isfinite(sum)) finite_ = finite_ && all_finite(x, n);
    norm_ = std::max(norm_, sum);
  }
  // NaN if, and only if, an element is NaN or Inf.
  R value() const { return finite_ ? norm_ : std::numeric_limits<R>::quiet_NaN(); }

 private:
  R norm_ = 0;
  bool finite_ = true;
};

template <class T>
real_t<T> finite_norm(const T* a, int64_t rows, int64_t cols, int64_t ld) {
  FiniteNorm<T> norm;
  for (int64_t j = 0; j < cols; ++j) norm.add(a + j * ld, rows);
  return norm.value();
}

// copy_matrix and finite_norm in one pass where columns are contiguous.
template <class T>
real_t<T> copy_finite(const Matrices<T>& from, int64_t i, T* to) {
  if (from.row_stride != 1) {
    copy_matrix(from, i, to);
    return finite_norm(to, from.rows, from.cols, from.rows);
  }
  observe::copy(from.rows * from.cols * sizeof(T));
  FiniteNorm<T> norm;
  for (int64_t j = 0; j < from.cols; ++j, to += from.rows) {
    std::memcpy(to, from[i] + j * from.col_stride, from.rows * sizeof(T));
    norm.add(to, from.rows);
  }
  return norm.value();
}

template <class T>
void fill_nan(const Matrices<T>& out, int64_t i) {
  for (int64_t r = 0; r < out.rows; ++r)
    for (int64_t c = 0; c < out.cols; ++c)
      out[i][r * out.row_stride + c * out.col_stride] = std::numeric_limits<real_t<T>>::quiet_NaN();
}

constexpr int64_t kNotFinite = -1;  // info of a matrix that holds NaN or Inf

// The first matrix of a batch that failed, kept until the interpreter lock is held again.
struct Failure {
  int64_t index = -1;
  int64_t info = 0;
  void note(int64_t i, int64_t matrix_info) {
    if (matrix_info != 0 && index < 0) *this = {i, matrix_info};
  }
  explicit operator bool() const { return index >= 0; }
};

// " at batch index 2", " at batch index (1, 2)", or nothing where there are no leading axes.
std::string at_batch(std::span<const int64_t> batch, int64_t i);
// "linalg.svd: a contains NaN or Inf at batch index 2."
[[noreturn]] void fail_not_finite(const char* who, std::span<const int64_t> batch, int64_t i);
// What failed, and optionally what info counts: "is not positive definite", "the leading minor of order ",
// " is not positive".
struct Problem {
  const char* what;
  const char* before = nullptr;
  const char* after = "";
  Problem(const char* what) : what(what) {}
  Problem(const char* what, const char* before, const char* after)
      : what(what), before(before), after(after) {}
};
// Raises what `failure` noted: NaN or Inf, or the problem with its info.
void raise_failure(const char* who, const Problem& problem, std::span<const int64_t> batch,
                   const Failure& failure);

inline std::span<const int64_t> batch_of(const Tensor& t, int trailing = 2) {
  return std::span<const int64_t>(t.shape()).first(t.ndim() - trailing);
}

// Whether so much arithmetic is worth leaving the interpreter lock for.
inline bool worth_unlocking(int64_t flops) { return flops > 20000; }

}  // namespace tn::linalg
