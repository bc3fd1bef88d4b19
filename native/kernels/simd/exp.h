// exp and its family: x = k ln 2 + r with |r| <= ln(2)/2, and e^r by a polynomial.
#pragma once

#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 32 bits: k * kLn2High is exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// (e^r - 1 - r) / r^2
constexpr double kExpTail[] = {0x1.000000000000bp-1,  0x1.5555555555561p-3,  0x1.5555555550077p-5,
                               0x1.111111110d5edp-7,  0x1.6c16c185a2febp-10, 0x1.a01a01bafee3cp-13,
                               0x1.a019968b4f8cbp-16, 0x1.71dddf875bb17p-19, 0x1.28b05e8066c47p-22,
                               0x1.af85f9900e260p-26};

template <class V>
TN_INLINE V add_to_exponent(V y, Mask<V> k) {
  return (V)((Mask<V>)y + (k << kFractionBits<V>));
}

// y * 2^k for |k| < 2000, with overflow and gradual underflow.
template <class V>
TN_INLINE V scale_twice(V y, Mask<V> k) {
  const Mask<V> half = k >> 1;
  return y * power_of_two<V>(half) * power_of_two<V>(k - half);
}

template <class V>
struct Reduced {
  V r, low;      // r + low = x - k ln 2
  Mask<V> bits;  // k in its low bits
};

template <class V>
TN_INLINE Reduced<V> reduce_exp(V x) {
  const Rounded<V> k = round_small(x * kLog2E);
  const V t = fma(-k.value, kLn2High, x);  // exact
  const V r = fma(-k.value, kLn2Low, t);
  return {r, fma(-k.value, kLn2Low, t - r), k.bits};
}

template <class V>
TN_INLINE V exp_polynomial(V r) {
  return splat<V>(1) + fma(r * r, polynomial(r, kExpTail), r);
}

template <class V>
TN_COLD V exp_extreme(V x) {
  const V low = select<V>(x < -746.0, splat<V>(-746), x);
  const V inside = select<V>(low > 710.0, splat<V>(710), low);
  const Reduced<V> e = reduce_exp(inside);
  return scale_twice(exp_polynomial(e.r), e.bits - (Mask<V>)splat<V>(kRounder<V>));
}

template <class V>
TN_INLINE V exp(V x) {
  if (any(~(abs(x) < 708.0))) [[unlikely]]
    return exp_extreme(x);
  const Reduced<V> e = reduce_exp(x);
  return add_to_exponent(exp_polynomial(e.r), e.bits);
}

// e^x - 1 = hi + lo for |x| < 709.
template <class V>
TN_INLINE Pair2<V> expm1_pair(V x) {
  const Reduced<V> e = reduce_exp(x);
  const V q = e.r * e.r * polynomial(e.r, kExpTail);
  const Pair2<V> p = fast_two_sum(e.r, q);
  const V scale = add_to_exponent(splat<V>(1), e.bits);
  const V c = scale - 1.0, sp = scale * p.hi;
  const Pair2<V> sum = two_sum(c, sp);
  return {sum.hi, sum.lo + scale * (p.lo + e.low)};
}

// -E / (E + 2) with E = e^(-2 |x|) - 1, the quotient corrected by its remainder.
template <class V>
TN_INLINE V tanh(V x) {
  const V y = -2.0 * abs(x);
  const Pair2<V> e = expm1_pair(select<V>(y < -80.0, splat<V>(-80), y));
  const V denominator = e.hi + 2.0, inverse = 1.0 / denominator;
  const V low = ((2.0 - denominator) + e.hi) + e.lo;
  const V quotient = -e.hi * inverse;
  const V remainder = minus_product(-e.hi, quotient, denominator) - fma(quotient, low, e.lo);
  return copy_sign(fma(remainder, inverse, quotient), x);
}

}  // namespace
}  // namespace tn
