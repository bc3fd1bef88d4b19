// Functions of two real arguments: pow, hypot, logaddexp.
#pragma once

#include "native/kernels/simd/log.h"

namespace tn {
namespace {

// ---- pow ----

// (log((1 + s) / (1 - s)) - 2 s - 2/3 s^3) / s^5 in s^2
constexpr double kLogTwofoldTail[] = {0x1.99999999999a4p-2, 0x1.249249248b5ddp-2, 0x1.c71c71e0a72adp-3,
                                      0x1.745d05325df78p-3, 0x1.3b19e4563676cp-3, 0x1.0ff672b062f7ap-3,
                                      0x1.09f221074a519p-3};

// log2(x) as hi + lo, to about 2^-65 of its size; x positive and normal.
template <class V>
TN_INLINE Twofold<V> log2_twofold(V x) {
  const Split<V> e = split_exponent(x);
  const Twofold<V> s = divide({e.f, V{}}, fast_two_sum(splat<V>(2), e.f));
  const Twofold<V> z = multiply(s, s);
  const Twofold<V> w = fast_two_sum(splat<V>(0x1.5555555555555p-1),
                                    fma(z.hi, polynomial(z.hi, kLogTwofoldTail), 0x1.5555555555555p-55));
  const Twofold<V> y = multiply(s, add(multiply(z, w), {splat<V>(2), V{}}));
  const Twofold<V> in_bits = multiply(y, {splat<V>(kBase2.scale_hi), splat<V>(kBase2.scale_lo)});
  const Twofold<V> sum = fast_two_sum(e.k, in_bits.hi);
  return {sum.hi, sum.lo + in_bits.lo};
}

// 2^(t.hi + t.lo), |t.hi| < 2^40 or so.
template <class V>
TN_INLINE V exp2_twofold(Twofold<V> t) {
  const V above = select<V>(t.hi < -1100.0, splat<V>(-1100), t.hi);
  const V inside = select<V>(above > 1100.0, splat<V>(1100), above);
  const Rounded<V> k = round_small(inside);
  const V f = inside - k.value;
  const Twofold<V> r = two_product(f, splat<V>(kLn2));
  const Twofold<V> sum = fast_two_sum(r.hi, fma(t.lo, kLn2, fma(f, kLn2Rest, r.lo)));
  return scale_twice(exp_polynomial(sum.hi, sum.lo), integer_of<V>(k.bits));
}

template <class V>
TN_INLINE V pow_of_size(V size, V y) {
  const Twofold<V> log = log2_twofold(size), t = two_product(y, log.hi);
  return exp2_twofold<V>({t.hi, fma(y, log.lo, t.lo)});
}

// For float32 operands: 2^-45 of the result suffices.
template <class V>
TN_INLINE V pow_of_size_f32(V size, V y) {
  const V t = y * log(size), above = select<V>(t < -800.0, splat<V>(-800), t);
  return exp_extreme(select<V>(above > 800.0, splat<V>(800), above), V{}, 0);
}

// A negative base takes an integer exponent, odd ones keep the sign; zero, infinite, NaN and subnormal bases
// and huge exponents are left to libm.
template <class V, class F>
TN_INLINE V pow_by(V x, V y, F of_size) {
  const V size = abs(x), half = 0.5 * y;
  const Mask<V> integer = round_even(y) == y, odd = integer & (round_even(half) != half);
  const V magnitude = of_size(size, y);
  const V signed_value = select<V>(odd, flip_sign(magnitude, x), magnitude);
  const V value = select<V>((x < 0.0) & ~integer, splat<V>(__builtin_nan("")), signed_value);
  const Mask<V> ordinary = (size >= 0x1p-1022) & (size < __builtin_inf()) & (abs(y) < 0x1p63);
  if (any(~ordinary)) [[unlikely]]
    return patch_lanes(value, ~ordinary, [&](int i) { return __builtin_pow(x[i], y[i]); });
  return value;
}

template <class V>
TN_INLINE V pow(V x, V y) {
  return pow_by(x, y, [](V size, V y) { return pow_of_size(size, y); });
}

template <class V>
TN_INLINE V pow_f32(V x, V y) {
  return pow_by(x, y, [](V size, V y) { return pow_of_size_f32(size, y); });
}

// ---- hypot ----

template <class V>
TN_INLINE V hypot_of_normal(V a, V b) {
  const Twofold<V> square = add(two_product(a, a), two_product(b, b));
  return sum(sqrt(square));
}

template <class V>
TN_INLINE V hypot(V x, V y) {
  const V a = abs(x), b = abs(y), larger = select<V>(a > b, a, b);
  const V h = hypot_of_normal(a, b);
  const Mask<V> ordinary = ((larger > 0x1p-450) | (larger == 0.0)) & (a < 0x1p450) & (b < 0x1p450);
  if (any(~ordinary)) [[unlikely]]
    return patch_lanes(h, ~ordinary, [&](int i) { return __builtin_hypot(x[i], y[i]); });
  return h;
}

// ---- logaddexp ----

template <class V>
TN_INLINE V logaddexp(V a, V b) {
  const V larger = select<V>((a >= b) | (a != a), a, b);
  const V y = larger + log1p(exp(-abs(a - b)));
  return select<V>(a == b, a + kLn2, y);
}

}  // namespace
}  // namespace tn
