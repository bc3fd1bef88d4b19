// Functions of float32 arguments in float64 lanes: shorter polynomials, right to 2^-31 of the result, so that
// the one rounding to float32 is nearly the only error.
#pragma once

#include "native/kernels/simd/log.h"
#include "native/kernels/simd/trig.h"

namespace tn {
namespace {

// Tails as in exp.h, log.h and trig.h.
constexpr double kSingleExpTail[] = {0x1.00000042deaedp-1, 0x1.55555598403ecp-3,  0x1.5554802eac5a0p-5,
                                     0x1.11107c97563f2p-7, 0x1.6d96c95b02c2bp-10, 0x1.a1b87df8be146p-13};
constexpr double kSingleLogTail[] = {0x1.555555303b2cdp-1, 0x1.999a301a33e80p-2, 0x1.2448ede494a46p-2,
                                     0x1.e0d3b3a1d00e6p-3};
constexpr double kSingleSinTail[] = {-0x1.5555554cf9049p-3, 0x1.111108b3d7e78p-7, -0x1.a00fae149c068p-13,
                                     0x1.6cdb2204140a4p-19};
constexpr double kSingleCosTail[] = {0x1.55554aac6e9bdp-5, -0x1.6c0c85c869312p-10, 0x1.9a005cd10c38ep-16};

// NaN stays.
template <class V>
TN_INLINE V clamp(V x, double low, double high) {
  const V above = select<V>(x < low, splat<V>(low), x);
  return select<V>(above > high, splat<V>(high), above);
}

// e^x = scale (1 + p), |x| < 700
template <class V>
struct ExpParts {
  V scale, p;
};
template <class V>
TN_INLINE ExpParts<V> single_exp_parts(V x) {
  const Rounded<V> k = round_product(x, kLog2E);
  const V r = fma(k.value, -kLn2Low, fma(k.value, -kLn2High, x));
  return {add_to_exponent(splat<V>(1), k.bits), fma(r * r, polynomial(r, kSingleExpTail), r)};
}

template <class V>
TN_INLINE V single_exp(V x) {
  const ExpParts<V> e = single_exp_parts(clamp(x, -110, 100));
  return fma(e.scale, e.p, e.scale);
}

template <class V>
TN_INLINE V single_exp2(V x) {
  return single_exp(x * kLn2);
}

template <class V>
TN_INLINE V single_expm1(V x) {
  const ExpParts<V> e = single_exp_parts(clamp(x, -110, 100));
  return copy_sign(fma(e.scale, e.p, e.scale - 1.0), x);
}

// log(x) + low, in units of the logarithm of `base`, given as 1 / ln(base).
template <class V>
TN_INLINE V single_log_normal(V x, V low, double scale) {
  const Split<V> e = split_exponent(x);
  const V s = e.f / (2.0 + e.f), z = s * s;
  const V m = fma(s, fma(z, polynomial(z, kSingleLogTail), splat<V>(2)), low);
  return fma(e.k, kLn2 * scale, m * scale);
}

template <class V>
TN_COLD V single_log_special(V x, double scale) {
  return log_limits(x, single_log_normal(x, V{}, scale));
}

template <class V>
TN_INLINE V single_log(V x, double scale = 1) {
  if (any_not_positive_normal(x)) [[unlikely]]
    return single_log_special(x, scale);
  return single_log_normal(x, V{}, scale);
}

template <class V>
TN_INLINE V single_log1p(V x) {
  const V u = 1.0 + x, y = copy_sign(single_log_normal(u, x - (u - 1.0), 1.0), x);
  if (any_not_positive_normal(u)) [[unlikely]]
    return log1p_special(x, u, y);
  return y;
}

template <class V>
TN_INLINE SinCos<V> single_sincos(V r) {
  const V z = r * r;
  return {{r, r * z * polynomial(z, kSingleSinTail)},
          {splat<V>(1), fma(z * z, polynomial(z, kSingleCosTail), -0.5 * z)}};
}

template <class V>
TN_INLINE V single_sin(V x) {
  if (any(beyond_trig(x))) [[unlikely]]
    return sin_huge(x);
  const Quadrant<V> q = reduce_trig(abs(x));
  return flip_sign(pick_quadrant(single_sincos(q.r), q.n), x);
}

template <class V>
TN_INLINE V single_cos(V x) {
  if (any(beyond_trig(x))) [[unlikely]]
    return cos_huge(x);
  const Quadrant<V> q = reduce_trig(abs(x));
  return pick_quadrant(single_sincos(q.r), q.n + 1);
}

}  // namespace
}  // namespace tn
