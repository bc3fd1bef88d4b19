// The table's complex functions. Complex64 elements pass through float64 lanes: no overflow, one rounding.
#include "native/kernels/simd/complex.h"

namespace tn {
namespace {

constexpr int L = kLanes<F64>;
using HalfF32 = VectorOf<float, kVectorBytes / 2>::type;

template <class V, int... lane>
TN_INLINE auto even_lanes(V a, V b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, (2 * lane)...);
}
template <class V, int... lane>
TN_INLINE auto odd_lanes(V a, V b, Lanes<lane...>) {
  return __builtin_shufflevector(a, b, (2 * lane + 1)...);
}
// Lanes first, first + 1/2, ... of two vectors, alternately.
template <class V, int... lane>
TN_INLINE V interleave(V re, V im, int, Lanes<lane...>) {
  return __builtin_shufflevector(re, im, (lane / 2 + (lane & 1) * kLanes<V>)...);
}
template <class V, int... lane>
TN_INLINE V interleave_upper(V re, V im, Lanes<lane...>) {
  return __builtin_shufflevector(re, im, (kLanes<V> / 2 + lane / 2 + (lane & 1) * kLanes<V>)...);
}

TN_INLINE Z load_complex(const double* p) {
  const F64 a = load<F64>(p), b = load<F64>(p + L);
  return {even_lanes(a, b, LanesUpTo<L>{}), odd_lanes(a, b, LanesUpTo<L>{})};
}
TN_INLINE Z load_complex(const float* p) {
  const HalfF32 a = load<HalfF32>(p), b = load<HalfF32>(p + L);
  const HalfF32 re = even_lanes(a, b, LanesUpTo<L>{}), im = odd_lanes(a, b, LanesUpTo<L>{});
  return {__builtin_convertvector(re, F64), __builtin_convertvector(im, F64)};
}

template <class V, class R>
TN_INLINE void store_interleaved(R* p, V re, V im) {
  store(p, interleave(re, im, 0, LanesUpTo<L>{}));
  store(p + L, interleave_upper(re, im, LanesUpTo<L>{}));
}
TN_INLINE void store_result(double* p, Z z) { store_interleaved(p, z.re, z.im); }
TN_INLINE void store_result(float* p, Z z) {
  store_interleaved(p, __builtin_convertvector(z.re, HalfF32), __builtin_convertvector(z.im, HalfF32));
}
TN_INLINE void store_result(double* p, F64 x) { store(p, x); }
TN_INLINE void store_result(float* p, F64 x) { store(p, __builtin_convertvector(x, HalfF32)); }

// Calls body(input, output) with whole registers; a short end passes through a buffer of ones.
template <int kIn, int kOut, class R, class F>
TN_INLINE void for_registers(const R* x, R* y, size_t n, F body) {
  size_t i = 0;
  for (; i + L <= n; i += L) body(x + kIn * i, y + kOut * i);
  if (i == n) return;
  R in[2 * L], out[2 * L];
  for (int k = 0; k < 2 * L; ++k) in[k] = 1;
  for (size_t k = 0; k < kIn * (n - i); ++k) in[k] = x[kIn * i + k];
  body(in, out);
  for (size_t k = 0; k < kOut * (n - i); ++k) y[kOut * i + k] = out[k];
}

template <class Fn, class R>
void unary_complex(const void* x, void* y, size_t n) {
  constexpr int parts = __is_same(decltype(Fn::of(Z{})), Z) ? 2 : 1;
  for_registers<2, parts>(static_cast<const R*>(x), static_cast<R*>(y), n,
                          [](const R* in, R* out) { store_result(out, Fn::of(load_complex(in))); });
}

template <class R>
TN_INLINE Z splat_complex(const void* p) {
  const R* s = static_cast<const R*>(p);
  return {splat<F64>(s[0]), splat<F64>(s[1])};
}

template <class R>
TN_INLINE Z load_complex_some(const R* p, size_t n) {
  R in[2 * L];
  for (int k = 0; k < 2 * L; ++k) in[k] = size_t(k) < 2 * n ? p[k] : R(1);
  return load_complex(in);
}

template <class R>
TN_INLINE void store_complex_some(R* p, Z z, size_t n) {
  R out[2 * L];
  store_result(out, z);
  for (size_t k = 0; k < 2 * n; ++k) p[k] = out[k];
}

template <class Fn, class R, bool kScalarA, bool kScalarB>
void binary_complex(const void* pa, const void* pb, void* py, size_t n) {
  if (n == 0) return;
  const R* a = static_cast<const R*>(pa);
  const R* b = static_cast<const R*>(pb);
  R* y = static_cast<R*>(py);
  const Z a0 = splat_complex<R>(a), b0 = splat_complex<R>(b);
  size_t i = 0;
  for (; i + L <= n; i += L)
    store_result(y + 2 * i,
                 Fn::of(kScalarA ? a0 : load_complex(a + 2 * i), kScalarB ? b0 : load_complex(b + 2 * i)));
  if (i == n) return;
  const Z u = kScalarA ? a0 : load_complex_some(a + 2 * i, n - i),
          v = kScalarB ? b0 : load_complex_some(b + 2 * i, n - i);
  store_complex_some(y + 2 * i, Fn::of(u, v), n - i);
}

template <class Fn>
void set_unary(KernelTable& table, UnaryOp op) {
  table.unary[int(op)][int(DType::C64)] = unary_complex<Fn, float>;
  table.unary[int(op)][int(DType::C128)] = unary_complex<Fn, double>;
}

template <class Fn, class R>
constexpr BinaryKernels kBinaryComplex = {binary_complex<Fn, R, false, false>,
                                          binary_complex<Fn, R, false, true>,
                                          binary_complex<Fn, R, true, false>};

template <class Fn>
void set_binary(KernelTable& table, BinaryOp op) {
  table.binary[int(op)][int(DType::C64)] = kBinaryComplex<Fn, float>;
  table.binary[int(op)][int(DType::C128)] = kBinaryComplex<Fn, double>;
}

// clang-format off
#define TN_COMPLEX_FUNCTIONS(X)                                                      \
  X(abs) X(sign) X(sqrt) X(rsqrt) X(reciprocal) X(exp) X(exp2) X(expm1)              \
  X(log) X(log2) X(log10) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan)      \
  X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
// clang-format on

#define TN_FUNCTION(name)                             \
  struct Of_##name {                                  \
    static TN_INLINE auto of(Z z) { return name(z); } \
  };
TN_COMPLEX_FUNCTIONS(TN_FUNCTION)
#undef TN_FUNCTION

struct Quotient {
  static TN_INLINE Z of(Z a, Z b) { return divide(a, b); }
};
struct Power {
  static TN_INLINE Z of(Z a, Z b) { return pow(a, b); }
};

}  // namespace

void TN_TARGET::fill_complex_math(KernelTable& table) {
#define TN_SET(name) set_unary<Of_##name>(table, UnaryOp::name);
  TN_COMPLEX_FUNCTIONS(TN_SET)
#undef TN_SET
  set_binary<Quotient>(table, BinaryOp::divide);
  set_binary<Power>(table, BinaryOp::pow);
}

}  // namespace tn
