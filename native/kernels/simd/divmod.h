// Floor division and remainder of floating numbers, as in Python: the remainder has the sign of the divisor.
#pragma once

#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

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
