// x modulo pi/2 for any finite double: the product of its fraction with those bits of 2/pi that matter (M.
// Payne and R. Hanek, "Radian reduction for trigonometric functions", 1983), in 192-bit integers.
#pragma once

#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// One word of zeros, then the bits of 2/pi.
constexpr uint64_t kTwoOverPiBits[] = {0,
                                       0xa2f9836e4e441529,
                                       0xfc2757d1f534ddc0,
                                       0xdb6295993c439041,
                                       0xfe5163abdebbc561,
                                       0xb7246e3a424dd2e0,
                                       0x06492eea09d1921c,
                                       0xfe1deb1cb129a73e,
                                       0xe88235f52ebb4484,
                                       0xe99c7026b45f7e41,
                                       0x3991d639835339f4,
                                       0x9c845f8bbdf9283b,
                                       0x1ff897ffde05980f,
                                       0xef2f118b5a0a6d1f,
                                       0x6d367ecf27cb09b7,
                                       0x4f463f669e5fea2d,
                                       0x7527bac7ebe5f17b,
                                       0x3d0739f78a5292ea,
                                       0x6bfb5fb11f8d5d08,
                                       0x56033046fc7b6bab,
                                       0xf0cfbc209af4361d};

// x 2/pi = n + hi + lo, |hi + lo| <= 1/2; n modulo 4.
struct HugeQuotient {
  double hi, lo;
  int64_t n;
};

TN_INLINE double as_double(uint64_t bits) { return __builtin_bit_cast(double, bits); }

// x = m 2^e; the result is x 2/pi modulo 4 as a fixed-point number, words from high to low, the point after
// two bits.
TN_INLINE void multiply_by_two_over_pi(uint64_t m, int e, uint64_t (&product)[3]) {
  const int start = e - 2 + 64, word = start / 64, shift = start % 64;
  unsigned __int128 carry = 0;
  for (int i = 2; i >= 0; --i) {
    const uint64_t high = kTwoOverPiBits[word + i], next = kTwoOverPiBits[word + i + 1];
    const uint64_t window = shift == 0 ? high : high << shift | next >> (64 - shift);
    carry += static_cast<unsigned __int128>(m) * window;
    product[i] = uint64_t(carry);
    carry >>= 64;
  }
}

TN_INLINE void negate(uint64_t (&words)[3]) {
  bool carry = true;
  for (int i = 2; i >= 0; --i) {
    words[i] = ~words[i] + carry;
    carry = carry && words[i] == 0;
  }
}

// The leading 106 bits of a nonzero fixed-point number with the point after two bits.
TN_INLINE HugeQuotient leading_bits(uint64_t (&words)[3]) {
  int scale = 0;
  for (; words[0] == 0; scale += 64) {
    words[0] = words[1];
    words[1] = words[2];
    words[2] = 0;
  }
  const int zeros = __builtin_clzll(words[0]);
  const uint64_t first = zeros ? words[0] << zeros | words[1] >> (64 - zeros) : words[0];
  const uint64_t second = zeros ? words[1] << zeros | words[2] >> (64 - zeros) : words[1];
  const double unit =
      as_double(uint64_t(1023 - 62 - scale - zeros) << 52);  // the weight of the last bit of `first`
  const double high = double(first >> 11) * 2048, low = double(first & 2047) + double(second) * 0x1p-64;
  return {high * unit, low * unit, 0};
}

// x >= 2^20 and finite.
[[maybe_unused]] TN_COLD HugeQuotient quotient_of_huge(double x) {
  const uint64_t bits = __builtin_bit_cast(uint64_t, x);
  const int e = int(bits >> 52) - 1075;
  uint64_t product[3];
  multiply_by_two_over_pi((bits & 0xfffffffffffff) | uint64_t(1) << 52, e, product);
  const uint64_t n = (product[0] + (uint64_t(1) << 61)) >> 62;
  product[0] -= n << 62;
  const bool negative = product[0] >> 63;
  if (negative) negate(product);
  const HugeQuotient f = leading_bits(product);
  return negative ? HugeQuotient{-f.hi, -f.lo, int64_t(n)} : HugeQuotient{f.hi, f.lo, int64_t(n)};
}

}  // namespace
}  // namespace tn
