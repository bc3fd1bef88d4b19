// The table's real vector math: float64 functions of one register, and float32 through float64.
#include "native/kernels/simd/exp.h"
#include "native/kernels/simd/log.h"
#include "native/kernels/simd/trig.h"

namespace tn {
namespace {

// float32 elements pass through float64 lanes: one rounding of an accurate result.
using HalfF32 = VectorOf<float, kVectorBytes / 2>::type;
TN_INLINE F64 widen(HalfF32 x) { return __builtin_convertvector(x, F64); }
TN_INLINE HalfF32 narrow(F64 x) { return __builtin_convertvector(x, HalfF32); }

template <class Fn>
void unary_f64(const void* x, void* y, size_t n) {
  constexpr size_t L = kLanes<F64>;
  const double* in = static_cast<const double*>(x);
  double* out = static_cast<double*>(y);
  size_t i = 0;
  for (; i + L <= n; i += L) store(out + i, Fn::of(load<F64>(in + i)));
  if (i < n) store_some(out + i, Fn::of(load_some<F64>(in + i, n - i)), n - i);
}

template <class Fn>
void unary_f32_wide(const void* x, void* y, size_t n) {
  constexpr size_t L = kLanes<HalfF32>;
  const float* in = static_cast<const float*>(x);
  float* out = static_cast<float*>(y);
  size_t i = 0;
  for (; i + L <= n; i += L) store(out + i, narrow(Fn::of(widen(load<HalfF32>(in + i)))));
  if (i < n) store_some(out + i, narrow(Fn::of(widen(load_some<HalfF32>(in + i, n - i)))), n - i);
}

template <class Fn>
void unary_f32(const void* x, void* y, size_t n) {
  constexpr size_t L = kLanes<F32>;
  const float* in = static_cast<const float*>(x);
  float* out = static_cast<float*>(y);
  size_t i = 0;
  for (; i + L <= n; i += L) store(out + i, Fn::of(load<F32>(in + i)));
  if (i < n) store_some(out + i, Fn::of(load_some<F32>(in + i, n - i)), n - i);
}

#define TN_FUNCTION(Name, body)  \
  struct Name {                  \
    template <class V>           \
    static TN_INLINE V of(V x) { \
      return body;               \
    }                            \
  };
TN_FUNCTION(Sqrt, sqrt(x))
TN_FUNCTION(Rsqrt, 1 / sqrt(x))
TN_FUNCTION(Exp, exp(x))
TN_FUNCTION(Log, log(x))
TN_FUNCTION(Sin, sin(x))
TN_FUNCTION(Cos, cos(x))
TN_FUNCTION(Tanh, tanh(x))
TN_FUNCTION(Exp2, exp2(x))
TN_FUNCTION(Expm1, expm1(x))
TN_FUNCTION(Log2, log2(x))
TN_FUNCTION(Log10, log10(x))
TN_FUNCTION(Log1p, log1p(x))
TN_FUNCTION(Tan, tan(x))
TN_FUNCTION(Asin, asin(x))
TN_FUNCTION(Acos, acos(x))
TN_FUNCTION(Atan, atan(x))
TN_FUNCTION(Sinh, sinh(x))
TN_FUNCTION(Cosh, cosh(x))
TN_FUNCTION(Asinh, asinh(x))
TN_FUNCTION(Acosh, acosh(x))
TN_FUNCTION(Atanh, atanh(x))
TN_FUNCTION(Floor, floor(x))
TN_FUNCTION(Ceil, ceil(x))
TN_FUNCTION(Trunc, trunc(x))
TN_FUNCTION(Round, round_even(x))
#undef TN_FUNCTION

void set(KernelTable& table, UnaryOp op, UnaryFn f32, UnaryFn f64) {
  table.unary[int(op)][int(DType::F32)] = f32;
  table.unary[int(op)][int(DType::F64)] = f64;
}

template <class Fn>
void set_direct(KernelTable& table, UnaryOp op) {
  set(table, op, unary_f32<Fn>, unary_f64<Fn>);
}

template <class Fn>
void set_wide(KernelTable& table, UnaryOp op) {
  set(table, op, unary_f32_wide<Fn>, unary_f64<Fn>);
}

}  // namespace

void TN_TARGET::fill_real_math(KernelTable& table) {
  set_direct<Sqrt>(table, UnaryOp::sqrt);
  set_direct<Rsqrt>(table, UnaryOp::rsqrt);
  set_direct<Floor>(table, UnaryOp::floor);
  set_direct<Ceil>(table, UnaryOp::ceil);
  set_direct<Trunc>(table, UnaryOp::trunc);
  set_direct<Round>(table, UnaryOp::round);
  set_wide<Exp>(table, UnaryOp::exp);
  set_wide<Log>(table, UnaryOp::log);
  set_wide<Sin>(table, UnaryOp::sin);
  set_wide<Cos>(table, UnaryOp::cos);
  set_wide<Tanh>(table, UnaryOp::tanh);
  set_wide<Exp2>(table, UnaryOp::exp2);
  set_wide<Expm1>(table, UnaryOp::expm1);
  set_wide<Log2>(table, UnaryOp::log2);
  set_wide<Log10>(table, UnaryOp::log10);
  set_wide<Log1p>(table, UnaryOp::log1p);
  set_wide<Tan>(table, UnaryOp::tan);
  set_wide<Asin>(table, UnaryOp::asin);
  set_wide<Acos>(table, UnaryOp::acos);
  set_wide<Atan>(table, UnaryOp::atan);
  set_wide<Sinh>(table, UnaryOp::sinh);
  set_wide<Cosh>(table, UnaryOp::cosh);
  set_wide<Asinh>(table, UnaryOp::asinh);
  set_wide<Acosh>(table, UnaryOp::acosh);
  set_wide<Atanh>(table, UnaryOp::atanh);
}

}  // namespace tn
