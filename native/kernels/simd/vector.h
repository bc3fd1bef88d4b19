// One SIMD register as a value: GCC vector extensions, with intrinsics only where the compiler has no
// operator. A mask is a vector of signed integers, all ones or all zeros per lane, as comparisons give.
#pragma once

#include "native/kernels/simd/target.h"

namespace tn {
namespace {

template <class T, int kBytes = kVectorBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class V>
auto first_lane(V v) {
  auto lane = v[0];
  return lane;
}
template <class V>
using Scalar = decltype(first_lane(V{}));
template <class V>
using Mask = decltype(V{} < V{});
template <class V>
constexpr int kLanes = int(sizeof(V) / sizeof(V{}[0]));

template <int... lane>
struct Lanes {};
#if defined(__clang__)
template <class T, T... lane>
using LanesAs = Lanes<lane...>;
template <int N>
using LanesUpTo = __make_integer_seq<LanesAs, int, N>;
#else
template <int N>
using LanesUpTo = Lanes<__integer_pack(N)...>;
#endif

template <class V>
TN_INLINE V load(const void* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

template <class V>
TN_INLINE void store(void* p, V v) {
  __builtin_memcpy(p, &v, sizeof v);
}

// The first n < lanes elements; the other lanes are ones, which no function treats as special.
template <class V>
TN_INLINE V load_some(const Scalar<V>* p, size_t n) {
  V v = V{} + Scalar<V>(1);
  for (size_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

template <class V>
TN_INLINE void store_some(Scalar<V>* p, V v, size_t n) {
  for (size_t i = 0; i < n; ++i) p[i] = v[i];
}

template <class V>
TN_INLINE V splat(Scalar<V> s) {
  return s - V{};  // not V{} + s, which would lose the sign of -0.0
}

template <class V>
TN_INLINE V select(Mask<V> mask, V a, V b) {
  return mask ? a : b;
}

template <class M>
TN_INLINE bool any(M mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof mask == 64) return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#endif
#if defined(__AVX2__)
  if constexpr (sizeof mask == 32) return _mm256_movemask_ps((__m256)mask) != 0;
#endif
#if defined(__SSE2__)
  if constexpr (sizeof mask == 16) return _mm_movemask_epi8((__m128i)mask) != 0;
#endif
  bool found = false;
  for (int i = 0; i < kLanes<M>; ++i) found |= mask[i] != 0;
  return found;
}

// ---- floating point ----

using F64 = Vector<double>;
using F32 = Vector<float>;
using I64 = Mask<F64>;
using I32 = Mask<F32>;

template <class V>
constexpr int kFractionBits = sizeof(Scalar<V>) == 8 ? 52 : 23;
template <class V>
constexpr Scalar<Mask<V>> kSignBit = Scalar<Mask<V>>(1) << (8 * sizeof(Scalar<V>) - 1);

template <class V>
TN_INLINE V abs(V x) {
  return (V)((Mask<V>)x & ~kSignBit<V>);
}

template <class V>
TN_INLINE V copy_sign(V magnitude, V sign) {
  return (V)(((Mask<V>)magnitude & ~kSignBit<V>) | ((Mask<V>)sign & kSignBit<V>));
}

template <class V>
TN_INLINE V flip_sign(V x, V sign) {
  return (V)((Mask<V>)x ^ ((Mask<V>)sign & kSignBit<V>));
}

// a * b + c, rounded once where the target has FMA: exactness is never assumed without asking kHasFma.
template <class V>
TN_INLINE V fma(V a, V b, V c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && sizeof(Scalar<V>) == 8)
    return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
  if constexpr (sizeof(V) == 64 && sizeof(Scalar<V>) == 4)
    return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#endif
#if defined(__FMA__)
  if constexpr (sizeof(V) == 32 && sizeof(Scalar<V>) == 8)
    return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
  if constexpr (sizeof(V) == 32 && sizeof(Scalar<V>) == 4)
    return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#endif
  return a * b + c;
}

template <class V>
TN_INLINE V fma(V a, V b, Scalar<V> c) {
  return fma(a, b, splat<V>(c));
}
template <class V>
TN_INLINE V fma(V a, Scalar<V> b, V c) {
  return fma(a, splat<V>(b), c);
}
template <class V>
TN_INLINE V fma(V a, Scalar<V> b, Scalar<V> c) {
  return fma(a, splat<V>(b), splat<V>(c));
}

template <class V>
TN_INLINE V sqrt(V x) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && sizeof(Scalar<V>) == 8) return (V)_mm512_sqrt_pd((__m512d)x);
  if constexpr (sizeof(V) == 64 && sizeof(Scalar<V>) == 4) return (V)_mm512_sqrt_ps((__m512)x);
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && sizeof(Scalar<V>) == 8) return (V)_mm256_sqrt_pd((__m256d)x);
  if constexpr (sizeof(V) == 32 && sizeof(Scalar<V>) == 4) return (V)_mm256_sqrt_ps((__m256)x);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16 && sizeof(Scalar<V>) == 8) return (V)_mm_sqrt_pd((__m128d)x);
  if constexpr (sizeof(V) == 16 && sizeof(Scalar<V>) == 4) return (V)_mm_sqrt_ps((__m128)x);
#endif
  for (int i = 0; i < kLanes<V>; ++i)
    x[i] = sizeof(Scalar<V>) == 8 ? __builtin_sqrt(x[i]) : __builtin_sqrtf(x[i]);
  return x;
}

// The smaller of x and a limit, one instruction; NaN stays.
template <class V>
TN_INLINE V at_most(V x, Scalar<V> limit) {
  const V bound = splat<V>(limit);
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && sizeof(Scalar<V>) == 8)
    return (V)_mm512_min_pd((__m512d)bound, (__m512d)x);
  if constexpr (sizeof(V) == 64 && sizeof(Scalar<V>) == 4) return (V)_mm512_min_ps((__m512)bound, (__m512)x);
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32 && sizeof(Scalar<V>) == 8)
    return (V)_mm256_min_pd((__m256d)bound, (__m256d)x);
  if constexpr (sizeof(V) == 32 && sizeof(Scalar<V>) == 4) return (V)_mm256_min_ps((__m256)bound, (__m256)x);
#endif
  return select<V>(bound < x, bound, x);
}

// Adding 1.5 * 2^fraction_bits leaves a number of the size of an integer with its rounded value in the low
// bits.
template <class V>
constexpr Scalar<V> kRounder = sizeof(Scalar<V>) == 8 ? Scalar<V>(0x1.8p52) : Scalar<V>(0x1.8p23);

// An integer near x as a float and as the low bits of an integer vector; |x| < 2^(fraction_bits - 2).
template <class V>
struct Rounded {
  V value;
  Mask<V> bits;
};
template <class V>
TN_INLINE Rounded<V> round_small(V x) {
  const V shifted = x + kRounder<V>;
  return {shifted - kRounder<V>, (Mask<V>)shifted};
}

template <class V>
TN_INLINE Rounded<V> round_product(V x, Scalar<V> factor) {
  const V shifted = fma(x, splat<V>(factor), splat<V>(kRounder<V>));
  return {shifted - kRounder<V>, (Mask<V>)shifted};
}

// To the nearest integer, ties to even, for any x; the sign of zero is kept.
template <class V>
TN_INLINE V round_even(V x) {
  const V size = abs(x);
  const V big = splat<V>(sizeof(Scalar<V>) == 8 ? 0x1p52 : 0x1p23);
  const V rounded = (size + big) - big;
  return copy_sign(select<V>(size < big, rounded, size), x);  // a NaN passes through
}

template <class V>
TN_INLINE V floor(V x) {
  const V r = round_even(x);
  return copy_sign(r - select<V>(r > x, splat<V>(1), V{}), x);
}

template <class V>
TN_INLINE V ceil(V x) {
  return (V)((Mask<V>)floor((V)((Mask<V>)x ^ kSignBit<V>)) ^ kSignBit<V>);
}

template <class V>
TN_INLINE V trunc(V x) {
  return copy_sign(floor(abs(x)), x);
}

// 2^n for integers n in the low bits, where the result is a normal number.
template <class V>
TN_INLINE V power_of_two(Mask<V> n) {
  constexpr Scalar<Mask<V>> bias = sizeof(Scalar<V>) == 8 ? 1023 : 127;
  return (V)((n + bias) << kFractionBits<V>);
}

// ---- polynomials, by Estrin's scheme ----

template <int k, class V>
TN_INLINE V power(V x) {
  if constexpr (k == 1)
    return x;
  else {
    const V half = power<k / 2>(x);
    return half * half;
  }
}

constexpr int largest_power_below(int n) {
  int p = 1;
  while (2 * p < n) p *= 2;
  return p;
}

template <int N, class V>
TN_INLINE V estrin(V x, const Scalar<V>* c) {
  if constexpr (N == 1)
    return splat<V>(c[0]);
  else if constexpr (N == 2)
    return fma(x, splat<V>(c[1]), splat<V>(c[0]));
  else if constexpr (N == 3)
    return fma(x, fma(x, splat<V>(c[2]), splat<V>(c[1])), splat<V>(c[0]));
  else {
    constexpr int half = largest_power_below(N);
    return fma(power<half>(x), estrin<N - half>(x, c + half), estrin<half>(x, c));
  }
}

// c[0] + c[1] x + c[2] x^2 + ...
template <class V, int N>
TN_INLINE V polynomial(V x, const Scalar<V> (&c)[N]) {
  return estrin<N>(x, c);
}

// ---- pairs hi + lo with |lo| at most half an ulp of hi ----

template <class V>
struct Twofold {
  V hi, lo;
};

template <class V>
TN_INLINE Twofold<V> two_sum(V a, V b) {
  const V s = a + b, t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

// |a| >= |b|, or a = 0.
template <class V>
TN_INLINE Twofold<V> fast_two_sum(V a, V b) {
  const V s = a + b;
  return {s, b - (s - a)};
}

template <class V>
TN_INLINE V high_half(V a) {
  constexpr Scalar<V> splitter = sizeof(Scalar<V>) == 8 ? 0x1p27 + 1 : 0x1p12 + 1;
  const V t = a * splitter;
  return t - (t - a);
}

// The product exactly; without FMA by Dekker's splitting (no overflow if |a|, |b| < 2^996).
template <class V>
TN_INLINE Twofold<V> two_product(V a, V b) {
  const V p = a * b;
  if constexpr (kHasFma) return {p, fma(a, b, -p)};
  const V ah = high_half(a), al = a - ah, bh = high_half(b), bl = b - bh;
  return {p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

// c - a * b where a * b is close to c: one rounding.
template <class V>
TN_INLINE V minus_product(V c, V a, V b) {
  if constexpr (kHasFma) return fma(-a, b, c);
  const Twofold<V> p = two_product(a, b);
  return (c - p.hi) - p.lo;
}

// (a.hi + a.lo) / (b.hi + b.lo), by one division and the remainder of its result.
template <class V>
TN_INLINE Twofold<V> divide(Twofold<V> a, Twofold<V> b) {
  const V inverse = Scalar<V>(1) / b.hi, q = a.hi * inverse;
  return {q, (minus_product(a.hi, q, b.hi) + fma(-q, b.lo, a.lo)) * inverse};
}

template <class V>
TN_INLINE Twofold<V> sqrt(Twofold<V> a) {
  const V root = sqrt(a.hi);
  const V remainder = minus_product(a.hi, root, root) + a.lo;
  return {root, select<V>(a.hi > Scalar<V>(0), remainder / (root + root), V{})};
}

template <class V>
TN_INLINE Twofold<V> add(Twofold<V> a, Twofold<V> b) {
  const Twofold<V> s = two_sum(a.hi, b.hi);
  return fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

template <class V>
TN_INLINE Twofold<V> multiply(Twofold<V> a, Twofold<V> b) {
  const Twofold<V> p = two_product(a.hi, b.hi);
  return fast_two_sum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

template <class V>
TN_INLINE V sum(Twofold<V> a) {
  return a.hi + a.lo;
}

// The lanes of `mask` recomputed one at a time by f(x[i]): for arguments too rare to deserve vectors.
template <class V, class F>
TN_INLINE V patch_lanes(V y, Mask<V> mask, F f) {
  for (int i = 0; i < kLanes<V>; ++i)
    if (mask[i]) y[i] = f(i);
  return y;
}

}  // namespace
}  // namespace tn
