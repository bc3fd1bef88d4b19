// Complex products from real ones: of interleaved complex numbers b, sums of Re(a) b and of Im(a) b are kept,
// and combined at the end, where conjugates are signs.
#pragma once

#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

template <class V, int... lane>
TN_INLINE V swap_parts(V x, Lanes<lane...>) {
  return __builtin_shufflevector(x, x, (lane ^ 1)...);
}

// -0.0 in the lanes whose sign changes: real parts, imaginary parts.
template <class V>
TN_INLINE V signs(bool re, bool im) {
  V v;
  for (int i = 0; i < kLanes<V>; ++i) v[i] = (i % 2 ? im : re) ? Scalar<V>(-0.0) : Scalar<V>(0.0);
  return v;
}

// The product from its sums: one for real numbers, two for complex ones.
template <class V>
struct Combine {
  V first, second;

  TN_INLINE Combine(bool conj_a, bool conj_b)
      : first(signs<V>(false, conj_b)), second(signs<V>(conj_a == conj_b, conj_a)) {}
  TN_INLINE V operator()(const V (&sum)[1]) const { return sum[0]; }
  TN_INLINE V operator()(const V (&sum)[2]) const {
    const V turned = swap_parts(sum[1], LanesUpTo<kLanes<V>>{});
    return (V)((Mask<V>)sum[0] ^ (Mask<V>)first) + (V)((Mask<V>)turned ^ (Mask<V>)second);
  }
};

}  // namespace
}  // namespace tn
