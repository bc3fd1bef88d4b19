// sin and cos: |x| = n pi/2 + r + low, |r| <= pi/4, by Cody and Waite's reduction.
#pragma once

#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

// (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4, in r^2
constexpr double kSinTail[] = {-0x1.555555555554ap-3, 0x1.111111110f97dp-7,   -0x1.a01a019c2a52fp-13,
                               0x1.71de3588c853fp-19, -0x1.ae5e711f3874dp-26, 0x1.5d959d3d34623p-33};
constexpr double kCosTail[] = {0x1.555555555554cp-5,   -0x1.6c16c16c151c8p-10, 0x1.a01a019cb6f38p-16,
                               -0x1.27e4f80c91008p-22, 0x1.1ee9ed1535a00p-29,  -0x1.8faef4fd1f0a1p-37};

template <class V>
struct Quadrant {
  V r, low;
  Mask<V> n;  // the quadrant in its low bits
};

// |x| <= kTrigLimit. With FMA three 53-bit parts of pi/2; without, products must be exact: 33-bit parts.
constexpr double kTrigLimit = 0x1p20;

template <class V>
TN_INLINE Quadrant<V> reduce_trig(V x) {
  const Rounded<V> n = round_small(x * kTwoOverPi);
  if constexpr (kHasFma) {
    const V t = fma(-n.value, 0x1.921fb54442d18p+0, x);  // exact
    const V r = fma(-n.value, 0x1.1a62633145c07p-54, t);
    return {r, fma(-n.value, -0x1.f1976b7ed8fbcp-110, fma(-n.value, 0x1.1a62633145c07p-54, t - r)), n.bits};
  } else {
    const V t = x - n.value * 0x1.921fb54400000p+0;  // exact
    const Pair2<V> u = two_sum(t, -n.value * 0x1.0b4611a600000p-34),
                   w = two_sum(u.hi, -n.value * 0x1.3198a2e000000p-69);
    const Pair2<V> r = fast_two_sum(w.hi, u.lo + w.lo - n.value * 0x1.b839a252049c1p-104);
    return {r.hi, r.lo, n.bits};
  }
}

template <class V>
struct SinCos {
  V sin, cos;
};

template <class V>
TN_INLINE SinCos<V> sincos_quadrant(V r, V low) {
  const V z = r * r, half = 0.5 * z, w = 1.0 - half;
  const V s = r + fma(low, w, r * z * polynomial(z, kSinTail));
  const V c = w + (((1.0 - w) - half) + fma(z * z, polynomial(z, kCosTail), -r * low));
  return {s, c};
}

template <class V>
TN_INLINE V pick_quadrant(SinCos<V> sc, Mask<V> n) {
  const V value = select<V>((n & 1) == 0, sc.sin, sc.cos);
  return (V)((Mask<V>)value ^ ((n << 62) & kSignBit<V>));
}

TN_INLINE double libm_sin(double x) { return __builtin_sin(x); }
TN_INLINE double libm_cos(double x) { return __builtin_cos(x); }

template <class V>
TN_INLINE V sin_reduced(V x) {
  const Quadrant<V> q = reduce_trig(abs(x));
  return flip_sign(pick_quadrant(sincos_quadrant(q.r, q.low), q.n), x);
}

template <class V>
TN_INLINE V cos_reduced(V x) {
  const Quadrant<V> q = reduce_trig(abs(x));
  return pick_quadrant(sincos_quadrant(q.r, q.low), q.n + 1);
}

// Lanes beyond the reduction's range (and infinities) one at a time: rare, and right for every argument.
template <class V>
TN_COLD V sin_huge(V x) {
  V y = sin_reduced(x);
  for (int i = 0; i < kLanes<V>; ++i)
    if (!(__builtin_fabs(x[i]) <= kTrigLimit)) y[i] = libm_sin(x[i]);
  return y;
}

template <class V>
TN_COLD V cos_huge(V x) {
  V y = cos_reduced(x);
  for (int i = 0; i < kLanes<V>; ++i)
    if (!(__builtin_fabs(x[i]) <= kTrigLimit)) y[i] = libm_cos(x[i]);
  return y;
}

template <class V>
TN_INLINE V sin(V x) {
  if (any(~(abs(x) <= kTrigLimit))) [[unlikely]]
    return sin_huge(x);
  return sin_reduced(x);
}

template <class V>
TN_INLINE V cos(V x) {
  if (any(~(abs(x) <= kTrigLimit))) [[unlikely]]
    return cos_huge(x);
  return cos_reduced(x);
}

}  // namespace
}  // namespace tn
