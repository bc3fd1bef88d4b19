#include "kernels/copy.h"

#include "core/observe.h"
#include "kernels/bytes.h"
#include "kernels/nest.h"
#include "kernels/permute.h"

namespace tn {
namespace {

Nest<2> nest_of(const Tensor& dst, const Tensor& src) {
  Nest<2> nest{{}, {}, {dst.data, src.data}};
  auto item = static_cast<int64_t>(itemsize(dst.dtype));
  for (int i = 0; i < dst.ndim(); ++i)
    nest.add(dst.shape()[i], {dst.strides()[i] * item, src.strides()[i] * item});
  nest.simplify();
  return nest;
}

size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.numel()) * itemsize(t.dtype); }

}  // namespace

void move_into(const Tensor& dst, const Tensor& src) {
  permute(nest_of(dst, src), static_cast<int64_t>(itemsize(dst.dtype)));
}

void copy_into(const Tensor& dst, const Tensor& src) {
  observe::copy(bytes_of(dst));
  move_into(dst, src);
}

Tensor copy(const Tensor& t) {
  Tensor out = empty(t.dtype, t.shape());
  copy_into(out, t);
  return out;
}

Tensor contiguous(const Tensor& t) { return t.layout.is_c_contiguous() ? view(t, t.layout) : copy(t); }

void fill(const Tensor& dst, const void* value) {
  Tensor element = scalar(dst.dtype, 0);
  std::memcpy(element.data, value, itemsize(dst.dtype));
  element.layout = {dst.shape(), Dims(dst.ndim(), 0)};
  observe::fill(bytes_of(dst));
  move_into(dst, element);
}

void fill_zero(const Tensor& dst) {
  const uint64_t zero[2] = {0, 0};
  if (!dst.layout.is_dense()) return fill(dst, zero);
  observe::fill(bytes_of(dst));
  std::memset(dst.data, 0, bytes_of(dst));
}

namespace {

// Keeps columns j <= i + k of row i (lower) or j >= i + k, and zeroes the rest. Strides in bytes.
template <class T>
void copy_triangle_rows(char* d, int64_t ds, const char* s, int64_t row, int64_t col, int64_t m, int64_t n,
                        int64_t k, bool lower) {
  for (int64_t i = 0; i < m; ++i, d += ds, s += row) {
    const int64_t split = std::clamp<int64_t>(lower ? i + k + 1 : i + k, 0, n);
    const int64_t first = lower ? 0 : split, count = lower ? split : n - split;
    copy_row<T>(d + first * sizeof(T), sizeof(T), s + first * col, col, count);
    std::memset(d + (lower ? split : 0) * sizeof(T), 0, static_cast<size_t>(n - count) * sizeof(T));
  }
}

}  // namespace

Tensor copy_triangle(const Tensor& t, int64_t k, bool lower) {
  const int row = t.ndim() - 2, col = t.ndim() - 1;
  const auto item = static_cast<int64_t>(itemsize(t.dtype));
  const bool by_columns = t.strides()[row] == 1 && t.strides()[col] != 1;
  Tensor out = empty(t.dtype, by_columns ? Layout::column_major(t.shape()) : Layout::c_contiguous(t.shape()));
  const int i = by_columns ? col : row, j = by_columns ? row : col;
  if (by_columns) k = -k;
  Nest<2> matrices{{}, {}, {out.data, t.data}};
  for (int axis = 0; axis < row; ++axis)
    matrices.add(t.shape()[axis], {out.strides()[axis] * item, t.strides()[axis] * item});
  by_size(itemsize(t.dtype), [&]<class T>(T) {
    matrices.each(0, [&](auto& at) {
      copy_triangle_rows<T>(at[0], out.strides()[i] * item, at[1], t.strides()[i] * item,
                            t.strides()[j] * item, t.shape()[i], t.shape()[j], k, lower != by_columns);
    });
  });
  return out;
}

Tensor zeros(const Meta& meta) {
  Tensor out = empty(meta);
  fill_zero(out);
  return out;
}

}  // namespace tn
