// Up to a register of matrices of a stack, one in each lane.
#pragma once
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// Lanes without a matrix repeat the last one.
template <class T>
struct LaneGroup {
  static constexpr int kWidth = kLanes<Vector<T>>;
  const SmallMatrices& of;
  const T* a[kWidth];
  size_t first;
  int used;

  LaneGroup(const SmallMatrices& stack, size_t begin) : of(stack), first(begin) {
    used = int(of.count - begin < size_t(kWidth) ? of.count - begin : size_t(kWidth));
    for (int lane = 0; lane < kWidth; ++lane)
      a[lane] = static_cast<const T*>(of.a[begin + size_t(lane < used ? lane : used - 1)]);
  }
  TN_INLINE Vector<T> at(ptrdiff_t row, ptrdiff_t col) const {
    const ptrdiff_t offset = row * of.row_stride + col * of.col_stride;
    Vector<T> v;
    for (int lane = 0; lane < kWidth; ++lane) v[lane] = a[lane][offset];
    return v;
  }
  // With the rows of each lane in an order of its own.
  TN_INLINE Vector<T> at(const int (*order)[kWidth], int row, ptrdiff_t col) const {
    Vector<T> v;
    for (int lane = 0; lane < kWidth; ++lane)
      v[lane] = a[lane][order[row][lane] * of.row_stride + col * of.col_stride];
    return v;
  }
};

}  // namespace
}  // namespace tn
