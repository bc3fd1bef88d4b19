// log and its family: x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f) = 2 atanh(s), s = f
// / (2 + f).
#pragma once

#include <type_traits>

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
  V k, f;          // x = 2^k (1 + f)
  Mask<V> biased;  // k + 1023
};

// x positive and normal.
template <class V>
TN_INLINE Split<V> split_exponent(V x) {
  using U = Vector<uint64_t>;
  const U above = (U)((Mask<V>)x - kSqrtHalfBits + kOneBits);  // biased k in the exponent field
  const Mask<V> biased = (Mask<V>)(above >> 52);
  const V m = (V)((Mask<V>)x - (biased << 52) + kOneBits);
  return {(V)(biased | 0x4330000000000000) - (0x1p52 + 1023), m - 1.0, biased};
}

// k ln 2 + log(1 + f) + low, |f| < 0.42 (the grouping is that of fdlibm's e_log.c).
template <class V>
TN_INLINE V log_of_split(V k, V f, V low) {
  const V s = f / (2.0 + f), z = s * s;
  const V tail = z * polynomial(z, kLogTail), half_square = 0.5 * f * f;
  return k * kLn2High - ((half_square - fma(s, half_square + tail, fma(k, kLn2Low, low))) - f);
}

// The value where x is not a positive normal number, y where it is.
template <class V>
TN_INLINE V log_limits(V x, V y) {
  const V infinite = select<V>(x == 0.0, splat<V>(-__builtin_inf()), x);
  const V defined = select<V>((x == 0.0) | (x == __builtin_inf()) | (x != x), infinite, y);
  return select<V>(x < 0.0, splat<V>(__builtin_nan("")), defined);
}

template <class V>
TN_INLINE bool any_not_positive_normal(V x) {
  using U = std::conditional_t<sizeof(Scalar<V>) == 8, uint64_t, uint32_t>;
  constexpr U smallest_normal = U(1) << kFractionBits<V>, infinity = (U(kSignBit<V>) - smallest_normal);
  return any((Vector<U>)x - smallest_normal >= infinity - smallest_normal);
}

// log of the special lanes by scaling subnormals; `log_normal(x, k0)` is log(x) + k0 ln 2 (or its base's
// logarithm).
template <class V, class F>
TN_INLINE V log_any(V x, F log_normal) {
  const Mask<V> tiny = x < 0x1p-1022;
  return log_limits(x, log_normal(select<V>(tiny, x * 0x1p54, x), select<V>(tiny, splat<V>(-54), V{})));
}

template <class V>
TN_COLD V log_special(V x) {
  return log_any(x, [](V x, V k0) {
    const Split<V> e = split_exponent(x);
    return log_of_split(e.k + k0, e.f, V{});
  });
}

template <class V>
TN_INLINE V log(V x) {
  if (any_not_positive_normal(x)) [[unlikely]]
    return log_special(x);
  const Split<V> e = split_exponent(x);
  return log_of_split(e.k, e.f, V{});
}

// log(1 + f) as hi + lo, to about 2^-58 of its size.
template <class V>
TN_INLINE Twofold<V> log1p_twofold(V f) {
  const V s = f / (2.0 + f), z = s * s;
  const Twofold<V> half_square = two_product(0.5 * f, f);
  const V rest = s * fma(z, polynomial(z, kLogTail), half_square.hi) - half_square.lo;
  const Twofold<V> main = fast_two_sum(f, -half_square.hi);
  return fast_two_sum(main.hi, main.lo + rest);
}

struct LogBase {
  double scale_hi, scale_lo, two_hi,
      two_lo;  // 1 / ln(base); log_base(2), its high part with 20 trailing zeros
};
constexpr LogBase kBase2 = {0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1, 0};
constexpr LogBase kBase10 = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.3441350900000p-2,
                             0x1.ef3fde623e256p-35};

template <class V>
TN_INLINE V log_in_base(V x, V k0, LogBase base) {
  const Split<V> e = split_exponent(x);
  const Twofold<V> m = log1p_twofold(e.f), p = two_product(m.hi, splat<V>(base.scale_hi));
  const V low = p.lo + fma(m.lo, base.scale_hi, m.hi * base.scale_lo), k = e.k + k0;
  const Twofold<V> s = fast_two_sum(k * base.two_hi, p.hi);
  return s.hi + (s.lo + fma(k, base.two_lo, low));
}

template <class V>
TN_COLD V log2_special(V x) {
  return log_any(x, [](V x, V k0) { return log_in_base(x, k0, kBase2); });
}

template <class V>
TN_INLINE V log2(V x) {
  if (any_not_positive_normal(x)) [[unlikely]]
    return log2_special(x);
  return log_in_base(x, V{}, kBase2);
}

template <class V>
TN_COLD V log10_special(V x) {
  return log_any(x, [](V x, V k0) { return log_in_base(x, k0, kBase10); });
}

template <class V>
TN_INLINE V log10(V x) {
  if (any_not_positive_normal(x)) [[unlikely]]
    return log10_special(x);
  return log_in_base(x, V{}, kBase10);
}

// log(u.hi + u.lo) + shift ln 2, u.hi positive and normal, without loss near u = 1.
template <class V>
TN_INLINE V log_of_twofold(Twofold<V> u, V shift) {
  const Split<V> e = split_exponent(u.hi);
  const V low = u.lo * (V)((2046 - e.biased) << 52);
  const Twofold<V> f = two_sum(e.f, low);
  return log_of_split(e.k + shift, f.hi, fma(f.lo, -0.75 * f.hi, f.lo));
}

template <class V>
TN_COLD V log1p_special(V x, V u, V y) {
  const V defined = log_limits(u, y);
  return select<V>(x == 0.0, x, defined);
}

template <class V>
TN_INLINE V log1p(V x) {
  const Twofold<V> u = two_sum(x, splat<V>(1));
  const V y = copy_sign(log_of_twofold(u, V{}), x);
  if (any_not_positive_normal(u.hi)) [[unlikely]]
    return log1p_special(x, u.hi, y);
  return y;
}

// log(1 + t.hi + t.lo)
template <class V>
TN_INLINE V log1p(Twofold<V> t) {
  const Twofold<V> u = two_sum(t.hi, splat<V>(1));
  return log_of_twofold<V>({u.hi, u.lo + t.lo}, V{});
}

// log(1 + t), t = a + a^2 / (1 + sqrt(1 + a^2)); log(2 a) for large a.
template <class V>
TN_INLINE V asinh(V x) {
  const V a = abs(x);
  const Mask<V> large = a > 0x1p28;
  const V inside = select<V>(large, splat<V>(1), a);
  const Twofold<V> square = two_product(inside, inside), one = {splat<V>(1), V{}};
  const Twofold<V> root = sqrt(add(square, one));
  const Twofold<V> t = add(divide(square, add(root, one)), {inside, V{}});
  const Twofold<V> u = two_sum(t.hi, splat<V>(1));
  const Twofold<V> argument = {select<V>(large, a, u.hi), select<V>(large, V{}, u.lo + t.lo)};
  const V y = log_of_twofold(argument, select<V>(large, splat<V>(1), V{}));
  return copy_sign(select<V>(a < __builtin_inf(), y, a), x);
}

// log(1 + t), t = (x - 1) + sqrt((x - 1) (x + 1)); log(2 x) for large x.
template <class V>
TN_INLINE V acosh(V x) {
  const Mask<V> large = x > 0x1p28;
  const V inside = select<V>(large, splat<V>(2), x), d = inside - 1.0;
  const Twofold<V> product = multiply({d, V{}}, two_sum(inside, splat<V>(1)));
  const Twofold<V> t = add(sqrt(product), {d, V{}}), u = two_sum(t.hi, splat<V>(1));
  const Twofold<V> argument = {select<V>(large, x, u.hi), select<V>(large, V{}, u.lo + t.lo)};
  const V y = log_of_twofold(argument, select<V>(large, splat<V>(1), V{}));
  const V defined = select<V>(x < __builtin_inf(), y, x);
  return select<V>(x < 1.0, splat<V>(__builtin_nan("")), defined);
}

// log(1 + 2 a / (1 - a)) / 2
template <class V>
TN_INLINE V atanh(V x) {
  const V a = abs(x), inside = select<V>(a < 1.0, a, V{});
  const V y = 0.5 * log1p(divide({inside + inside, V{}}, two_sum(splat<V>(1), -inside)));
  const V edge = select<V>(a == 1.0, splat<V>(__builtin_inf()), splat<V>(__builtin_nan("")));
  return copy_sign(select<V>(a < 1.0, y, edge), x);
}

}  // namespace
}  // namespace tn
