// Functions of two real arguments: pow, hypot, logaddexp, floor division and remainder.
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

// ---- floor division and remainder, as in Python ----

struct ScalarDivMod {
  double quotient, remainder;
};

// Any arguments, one at a time (NumPy's npy_divmod).
TN_COLD ScalarDivMod divmod_scalar(double a, double b) {
  double r = __builtin_fmod(a, b);
  if (b == 0) return {a / b, r};
  double q = (a - r) / b;
  if (r != 0 && (b < 0) != (r < 0)) {
    r += b;
    q -= 1;
  } else if (r == 0) {
    r = __builtin_copysign(0.0, b);
  }
  if (q == 0) return {__builtin_copysign(0.0, a / b), r};
  const double whole = __builtin_floor(q);
  return {whole + (q - whole > 0.5 ? 1 : 0), r};
}

template <class V>
struct DivMod {
  V quotient, remainder;
  Mask<V> special;  // lanes that need divmod_scalar
};

// |a| = n |b| + r exactly while n < 2^52: the rounded quotient is n or n + 1.
template <class V>
TN_INLINE DivMod<V> divmod(V a, V b) {
  const V x = abs(a), y = abs(b), ratio = x / y;
  V n = floor(ratio), r = minus_product(x, n, y);
  const Mask<V> over = r < 0.0;
  n -= select<V>(over, splat<V>(1), V{});
  r += select<V>(over, y, V{});
  const Mask<V> opposite = ((Mask<V>)a ^ (Mask<V>)b) < 0, whole = r == 0.0;
  const V quotient = select<V>(opposite, -n - select<V>(whole, V{}, splat<V>(1)), n);
  const V remainder = select<V>(opposite & ~whole, y - r, r);
  const Mask<V> ordinary = (ratio < 0x1p52) & (y < 0x1p900) & (y > 0x1p-900) & (x < 0x1p900);
  return {quotient, copy_sign(remainder, b), ~ordinary};
}

template <class V>
TN_INLINE V floor_divide(V a, V b) {
  const DivMod<V> d = divmod(a, b);
  if (any(d.special)) [[unlikely]]
    return patch_lanes(d.quotient, d.special, [&](int i) { return divmod_scalar(a[i], b[i]).quotient; });
  return d.quotient;
}

template <class V>
TN_INLINE V remainder(V a, V b) {
  const DivMod<V> d = divmod(a, b);
  if (any(d.special)) [[unlikely]]
    return patch_lanes(d.remainder, d.special, [&](int i) { return divmod_scalar(a[i], b[i]).remainder; });
  return d.remainder;
}

}  // namespace
}  // namespace tn
