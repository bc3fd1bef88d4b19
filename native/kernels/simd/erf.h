// The error function and its complement: erf by a polynomial up to 1, erfc(a) = e^(-a^2) p(t) / (1 + 2 a)
// beyond, t = (a - 4) / (a + 4), after Shepherd and Laframboise (1981).
#pragma once

#include "native/kernels/simd/exp.h"

namespace tn {
namespace {

// erf(x) / x - 1 in x^2, |x| <= 1
constexpr double kErfTail[] = {0x1.06eba8214db68p-3,   -0x1.812746b0379c1p-2,  0x1.ce2f21a040f8fp-4,
                               -0x1.b82ce31203eafp-6,  0x1.565bccfa4d2fcp-8,   -0x1.c02db066eac60p-11,
                               0x1.f9a2be4a2f25fp-14,  -0x1.f4ca822fe5b07p-17, 0x1.b981c0811020bp-20,
                               -0x1.5c12503eb8947p-23, 0x1.d76439eed4483p-27,  -0x1.ac7d6611be6c4p-31};

// (1 + 2 a) e^(a^2) erfc(a) in t, 1/2 <= a <= 28
constexpr double kErfc[] = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a28ep-3,  0x1.f7f5df66fd747p-7,   0x1.16ecefcfa52c7p-4,
    -0x1.9ddb23c3e8cb1p-4,  0x1.7fee004e14987p-4,   -0x1.0fb06dfe5090ep-4,  0x1.3079edf624916p-5,
    -0x1.09623883714f3p-6,  0x1.49c672a82277cp-8,   -0x1.8d4a9b961e55ap-11, -0x1.a1df436565ab7p-13,
    0x1.3be05f7694494p-13,  -0x1.9955065133937p-16, -0x1.788b8c397c312p-17, 0x1.7ef668150bc4fp-18,
    0x1.3b5047bc5961cp-22,  -0x1.b80aa17d49d3dp-21, 0x1.40e60c5f40e2fp-24,  0x1.bbf214bb5a917p-24,
    -0x1.337642509c48fp-26, -0x1.4ced88a1e1b32p-27, 0x1.f13b2c3b9ff7bp-30};

template <class V>
TN_INLINE V erf_small(V x) {
  return fma(x, polynomial(x * x, kErfTail), x);
}

// a >= 1/2; beyond 28 it underflows to 0.
template <class V>
TN_INLINE V erfc_large(V size) {
  const V a = select<V>(size > 28.0, splat<V>(28), size), sum = a + 4.0, scale = 1.0 + 2.0 * a;
  const V inverse = 1.0 / (sum * scale), t = (a - 4.0) * (scale * inverse);
  const Twofold<V> square = two_product(a, a);
  return exp(Twofold<V>{-square.hi, -square.lo}) * (polynomial(t, kErfc) * (sum * inverse));
}

template <class V>
TN_INLINE V erf(V x) {
  const V a = abs(x);
  return select<V>(a < 1.0, erf_small(x), copy_sign(1.0 - erfc_large(a), x));
}

template <class V>
TN_INLINE V erfc(V x) {
  const V a = abs(x), large = erfc_large(a);
  const V negative = select<V>(a < 1.0, 1.0 - erf_small(x), 2.0 - large);
  return select<V>(x < 0.5, negative, large);
}

}  // namespace
}  // namespace tn
