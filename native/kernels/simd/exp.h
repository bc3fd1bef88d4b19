// exp and its family: x = k ln 2 + r with |r| <= ln(2)/2, and e^r by a polynomial.
#pragma once

#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;
constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Rest = 0x1.abc9e3b39803fp-56;
constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 32 bits: k * kLn2High is exact
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// (e^r - 1 - r) / r^2
constexpr double kExpTail[] = {0x1.000000000000bp-1,  0x1.5555555555561p-3,  0x1.5555555550077p-5,
                               0x1.111111110d5edp-7,  0x1.6c16c185a2febp-10, 0x1.a01a01bafee3cp-13,
                               0x1.a019968b4f8cbp-16, 0x1.71dddf875bb17p-19, 0x1.28b05e8066c47p-22,
                               0x1.af85f9900e260p-26};

// 2 (e^r - 1 - r - r^2 / 2) / r^3, for e^x - 1, which has the smaller unit in the last place.
constexpr double kExpm1Tail[] = {0x1.5555555555559p-2,  0x1.5555555555559p-4,  0x1.111111110f6f2p-6,
                                 0x1.6c16c16c14a45p-9,  0x1.a01a01afd2ec2p-12, 0x1.a01a01af799dcp-15,
                                 0x1.71ddf8712474bp-18, 0x1.27e4c79284206p-21, 0x1.af5ea288210dfp-25,
                                 0x1.1f93100ceff7cp-28};

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
  const Rounded<V> k = round_product(x, kLog2E);
  const V t = fma(k.value, -kLn2High, x);  // exact
  const V r = fma(k.value, -kLn2Low, t);
  return {r, fma(k.value, -kLn2Low, t - r), k.bits};
}

template <class V>
TN_INLINE V exp_polynomial(V r, V low) {
  return 1.0 + (r + fma(r * r, polynomial(r, kExpTail), low));
}

template <class V>
TN_INLINE Mask<V> integer_of(Mask<V> bits) {
  return bits - (Mask<V>)splat<V>(kRounder<V>);
}

// e^(x + low) * 2^shift for any x.
template <class V>
TN_COLD V exp_extreme(V x, V low, int64_t shift) {
  const V above = select<V>(x < -800.0, splat<V>(-800), x);
  const Reduced<V> e = reduce_exp(select<V>(above > 800.0, splat<V>(800), above));
  const Twofold<V> r = fast_two_sum(e.r, e.low + low);
  return scale_twice(exp_polynomial(r.hi, r.lo), integer_of<V>(e.bits) + shift);
}

// e^r for K registers at once: with FMA by Horner's scheme, which rounds least and takes the fewest
// operations. Its long chain of them is no loss where K registers keep the units busy.
template <int i, class V, int K>
TN_INLINE void horner_exp(const V (&r)[K], V (&y)[K]) {
  for (int k = 0; k < K; ++k) y[k] = fma(r[k], y[k], splat<V>(i < 2 ? 1.0 : kExpTail[i < 2 ? 0 : i - 2]));
  if constexpr (i > 0) horner_exp<i - 1>(r, y);
}

// x[k] becomes e^r, and bits[k] has the power of two in its low bits.
template <class V, int K>
TN_INLINE void exp_parts(V (&x)[K], Mask<V> (&bits)[K]) {
  if constexpr (kHasFma) {
    constexpr int last = sizeof(kExpTail) / sizeof(double) + 1;
    V r[K];
    for (int k = 0; k < K; ++k) {
      const Rounded<V> n = round_product(x[k], kLog2E);
      r[k] = fma(n.value, -kLn2Low, fma(n.value, -kLn2High, x[k]));
      x[k] = splat<V>(kExpTail[last - 2]);
      bits[k] = n.bits;
    }
    horner_exp<last - 1>(r, x);
  } else {
    for (int k = 0; k < K; ++k) {
      const Reduced<V> e = reduce_exp(x[k]);
      x[k] = exp_polynomial(e.r, e.low);
      bits[k] = e.bits;
    }
  }
}

// Any x, with the bits that the fast path gives where that is right.
template <class V>
TN_COLD V exp_anywhere(V x) {
  const V above = select<V>(x < -800.0, splat<V>(-800), x);
  V y[1] = {select<V>(above > 800.0, splat<V>(800), above)};
  Mask<V> bits[1];
  exp_parts(y, bits);
  return scale_twice(y[0], integer_of<V>(bits[0]));
}

// Where |x| < 708, so that the result is a normal number.
template <class V, int K>
TN_INLINE void exp_ordinary(V (&x)[K]) {
  Mask<V> bits[K];
  exp_parts(x, bits);
  for (int k = 0; k < K; ++k) x[k] = add_to_exponent(x[k], bits[k]);
}

template <class V, int K>
TN_INLINE void exp_each(V (&x)[K]) {
  Mask<V> ordinary = abs(x[0]) < 708.0;
  for (int k = 1; k < K; ++k) ordinary &= abs(x[k]) < 708.0;
  if (!any(~ordinary)) [[likely]]
    return exp_ordinary(x);
  for (int k = 0; k < K; ++k) x[k] = exp_anywhere(x[k]);
}

// The same bits for a register alone.
template <class V>
TN_INLINE V exp_as_each(V x) {
  V y[1] = {x};
  exp_each(y);
  return y[0];
}

// For one register among other work, where latency counts.
template <class V>
TN_INLINE V exp(V x) {
  if (any(~(abs(x) < 708.0))) [[unlikely]]
    return exp_extreme(x, V{}, 0);
  const Reduced<V> e = reduce_exp(x);
  return add_to_exponent(exp_polynomial(e.r, e.low), e.bits);
}

// e^(x.hi + x.lo); x.lo is ignored where x.hi is not finite.
template <class V>
TN_INLINE V exp(Twofold<V> x) {
  const Mask<V> finite = abs(x.hi) < __builtin_inf();
  return exp_extreme(x.hi, select<V>(finite, x.lo, V{}), 0);
}

// 2^f = e^(f ln 2), |f| <= 1/2.
template <class V>
TN_INLINE V exp2_polynomial(V f) {
  const Twofold<V> r = two_product(f, splat<V>(kLn2));
  return exp_polynomial(r.hi, fma(f, kLn2Rest, r.lo));
}

template <class V>
TN_COLD V exp2_extreme(V x) {
  const V above = select<V>(x < -1100.0, splat<V>(-1100), x);
  const V inside = select<V>(above > 1100.0, splat<V>(1100), above);
  const Rounded<V> k = round_small(inside);
  return scale_twice(exp2_polynomial(inside - k.value), integer_of<V>(k.bits));
}

template <class V>
TN_INLINE V exp2(V x) {
  if (any(~(abs(x) < 1021.0))) [[unlikely]]
    return exp2_extreme(x);
  const Rounded<V> k = round_small(x);
  return add_to_exponent(exp2_polynomial(x - k.value), k.bits);
}

// e^x - 1 as a sum of two terms, the second much smaller; |x| < 708.
template <class V>
TN_INLINE Twofold<V> expm1_terms(V x) {
  const Reduced<V> e = reduce_exp(x);
  const Twofold<V> half_square = two_product(0.5 * e.r, e.r), p = fast_two_sum(e.r, half_square.hi);
  const V rest = fma(e.r * half_square.hi, polynomial(e.r, kExpm1Tail), half_square.lo + e.low);
  const V scale = add_to_exponent(splat<V>(1), e.bits);
  const Twofold<V> c = two_sum(scale, splat<V>(-1)), s = two_sum(c.hi, scale * p.hi);
  return {s.hi, s.lo + fma(scale, p.lo + rest, c.lo)};
}

template <class V>
TN_INLINE Twofold<V> expm1_twofold(V x) {
  const Twofold<V> terms = expm1_terms(x);
  return fast_two_sum(terms.hi, terms.lo);
}

template <class V>
TN_INLINE V expm1(V x) {
  const V y = copy_sign(sum(expm1_terms(x)), x);
  if (any(~(abs(x) < 700.0))) [[unlikely]]
    return select<V>(abs(x) < 700.0, y, exp_extreme(x, V{}, 0) - 1.0);
  return y;
}

// (E + E / (1 + E)) / 2 with E = e^|x| - 1.
template <class V>
TN_INLINE V sinh(V x) {
  const V a = abs(x);
  const Twofold<V> e = expm1_twofold(a);
  const Twofold<V> d = two_sum(splat<V>(1), e.hi), q = divide(e, {d.hi, d.lo + e.lo});
  const Twofold<V> twice = two_sum(e.hi, q.hi);
  const V y = 0.5 * (twice.hi + (twice.lo + (e.lo + q.lo)));
  const Mask<V> normal = a < 680.0;
  if (any(~normal)) [[unlikely]]
    return copy_sign(select<V>(normal, y, exp_extreme(a, V{}, -1)), x);
  return copy_sign(y, x);
}

// (e + 1 / e) / 2 with e = e^|x|.
template <class V>
TN_INLINE V cosh(V x) {
  const V a = abs(x);
  const Twofold<V> m = expm1_twofold(a), e = two_sum(m.hi, splat<V>(1));
  const V y = 0.5 * (e.hi + ((e.lo + m.lo) + 1.0 / e.hi));
  const Mask<V> normal = a < 700.0;
  if (any(~normal)) [[unlikely]]
    return select<V>(normal, y, exp_extreme(a, V{}, -1));
  return y;
}

// (tanh(r) - r) / r^3 in r^2, |r| <= 0.2575
constexpr double kTanhTail[] = {-0x1.5555555555529p-2, 0x1.11111111028e6p-3,  -0x1.ba1ba1947636dp-5,
                                0x1.664f338deb840p-6,  -0x1.22683ed97ca9ep-7, 0x1.d500eae432d0cp-9,
                                -0x1.58db9528e71ecp-10};

// a = k ln(2)/2 + r and w = 2^(k - 1); k = 0 up to a = 0.2565, so that r is never large beside tanh a.
template <class V>
struct HalfLogs {
  V k, w;
};

// 0 <= a < 40. An addition leaves k and the exponent field of w above eight bits of fraction, which are cut.
template <class V>
TN_INLINE HalfLogs<V> split_half_logs(V a) {
  using S = Scalar<V>;
  constexpr int cut = 8, exponent_of_half = sizeof(S) == 8 ? 1022 : 126;
  constexpr S rounder = kRounder<V> / (1 << cut) + exponent_of_half;
  const V sum = fma(a, S(2 * kLog2E), rounder + S(66) / (1 << cut));
  const Mask<V> bits = (Mask<V>)sum & ~Scalar<Mask<V>>((1 << cut) - 1);
  return {(V)bits - rounder, (V)(bits << (kFractionBits<V> - cut))};
}

// tanh a = ((w - 1/2) + t (w + 1/2)) / d with d = (w + 1/2) + t (w - 1/2), t = tanh(r). The numerator is
// d - 1 + t, where d - 1 is exact: rounding d moves both, and the quotient y by (1 - y) / d of that only.
// k = 0 gives t / 1.
template <class V>
TN_INLINE V tanh_of_parts(V t, V w) {
  using S = Scalar<V>;
  const V d = fma(t, w - S(0.5), w + S(0.5));
  return ((d - S(1)) + t) / d;
}

// a - k ln(2)/2, one rounding of the product with FMA; k * high is exact.
template <class V>
TN_INLINE V minus_half_logs(V a, V k, Scalar<V> ln2, Scalar<V> high, Scalar<V> low) {
  if constexpr (kHasFma) return fma(k, -ln2 / 2, a);
  return fma(k, -low / 2, fma(k, -high / 2, a));
}

template <class V>
TN_INLINE V tanh(V x) {
  const V a = at_most(abs(x), 20.0);
  const HalfLogs<V> e = split_half_logs(a);
  const V r = minus_half_logs<V>(a, e.k, kLn2, kLn2High, kLn2Low), z = r * r;
  const V y = tanh_of_parts(fma(r * z, polynomial(z, kTanhTail), r), e.w);
  return flip_sign(y, x);
}

}  // namespace
}  // namespace tn
