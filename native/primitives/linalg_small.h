// Stacks of small real matrices, for the kernels that take several at a time (kernels/table.h).
#pragma once
#include "kernels/table.h"
#include "primitives/linalg_common.h"

namespace tn::linalg {

// A few matrices are left to LAPACK, whose calls an observer sees.
template <class T>
bool is_small_stack(const Matrices<T>& a) {
  return !is_complex_v<T> && a.count() >= 4 && a.rows > 0 && a.rows <= kSmallCols && a.cols > 0;
}

template <class T>
const SmallLuKernels& small_lu_kernels() {
  return kernels().small_lu[sizeof(T) == sizeof(double)];
}

template <class T>
class SmallStack {
 public:
  explicit SmallStack(const Matrices<T>& a)
      : pointers_(a.count() * sizeof(void*)), of_{pointers_.as<const void*>(),
                                                  a.row_stride,
                                                  a.col_stride,
                                                  static_cast<int>(a.rows),
                                                  static_cast<int>(a.cols),
                                                  static_cast<size_t>(a.count())} {
    for (int64_t i = 0; i < a.count(); ++i) pointers_.as<const void*>()[i] = a[i];
  }
  operator const SmallMatrices&() const { return of_; }

 private:
  Scratch pointers_;
  SmallMatrices of_;
};

}  // namespace tn::linalg
