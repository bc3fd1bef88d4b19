// Circular functions and their inverses: |x| = n pi/2 + r + low, |r| <= pi/4, by Cody and Waite's reduction.
#pragma once

#include "native/kernels/simd/payne_hanek.h"

namespace tn {
namespace {

constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;

constexpr double kPiOver2High = 0x1.921fb54442d18p+0, kPiOver2Low = 0x1.1a62633145c07p-54;

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
  const Rounded<V> n = round_product(x, kTwoOverPi);
  if constexpr (kHasFma) {
    constexpr double part[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110};
    const V t = fma(n.value, -part[0], x);  // exact
    // t is a multiple of the last place of n * part[1], so that their difference is exact as r + (t - r -
    // w.hi).
    const Twofold<V> w = two_product(n.value, splat<V>(part[1]));
    const V r = t - w.hi;
    return {r, fma(n.value, -part[2], ((t - r) - w.hi) - w.lo), n.bits};
  } else {
    constexpr double part[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34, 0x1.3198a2e000000p-69,
                               0x1.b839a252049c1p-104};
    const V t = x - n.value * part[0];  // exact
    const Twofold<V> u = two_sum(t, -n.value * part[1]), w = two_sum(u.hi, -n.value * part[2]);
    const Twofold<V> r = fast_two_sum(w.hi, u.lo + w.lo - n.value * part[3]);
    return {r.hi, r.lo, n.bits};
  }
}

template <class V>
struct SinCos {
  Twofold<V> sin, cos;
};

template <class V>
TN_INLINE SinCos<V> sincos_quadrant(V r, V low) {
  const V z = r * r, half = 0.5 * z, w = 1.0 - half;
  const V sin_rest = fma(low, w, r * z * polynomial(z, kSinTail));
  const V cos_rest = ((1.0 - w) - half) + fma(z * z, polynomial(z, kCosTail), -r * low);
  return {{r, sin_rest}, {w, cos_rest}};
}

template <class V>
TN_INLINE V pick_quadrant(SinCos<V> sc, Mask<V> n) {
  const V value = select<V>((n & 1) == 0, sum(sc.sin), sum(sc.cos));
  return (V)((Mask<V>)value ^ ((n << 62) & kSignBit<V>));
}

// Lanes beyond Cody and Waite's range, which ordinary data does not have, are reduced one at a time.
template <class V>
TN_INLINE Mask<V> beyond_trig(V x) {
  return ~(abs(x) <= kTrigLimit);
}

template <class V>
TN_COLD Quadrant<V> reduce_any(V a) {
  Quadrant<V> q = reduce_trig(a);
  Twofold<V> f = {a - a, V{}};  // NaN for infinity
  for (int i = 0; i < kLanes<V>; ++i) {
    if (!(a[i] > kTrigLimit && a[i] < __builtin_inf())) continue;
    const HugeQuotient s = quotient_of_huge(a[i]);
    f.hi[i] = s.hi;
    f.lo[i] = s.lo;
    q.n[i] = s.n;
  }
  const Twofold<V> r = multiply(f, {splat<V>(kPiOver2High), splat<V>(kPiOver2Low)});
  const Mask<V> huge = beyond_trig(a);
  return {select<V>(huge, r.hi, q.r), select<V>(huge, r.lo, q.low), q.n};
}

template <class V>
TN_INLINE V sin_of_quadrant(Quadrant<V> q, V x) {
  return flip_sign(pick_quadrant(sincos_quadrant(q.r, q.low), q.n), x);
}

template <class V>
TN_INLINE V cos_of_quadrant(Quadrant<V> q) {
  return pick_quadrant(sincos_quadrant(q.r, q.low), q.n + 1);
}

// tan = sin / cos in even quadrants, -cos / sin in odd ones.
template <class V>
TN_INLINE V tan_of_quadrant(Quadrant<V> q, V x) {
  const SinCos<V> sc = sincos_quadrant(q.r, q.low);
  const Twofold<V> s = fast_two_sum(sc.sin.hi, sc.sin.lo), c = fast_two_sum(sc.cos.hi, sc.cos.lo);
  const Mask<V> even = (q.n & 1) == 0;
  const Twofold<V> numerator = {select<V>(even, s.hi, c.hi), select<V>(even, s.lo, c.lo)};
  const Twofold<V> denominator = {select<V>(even, c.hi, s.hi), select<V>(even, c.lo, s.lo)};
  const V y = sum(divide(numerator, denominator));
  return flip_sign((V)((Mask<V>)y ^ ((q.n << 63) & kSignBit<V>)), x);
}

template <class V>
TN_COLD V sin_huge(V x) {
  return sin_of_quadrant(reduce_any(abs(x)), x);
}
template <class V>
TN_COLD V cos_huge(V x) {
  return cos_of_quadrant(reduce_any(abs(x)));
}
template <class V>
TN_COLD V tan_huge(V x) {
  return tan_of_quadrant(reduce_any(abs(x)), x);
}

template <class V>
TN_INLINE V sin(V x) {
  if (any(beyond_trig(x))) [[unlikely]]
    return sin_huge(x);
  return sin_of_quadrant(reduce_trig(abs(x)), x);
}

template <class V>
TN_INLINE V cos(V x) {
  if (any(beyond_trig(x))) [[unlikely]]
    return cos_huge(x);
  return cos_of_quadrant(reduce_trig(abs(x)));
}

template <class V>
TN_INLINE V tan(V x) {
  if (any(beyond_trig(x))) [[unlikely]]
    return tan_huge(x);
  return tan_of_quadrant(reduce_trig(abs(x)), x);
}

// ---- inverses ----

constexpr double kTanPiOver8 = 0x1.a827999fcef32p-2;

// (atan t - t) / t^3 in t^2, |t| <= tan(pi/8), and (asin s - s) / s^3 in s^2, |s| <= 1/2
constexpr double kAtanTail[] = {-0x1.555555555554ep-2, 0x1.99999999977e2p-3,  -0x1.24924923585e3p-3,
                                0x1.c71c7121183afp-4,  -0x1.745cfed1ae0eep-4, 0x1.3b11797e88b91p-4,
                                -0x1.10efa5fc11866p-4, 0x1.df4429e7027f2p-5,  -0x1.9db0608246af5p-5,
                                0x1.39e432111c52fp-5,  -0x1.29a54ece636e7p-6};
constexpr double kAsinTail[] = {0x1.5555555555560p-3, 0x1.33333333307f9p-4, 0x1.6db6db708ab02p-5,
                                0x1.f1c71b14ebb30p-6, 0x1.6e8bd25d3c85fp-6, 0x1.1c4abac3c26ddp-6,
                                0x1.ca0e4dc666eccp-7, 0x1.760701a3e23e4p-7, 0x1.5e9e6c779242bp-7,
                                0x1.05576e412cce8p-8, 0x1.5931443f81c38p-6, -0x1.4a2ee5be6f9aep-6,
                                0x1.07385753bd239p-5};

// quarters pi/4 + atan(t)
template <class V>
TN_INLINE V atan_near(Twofold<V> t, V quarters) {
  const V z = t.hi * t.hi;
  const V rest = fma(t.hi * z, polynomial(z, kAtanTail), fma(quarters, kPiOver2Low / 2, t.lo));
  const Twofold<V> s = fast_two_sum(quarters * (kPiOver2High / 2), t.hi);
  return s.hi + (s.lo + rest);
}

template <class V>
struct AtanQuotient {
  Twofold<V> numerator, denominator;
  V quarters;
};

// atan(y / x) = quarters pi/4 + atan(numerator / denominator), the quotient at most tan(pi/8); x, y >= 0.
template <class V>
TN_INLINE AtanQuotient<V> reduce_atan(V y, V x) {
  const Mask<V> shallow = y <= kTanPiOver8 * x, steep = x < kTanPiOver8 * y, neither = ~(shallow | steep);
  const Twofold<V> difference = two_sum(y, -x), total = two_sum(y, x);
  const V outer_numerator = select<V>(shallow, y, -x), outer_denominator = select<V>(shallow, x, y);
  return {{select<V>(neither, difference.hi, outer_numerator), select<V>(neither, difference.lo, V{})},
          {select<V>(neither, total.hi, outer_denominator), select<V>(neither, total.lo, V{})},
          select<V>(shallow, V{}, select<V>(steep, splat<V>(2), splat<V>(1)))};
}

template <class V>
TN_INLINE V atan(V x) {
  const V size = abs(x), a = select<V>(size > 0x1p60, splat<V>(0x1p60), size);
  const AtanQuotient<V> q = reduce_atan(a, splat<V>(1));
  return copy_sign(atan_near(divide(q.numerator, q.denominator), q.quarters), x);
}

// The angle of (x, y): the right half-plane by reduce_atan, the left one as pi minus that.
template <class V>
TN_INLINE V atan2_normal(V y, V x) {
  const AtanQuotient<V> q = reduce_atan(abs(y), abs(x));
  const Twofold<V> t = divide(q.numerator, q.denominator);
  const Mask<V> left = (Mask<V>)x < 0;
  const V quarters = select<V>(left, 4.0 - q.quarters, q.quarters);
  return copy_sign(atan_near<V>({flip_sign(t.hi, x), flip_sign(t.lo, x)}, quarters), y);
}

template <class V>
TN_INLINE Mask<V> in_range_or_zero(V x) {
  const V a = abs(x);
  return ((a >= 0x1p-450) & (a <= 0x1p450)) | (a == 0.0);
}

template <class V>
TN_COLD V atan2_special(V y, V x, V normal, Mask<V> special) {
  return patch_lanes(normal, special, [&](int i) { return __builtin_atan2(y[i], x[i]); });
}

template <class V>
TN_INLINE V atan2(V y, V x) {
  const V angle = atan2_normal(y, x);
  const Mask<V> special = ~(in_range_or_zero(y) & in_range_or_zero(x)) | ((y == 0.0) & (x == 0.0));
  if (any(special)) [[unlikely]]
    return atan2_special(y, x, angle, special);
  return angle;
}

// For a = |x| > 1/2: asin a = pi/2 - 2 asin(s), s = sqrt((1 - a) / 2).
template <class V>
struct AsinReduced {
  Mask<V> outer;
  Twofold<V> s;
  V rest;  // asin(s.hi + s.lo) = s.hi + rest
};

template <class V>
TN_INLINE AsinReduced<V> reduce_asin(V a) {
  const Mask<V> outer = ~(a <= 0.5);
  const V half = 0.5 * (1.0 - a);
  const Twofold<V> root = sqrt(Twofold<V>{half, V{}});
  const Twofold<V> s = {select<V>(outer, root.hi, a), select<V>(outer, root.lo, V{})};
  const V z = select<V>(outer, half, a * a);
  return {outer, s, fma(s.hi * z, polynomial(z, kAsinTail), s.lo)};
}

template <class V>
TN_INLINE V asin(V x) {
  const AsinReduced<V> a = reduce_asin(abs(x));
  const Twofold<V> main = fast_two_sum(splat<V>(kPiOver2High), -2.0 * a.s.hi);
  const V outer = main.hi + (main.lo + fma(splat<V>(-2), a.rest, kPiOver2Low));
  return copy_sign(select<V>(a.outer, outer, a.s.hi + a.rest), x);
}

// 2 asin(s), pi - 2 asin(s) or pi/2 - asin(x)
template <class V>
TN_INLINE V acos(V x) {
  const AsinReduced<V> a = reduce_asin(abs(x));
  const V turns = select<V>(a.outer, select<V>(x < 0.0, splat<V>(2), V{}), splat<V>(1));
  const V factor =
      select<V>(a.outer, select<V>(x < 0.0, splat<V>(-2), splat<V>(2)), copy_sign(splat<V>(1), -x));
  const Twofold<V> main = fast_two_sum(turns * kPiOver2High, factor * a.s.hi);
  const V quarter_low = turns * kPiOver2Low;
  const Twofold<V> swapped = fast_two_sum(factor * a.s.hi, turns * kPiOver2High);
  const Mask<V> first = turns > 0.0;
  return select<V>(first, main.hi + (main.lo + fma(factor, a.rest, quarter_low)),
                   swapped.hi + factor * a.rest);
}

}  // namespace
}  // namespace tn
