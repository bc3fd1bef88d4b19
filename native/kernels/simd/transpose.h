// Squares of elements, transposed in registers.
#pragma once

#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// Exchanges the off-diagonal S x S blocks of two rows.
template <int S, class V, int... lane>
TN_INLINE void exchange(V& a, V& b, Lanes<lane...>) {
  constexpr int N = sizeof...(lane);
  const V top = __builtin_shufflevector(a, b, ((lane & S) ? N + lane - S : lane)...);
  b = __builtin_shufflevector(a, b, ((lane & S) ? N + lane : lane + S)...);
  a = top;
}

// Transposes the N x N square of N registers, in log2(N) rounds.
template <int S = 1, int N, class V>
TN_INLINE void transpose_square(V (&rows)[N]) {
  if constexpr (S < N) {
    for (int i = 0; i < N; ++i)
      if (!(i & S)) exchange<S>(rows[i], rows[i + S], LanesUpTo<N>{});
    transpose_square<2 * S>(rows);
  }
}

}  // namespace
}  // namespace tn
