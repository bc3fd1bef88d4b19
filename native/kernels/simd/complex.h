// Complex functions of lanes, from real ones. Branch cuts and infinities as in C99's Annex G and NumPy; the
// inverse functions are Kahan's ("Branch cuts for complex elementary functions", 1987), which never cancel.
#pragma once

#include "native/kernels/simd/power.h"
#include "native/kernels/simd/trig.h"

namespace tn {
namespace {

struct Z {
  F64 re, im;
};

constexpr double kInfinity = __builtin_inf();

TN_INLINE Z select(I64 mask, Z a, Z b) {
  return {select<F64>(mask, a.re, b.re), select<F64>(mask, a.im, b.im)};
}
TN_INLINE Z operator*(Z a, F64 s) { return {a.re * s, a.im * s}; }
TN_INLINE Z operator*(Z a, Z b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
TN_INLINE Z times_i(Z z) { return {-z.im, z.re}; }
TN_INLINE Z times_minus_i(Z z) { return {z.im, -z.re}; }
TN_INLINE F64 zero_like(F64 x) { return copy_sign(F64{}, x); }
TN_INLINE I64 is_finite(F64 x) { return abs(x) < kInfinity; }
TN_INLINE I64 is_infinite(F64 x) { return abs(x) == kInfinity; }
TN_INLINE F64 larger_part(Z z) {
  const F64 a = abs(z.re), b = abs(z.im);
  return select<F64>(a > b, a, b);
}

TN_SHARED F64 abs(Z z) { return hypot(z.re, z.im); }

// ---- quotient ----

// a b + c d with the rounding error of the first product put back.
TN_INLINE F64 sum_of_products(F64 a, F64 b, F64 c, F64 d) {
  const Twofold<F64> p = two_product(c, d);
  return fma(a, b, p.hi) + p.lo;
}

// Smith's quotient: the divisor is scaled by its larger part, so that nothing overflows on the way.
TN_COLD Complex<double> divide_scalar(Complex<double> a, Complex<double> b) {
  if (__builtin_fabs(b.re) >= __builtin_fabs(b.im)) {
    if (b.re == 0 && b.im == 0) return {a.re / __builtin_fabs(b.re), a.im / __builtin_fabs(b.re)};
    const double ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const double ratio = b.re / b.im, scale = 1 / (b.re * ratio + b.im);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

TN_COLD Z divide_special(Z a, Z b, Z normal, I64 special) {
  for (int i = 0; i < kLanes<F64>; ++i) {
    if (!special[i]) continue;
    const Complex<double> q = divide_scalar({a.re[i], a.im[i]}, {b.re[i], b.im[i]});
    normal.re[i] = q.re;
    normal.im[i] = q.im;
  }
  return normal;
}

TN_INLINE Z divide(Z a, Z b) {
  const F64 inverse = 1.0 / (b.re * b.re + b.im * b.im);
  const Z q = {sum_of_products(a.re, b.re, a.im, b.im) * inverse,
               sum_of_products(a.im, b.re, -a.re, b.im) * inverse};
  const F64 above = larger_part(a), below = larger_part(b);
  const I64 numerator = (above == 0.0) | ((above > 0x1p-250) & (above < 0x1p250));
  const I64 special = ~(numerator & (below > 0x1p-250) & (below < 0x1p250) & (b.im == b.im) & (a.im == a.im) &
                        (b.re == b.re) & (a.re == a.re));
  if (any(special)) [[unlikely]]
    return divide_special(a, b, q, special);
  return q;
}

TN_INLINE Z reciprocal(Z z) { return divide({splat<F64>(1), F64{}}, z); }

// z / |z|; the direction of infinity is that of its infinite parts.
TN_INLINE Z sign(Z z) {
  const I64 infinite = is_infinite(z.re) | is_infinite(z.im);
  const F64 one = splat<F64>(1);
  const Z corner = {copy_sign(select<F64>(is_infinite(z.re), one, 0.0 * z.re), z.re),
                    copy_sign(select<F64>(is_infinite(z.im), one, 0.0 * z.im), z.im)};
  const Z direction = select(infinite, corner, z);
  const F64 size = abs(direction);
  return select(size == 0.0, Z{F64{}, F64{}}, Z{direction.re / size, direction.im / size});
}

// ---- exponentials ----

// e^x (c, s) without early overflow: x is split in two, each of which has an exponential.
TN_INLINE Z scale_by_exp(F64 x, Z direction) {
  const F64 low = select<F64>(x < -700.0, splat<F64>(-700), x),
            first = select<F64>(low > 700.0, splat<F64>(700), low);
  const Z z = direction * exp(first);
  if (any(~(abs(x) <= 700.0))) [[unlikely]]
    return z * exp(x - first);
  return z;
}

TN_INLINE Z exp_times(F64 x, F64 cos, F64 sin, F64 y) {
  const Z e = scale_by_exp(x, {cos, sin});
  const I64 wild = ~is_finite(y);
  const F64 re = select<F64>(wild & is_infinite(x), select<F64>(x > 0.0, x, F64{}), e.re);
  const F64 im = select<F64>(wild & (x == -kInfinity), F64{}, e.im);
  return {re, select<F64>(y == 0.0, y, im)};
}

TN_SHARED Z exp(Z z) { return exp_times(z.re, cos(z.im), sin(z.im), z.im); }

TN_INLINE Z exp2(Z z) { return exp(z * splat<F64>(kLn2)); }

// (e^x - 1) cos y - 2 sin(y / 2)^2, e^x sin y
TN_INLINE Z expm1(Z z) {
  const F64 half = sin(0.5 * z.im);
  return {expm1(z.re) * cos(z.im) - 2.0 * half * half, exp(z).im};
}

struct SinhCosh {
  Z sinh, cosh;
};

// sinh x cos y + i cosh x sin y, and cosh x cos y + i sinh x sin y.
TN_SHARED SinhCosh sinh_cosh(Z z) {
  const F64 x = z.re, y = z.im, c = cos(y), s = sin(y);
  const I64 large = abs(x) > 700.0;
  const F64 inside = select<F64>(large, F64{}, x), sh = sinh(inside), ch = cosh(inside);
  Z a = {sh * c, ch * s}, b = {ch * c, sh * s};
  if (any(large)) [[unlikely]] {
    const Z e = scale_by_exp(abs(x), {0.5 * c, 0.5 * s});
    a = select(large, Z{flip_sign(e.re, x), e.im}, a);
    b = select(large, Z{e.re, flip_sign(e.im, x)}, b);
  }
  const I64 wild = ~is_finite(y), wide = ~(abs(x) <= 700.0), real = (y == 0.0) & wide,
            imaginary = (x == 0.0) & wild;
  a = {select<F64>(imaginary | (is_infinite(x) & wild), x, a.re), select<F64>(real, y, a.im)};
  b = {select<F64>(is_infinite(x) & wild, abs(x), b.re),
       select<F64>(real | imaginary, flip_sign(zero_like(x), y), b.im)};
  return {a, b};
}

TN_INLINE Z sinh(Z z) { return sinh_cosh(z).sinh; }
TN_INLINE Z cosh(Z z) { return sinh_cosh(z).cosh; }

TN_SHARED Z tanh(Z z) {
  const F64 x = z.re, y = z.im, c = cos(y), s = sin(y);
  const I64 large = ~(abs(x) <= 22.0);
  const F64 inside = select<F64>(large, F64{}, x), t = s / c, beta = 1.0 + t * t;
  const F64 sh = sinh(inside), ch = cosh(inside), denominator = 1.0 + beta * sh * sh;
  const Z near = {beta * ch * sh / denominator, t / denominator};
  const F64 tail = 4.0 * s * c * exp(-2.0 * abs(x));
  const F64 far_im = select<F64>(is_infinite(x), select<F64>(is_finite(y), zero_like(s * c), F64{}), tail);
  const Z far = {select<F64>(x != x, x, copy_sign(splat<F64>(1), x)), select<F64>(x != x, x, far_im)};
  const Z value = select(large, far, near);
  const F64 re = select<F64>(is_finite(x) & ~is_finite(y), y - y, value.re);
  return {select<F64>(x == 0.0, x, re), select<F64>(y == 0.0, y, value.im)};
}

TN_INLINE Z sin(Z z) { return times_minus_i(sinh(times_i(z))); }
TN_INLINE Z cos(Z z) { return cosh(times_i(z)); }
TN_INLINE Z tan(Z z) { return times_minus_i(tanh(times_i(z))); }

// ---- logarithms ----

// z = 2^k (re + i im) with parts of size at most 2; subnormal numbers and zero keep what scaling by 2^1022
// leaves.
struct ScaledZ {
  Z z;
  I64 k;
};
TN_INLINE ScaledZ scale_to_one(Z z) {
  using U = Vector<uint64_t>;
  I64 k = (I64)((U)larger_part(z) >> 52) - 1023;
  k = k > 1022 ? I64{} + 1022 : k < -1022 ? I64{} - 1022 : k;
  return {z * power_of_two<F64>(-k), k};
}

TN_INLINE F64 float_of(I64 k) { return (F64)(k + (I64)splat<F64>(kRounder<F64>)) - kRounder<F64>; }

// log|z|, accurate where |z| is near 1 too.
TN_INLINE F64 log_abs(Z z) {
  const ScaledZ s = scale_to_one(z);
  const Twofold<F64> square = add(two_product(s.z.re, s.z.re), two_product(s.z.im, s.z.im));
  const F64 y = 0.5 * log_of_twofold(square, float_of(s.k + s.k));
  const I64 infinite = is_infinite(z.re) | is_infinite(z.im), undefined = (z.re != z.re) | (z.im != z.im);
  const F64 zero_or_nan =
      select<F64>(undefined, z.re + z.im, select<F64>(larger_part(z) == 0.0, splat<F64>(-kInfinity), y));
  return select<F64>(infinite, splat<F64>(kInfinity), zero_or_nan);
}

TN_SHARED Z log(Z z) { return {log_abs(z), atan2(z.im, z.re)}; }
TN_INLINE Z log2(Z z) { return log(z) * splat<F64>(kBase2.scale_hi); }
TN_INLINE Z log10(Z z) { return log(z) * splat<F64>(kBase10.scale_hi); }

// log(1 + t) / 2 with t = 2 x + x^2 + y^2 for moderate z.
TN_SHARED Z log1p(Z z) {
  const Z shifted = {1.0 + z.re, z.im};
  const I64 moderate = larger_part(z) < 0x1p100;
  const F64 x = select<F64>(moderate, z.re, F64{}), y = select<F64>(moderate, z.im, F64{});
  const Twofold<F64> squares = add(two_product(x, x), two_product(y, y)), t = add({x + x, F64{}}, squares);
  const F64 near = 0.5 * log1p(t);
  const I64 usable = moderate & (t.hi > -0.75) & (z.re == z.re) & (z.im == z.im);
  return {select<F64>(usable, near, log_abs(shifted)), atan2(z.im, shifted.re)};
}

// ---- square roots ----

TN_SHARED Z sqrt(Z z) {
  ScaledZ s = scale_to_one(z);
  const I64 odd = s.k & 1;
  s.z = select(odd != 0, s.z * splat<F64>(2), s.z);
  const F64 t = sqrt(0.5 * (abs(s.z.re) + hypot(s.z.re, s.z.im)));
  const F64 other = select<F64>(t > 0.0, 0.5 * abs(s.z.im) / t, t);
  const I64 right = (I64)z.re >= 0;
  const F64 unscale = power_of_two<F64>((s.k - odd) >> 1);
  const F64 re = select<F64>(right, t, other) * unscale, im = select<F64>(right, other, t) * unscale;
  const Z infinite_real = {select<F64>(right, abs(z.re), select<F64>(z.im == z.im, F64{}, z.im)),
                           select<F64>(right, select<F64>(z.im == z.im, F64{}, z.im), abs(z.re))};
  Z value = select(is_infinite(z.re), infinite_real, Z{re, im});
  value = select(is_infinite(z.im), Z{splat<F64>(kInfinity), splat<F64>(kInfinity)}, value);
  return {value.re, copy_sign(value.im, z.im)};
}

TN_INLINE Z rsqrt(Z z) { return reciprocal(sqrt(z)); }

// ---- inverse functions ----

TN_INLINE Z one_plus(Z z) { return {1.0 + z.re, z.im}; }
TN_INLINE Z one_minus(Z z) { return {1.0 - z.re, -z.im}; }

// Any part of z NaN or infinite, where the formulas below would meet inf - inf.
TN_INLINE I64 not_finite(Z z) { return ~(is_finite(z.re) & is_finite(z.im)); }

// The angle of x + i y, with infinite parts, as atan2 has it; the logarithm's size for the imaginary part.
TN_SHARED Z asin(Z z) {
  const Z a = sqrt(one_minus(z)), b = sqrt(one_plus(z));
  const Z near = {atan2(z.re, a.re * b.re - a.im * b.im), asinh(a.re * b.im - a.im * b.re)};
  if (any(not_finite(z))) [[unlikely]] {
    const I64 infinite = is_infinite(z.re) | is_infinite(z.im);
    const F64 angle = select<F64>(is_infinite(z.im) & ~is_infinite(z.re), 0.0 * z.re, atan2(z.re, abs(z.im)));
    const Z far = {select<F64>(z.re == 0.0, z.re, angle), copy_sign(splat<F64>(kInfinity), z.im)};
    return select(infinite, far,
                  select(not_finite(z), Z{select<F64>(z.re == 0.0, z.re, z.re + z.im), z.re + z.im}, near));
  }
  return near;
}

TN_SHARED Z acos(Z z) {
  const Z a = sqrt(one_minus(z)), b = sqrt(one_plus(z));
  const Z near = {2.0 * atan2(a.re, b.re), asinh(b.re * a.im - b.im * a.re)};
  if (any(not_finite(z))) [[unlikely]] {
    const I64 infinite = is_infinite(z.re) | is_infinite(z.im);
    const Z far = {atan2(abs(z.im), z.re), copy_sign(splat<F64>(kInfinity), -z.im)};
    const F64 nan = z.re + z.im;
    return select(
        infinite, far,
        select(not_finite(z), Z{select<F64>(z.re == 0.0, splat<F64>(kPiOver2High), nan), nan}, near));
  }
  return near;
}

// acosh z = +-i acos z, the sign that makes the real part positive.
TN_INLINE Z acosh(Z z) {
  const Z w = acos(z);
  return {abs(w.im), copy_sign(w.re, z.im)};
}

TN_INLINE Z asinh(Z z) { return times_i(asin(times_minus_i(z))); }

// log1p(4 |x| / ((1 - |x|)^2 + y^2)) / 4 and the angle of (1 - x) (1 + x) - y^2 + 2 i y, halved.
TN_SHARED Z atanh(Z z) {
  const F64 x = abs(z.re), y = abs(z.im), gap = 1.0 - x;
  const I64 far = ~(larger_part(z) < 0x1p60), pole = (x == 1.0) & (y < 0x1p-500);
  const F64 ratio = 4.0 * x / select<F64>(far | pole, splat<F64>(1), gap * gap + y * y);
  const F64 near = 0.25 * log1p(select<F64>(far, F64{}, ratio));
  const F64 at_pole = 0.5 * (kLn2 - log(y));
  const F64 size = larger_part(z), u = x / size, v = y / size;
  const F64 distant = select<F64>(is_infinite(z.re) | is_infinite(z.im), F64{}, u / (size * (u * u + v * v)));
  const F64 re = select<F64>(far, distant, select<F64>(pole, at_pole, near));
  const F64 angle = 0.5 * atan2(y + y, gap * (1.0 + x) - y * y);
  const I64 right_angle = is_infinite(z.im) | (far & (z.re == z.re) & (z.im == z.im));
  const F64 im = select<F64>(right_angle, splat<F64>(kPiOver2High), angle);
  const F64 shown = select<F64>(z.re == 0.0, z.re, select<F64>(is_infinite(z.im), F64{}, re));
  return {copy_sign(shown, z.re), copy_sign(im, z.im)};
}

TN_INLINE Z atan(Z z) { return times_minus_i(atanh(times_i(z))); }

// ---- pow ----

// z^n for integers |n| < 128 by repeated squaring, exact where NumPy's is.
TN_SHARED Z integer_power(Z z, F64 n) {
  I64 bits = (I64)(abs(n) + kRounder<F64>)&127;
  Z result = {splat<F64>(1), F64{}}, base = z;
  for (int i = 0; i < 7; ++i) {
    result = select((bits & 1) != 0, result * base, result);
    bits = bits >> 1;
    base = base * base;
  }
  return any(n < 0.0) ? select(n < 0.0, reciprocal(result), result) : result;
}

TN_SHARED Z pow(Z z, Z w) {
  const Z log_z = log(z);
  const F64 size = w.re * log_z.re - w.im * log_z.im, angle = w.im * log_z.re + w.re * log_z.im;
  Z value = exp(Z{size, angle});
  const I64 small = (w.im == 0.0) & (abs(w.re) < 100.0) & (round_even(w.re) == w.re);
  if (any(small)) value = select(small, integer_power(z, w.re), value);
  const I64 zero = (z.re == 0.0) & (z.im == 0.0), trivial = (w.re == 0.0) & (w.im == 0.0);
  const F64 nan = splat<F64>(__builtin_nan(""));
  const Z of_zero = select(w.re > 0.0, Z{F64{}, F64{}}, Z{nan, nan});
  return select(trivial, Z{splat<F64>(1), F64{}}, select(zero, of_zero, value));
}

}  // namespace
}  // namespace tn
