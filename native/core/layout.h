// Shape and strides (in elements). Every kernel takes any strides, negative and zero ones included.
#pragma once
#include "core/dims.h"

namespace tn {

struct Layout {
  Dims shape;
  Dims strides;

  int ndim() const { return shape.size(); }
  int64_t numel() const { return product(shape); }
  bool is_c_contiguous() const;  // row-major without gaps; strides of axes of size 1 do not matter
  bool is_f_contiguous() const;  // column-major without gaps
  // Row-major or column-major or any other permutation, without gaps or overlaps.
  bool is_dense() const;

  static Layout c_contiguous(std::span<const int64_t> shape);
  // Row-major over leading axes; each trailing matrix column-major, as LAPACK leaves it.
  static Layout column_major(std::span<const int64_t> shape);
};

// The number of elements of a shape; raises ValueError for a negative size, or more elements than memory has
// addresses. `who` begins the error message.
int64_t checked_numel(std::span<const int64_t> shape, const char* who);
// The shape that two operands broadcast to; `who` begins the error message.
Dims broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b, const char* who);
// Strides that show `from` as `shape` (which it must broadcast to).
Dims broadcast_strides(const Layout& from, std::span<const int64_t> shape);
// Maps -ndim..ndim-1 to 0..ndim-1.
int normalize_axis(int64_t axis, int ndim, const char* who);

}  // namespace tn
