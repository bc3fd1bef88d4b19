// Products of matrices of integers and bools, row by row, in any strides.
#include "native/kernels/simd/target.h"

namespace tn {
namespace {

template <class T>
TN_INLINE void add_product(T& sum, T a, T b) {
  sum = T(sum + a * b);
}
struct Bool {
  uint8_t is;
};
TN_INLINE void add_product(Bool& sum, Bool a, Bool b) { sum.is |= a.is & b.is; }

template <class T, bool kContiguous>
void rows(const MatMul& x) {
  const int64_t b_col = kContiguous ? 1 : x.b_col, c_col = kContiguous ? 1 : x.c_col;
  for (int64_t i = 0; i < x.m; ++i) {
    T* c = static_cast<T*>(x.c) + i * x.c_row;
    for (int64_t j = 0; j < x.n && !x.accumulate; ++j) c[j * c_col] = T{};
    for (int64_t p = 0; p < x.k; ++p) {
      const T a = static_cast<const T*>(x.a)[i * x.a_row + p * x.a_col];
      const T* b = static_cast<const T*>(x.b) + p * x.b_row;
      TN_INDEPENDENT
      for (int64_t j = 0; j < x.n; ++j) add_product(c[j * c_col], a, b[j * b_col]);
    }
  }
}

template <class T>
void row_matmul(const MatMul& given) {
  const bool swap = given.b_col != 1 && given.a_row == 1 && given.c_row == 1;
  const MatMul x = swap ? transposed(given) : given;
  x.b_col == 1 && x.c_col == 1 ? rows<T, true>(x) : rows<T, false>(x);
}

}  // namespace

void TN_TARGET::fill_exact_matmul(KernelTable& table) {
  for_each_dtype(Integers{}, [&]<DType t>() { table.matmul[int(t)] = row_matmul<Element<t>>; });
  table.matmul[int(DType::Bool)] = row_matmul<Bool>;
}

}  // namespace tn
