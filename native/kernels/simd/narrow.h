// exp, log and tanh of float32 in float32 lanes, twice as many as single.h has: within 2.5 ulp at most.
#pragma once

#include "native/kernels/simd/single.h"

namespace tn {
namespace {

// A register of float64 lanes and the float32 values of its lanes.
using HalfF32 = VectorOf<float, kVectorBytes / 2>::type;
TN_INLINE F64 widen(HalfF32 x) { return __builtin_convertvector(x, F64); }
TN_INLINE HalfF32 narrow(F64 x) { return __builtin_convertvector(x, HalfF32); }

// f in float64 lanes, for registers with arguments that the fast path excludes.
template <class F>
TN_INLINE F32 in_wide_lanes(F32 x, F f) {
  HalfF32 halves[2];
  __builtin_memcpy(halves, &x, sizeof x);
  for (HalfF32& half : halves) half = narrow(f(widen(half)));
  return load<F32>(halves);
}

constexpr float kNarrowLog2E = 0x1.715476p+0f;
constexpr float kNarrowLn2 = 0x1.62e430p-1f;
constexpr float kNarrowLn2High = 0x1.62e4p-1f;  // 15 bits: k * kNarrowLn2High is exact
constexpr float kNarrowLn2Low = 0x1.7f7d1cp-20f;

// Tails as in exp.h; (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f in [sqrt(1/2), sqrt(2)).
constexpr float kNarrowExpTail[] = {0x1.000000p-1f, 0x1.55548ep-3f, 0x1.55545cp-5f, 0x1.123bbcp-7f,
                                    0x1.6db554p-10f};
constexpr float kNarrowLogTail[] = {0x1.55554ap-2f, -0x1.00021ep-2f, 0x1.99a596p-3f, -0x1.547916p-3f,
                                    0x1.226e88p-3f, -0x1.0cdbfep-3f, 0x1.07cdfep-3f, -0x1.41fd78p-4f};
constexpr float kNarrowTanhTail[] = {-0x1.555518p-2f, 0x1.10e030p-3f, -0x1.a4d5f2p-5f};

TN_COLD F32 narrow_exp_extreme(F32 x) {
  return in_wide_lanes(x, [](F64 v) { return single_exp(v); });
}

constexpr float kNarrowOrdinaryExp = 87.0f;
TN_INLINE F32 narrow_exp_ordinary(F32 x) {
  const Rounded<F32> k = round_product(x, kNarrowLog2E);
  const F32 r = fma(k.value, -kNarrowLn2Low, fma(k.value, -kNarrowLn2High, x));
  return add_to_exponent(1.0f + fma(r * r, polynomial(r, kNarrowExpTail), r), k.bits);
}

TN_INLINE F32 narrow_exp(F32 x) {
  if (any(~(abs(x) < kNarrowOrdinaryExp))) [[unlikely]]
    return narrow_exp_extreme(x);
  return narrow_exp_ordinary(x);
}

TN_COLD F32 narrow_log_special(F32 x) {
  return in_wide_lanes(x, [](F64 v) { return single_log(v); });
}

TN_INLINE F32 narrow_log(F32 x) {
  if (any_not_positive_normal(x)) [[unlikely]]
    return narrow_log_special(x);
  constexpr int32_t sqrt_half = 0x3f3504f3;
  const I32 k = ((I32)x - sqrt_half) >> kFractionBits<F32>;
  const F32 n = __builtin_convertvector(k, F32), f = (F32)((I32)x - (k << kFractionBits<F32>)) - 1.0f,
            z = f * f;
  const F32 tail = fma(f * z, polynomial(f, kNarrowLogTail), n * kNarrowLn2Low);
  return fma(n, kNarrowLn2High, f + fma(z, -0.5f, tail));
}

// As tanh in exp.h, with numerator and denominator at once: one more rounding, six cycles fewer.
TN_INLINE F32 narrow_tanh(F32 x) {
  const F32 a = at_most(abs(x), 10.0f);
  const HalfLogs<F32> e = split_half_logs(a);
  const F32 r = minus_half_logs(a, e.k, kNarrowLn2, kNarrowLn2High, kNarrowLn2Low), z = r * r;
  const F32 t = fma(r * z, polynomial(z, kNarrowTanhTail), r), minus = e.w - 0.5f, plus = e.w + 0.5f;
  return flip_sign(fma(t, plus, minus) / fma(t, minus, plus), x);
}

}  // namespace
}  // namespace tn
