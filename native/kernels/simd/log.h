// log and its family: x = 2^k m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh(s), s = (m - 1) / (m +
// 1).
#pragma once

#include "native/kernels/simd/exp.h"

namespace tn {
namespace {

// (log((1 + s) / (1 - s)) - 2 s) / s^3 in s^2
constexpr double kLogTail[] = {0x1.5555555555560p-1, 0x1.999999998f32ep-2, 0x1.249249355afb2p-2,
                               0x1.c71c5b9e136e1p-3, 0x1.746463bb84693p-3, 0x1.39cf3f6ddece7p-3,
                               0x1.2d4f3432a3111p-3};

constexpr int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
constexpr int64_t kOneBits = 0x3ff0000000000000;

template <class V>
struct Split {
  V k, m;  // x = 2^k m
};

// x positive and normal.
template <class V>
TN_INLINE Split<V> split_exponent(V x) {
  using U = Vector<uint64_t>;
  const U above = (U)((Mask<V>)x - kSqrtHalfBits + kOneBits);  // biased k in the exponent field
  const Mask<V> biased = (Mask<V>)(above >> 52);
  const Mask<V> m = (Mask<V>)x - (biased << 52) + kOneBits;
  return {(V)(biased | 0x4330000000000000) - (0x1p52 + 1023), (V)m};
}

// k ln 2 + log(1 + f), |f| < 0.42 (Tang; FreeBSD's e_log.c explains the grouping).
template <class V>
TN_INLINE V log_of_split(V k, V f) {
  const V s = f / (2.0 + f), z = s * s;
  const V tail = z * polynomial(z, kLogTail), half_square = 0.5 * f * f;
  return k * kLn2High - ((half_square - fma(s, half_square + tail, k * kLn2Low)) - f);
}

template <class V>
TN_COLD V log_special(V x) {
  const Mask<V> tiny = x < 0x1p-1022;
  const Split<V> e = split_exponent(select<V>(tiny, x * 0x1p54, x));
  const V y = log_of_split(e.k - select<V>(tiny, splat<V>(54), V{}), e.m - 1.0);
  const V infinite = select<V>(x == 0.0, splat<V>(-__builtin_inf()), x);
  const V defined = select<V>((x == 0.0) | (x == __builtin_inf()) | (x != x), infinite, y);
  return select<V>(x < 0.0, splat<V>(__builtin_nan("")), defined);
}

template <class V>
TN_INLINE V log(V x) {
  using U = Vector<uint64_t>;
  constexpr uint64_t smallest_normal = 0x0010000000000000, range = 0x7fe0000000000000;
  if (any((U)x - smallest_normal >= range)) [[unlikely]]
    return log_special(x);
  const Split<V> e = split_exponent(x);
  return log_of_split(e.k, e.m - 1.0);
}

}  // namespace
}  // namespace tn
