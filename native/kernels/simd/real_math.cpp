// The table's real vector math: float64 functions of one register, and float32 through float64.
#include "native/kernels/simd/divmod.h"
#include "native/kernels/simd/erf.h"
#include "native/kernels/simd/narrow.h"
#include "native/kernels/simd/power.h"

namespace tn {
namespace {

template <class Fn>
void unary_f64(const void* x, void* y, size_t n) {
  constexpr size_t L = kLanes<F64>;
  const double* in = static_cast<const double*>(x);
  double* out = static_cast<double*>(y);
  size_t i = 0;
  for (; i + L <= n; i += L) store(out + i, Fn::of(load<F64>(in + i)));
  if (i < n) store_some(out + i, Fn::of(load_some<F64>(in + i, n - i)), n - i);
}

// float32 elements pass through float64 lanes: one rounding of an accurate result.
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
TN_FUNCTION(Exp, exp_as_each(x))
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
TN_FUNCTION(Erf, erf(x))
TN_FUNCTION(Erfc, erfc(x))
TN_FUNCTION(NarrowExp, narrow_exp(x))
TN_FUNCTION(NarrowLog, narrow_log(x))
TN_FUNCTION(NarrowTanh, narrow_tanh(x))
TN_FUNCTION(SingleExp2, single_exp2(x))
TN_FUNCTION(SingleExpm1, single_expm1(x))
TN_FUNCTION(SingleLog2, single_log(x, kBase2.scale_hi))
TN_FUNCTION(SingleLog10, single_log(x, kBase10.scale_hi))
TN_FUNCTION(SingleLog1p, single_log1p(x))
TN_FUNCTION(SingleSin, single_sin(x))
TN_FUNCTION(SingleCos, single_cos(x))
TN_FUNCTION(Floor, floor(x))
TN_FUNCTION(Ceil, ceil(x))
TN_FUNCTION(Trunc, trunc(x))
TN_FUNCTION(Round, round_even(x))
#undef TN_FUNCTION

// Four registers at a time.
void exp_f64(const void* x, void* y, size_t n) {
  constexpr size_t L = kLanes<F64>, K = 4;
  const double* in = static_cast<const double*>(x);
  double* out = static_cast<double*>(y);
  size_t i = 0;
  for (; i + K * L <= n; i += K * L) {
    F64 v[K];
    for (size_t k = 0; k < K; ++k) v[k] = load<F64>(in + i + k * L);
    exp_each(v);
    for (size_t k = 0; k < K; ++k) store(out + i + k * L, v[k]);
  }
  unary_f64<Exp>(in + i, out + i, n - i);
}

#define TN_FUNCTION2(Name, body)      \
  struct Name {                       \
    template <class V>                \
    static TN_INLINE V of(V a, V b) { \
      return body;                    \
    }                                 \
  };
TN_FUNCTION2(Pow, pow(a, b))
TN_FUNCTION2(PowF32, pow_f32(a, b))
TN_FUNCTION2(Atan2, atan2(a, b))
TN_FUNCTION2(Hypot, hypot(a, b))
TN_FUNCTION2(LogAddExp, logaddexp(a, b))
TN_FUNCTION2(FloorDivide, floor_divide(a, b))
TN_FUNCTION2(Remainder, remainder(a, b))
#undef TN_FUNCTION2

// Loads one register of float64 lanes at p, or repeats the scalar there.
template <bool kScalar>
TN_INLINE F64 operand(const double* p, size_t i) {
  return kScalar ? splat<F64>(p[0]) : load<F64>(p + i);
}
template <bool kScalar>
TN_INLINE F64 operand(const float* p, size_t i) {
  return kScalar ? splat<F64>(p[0]) : widen(load<HalfF32>(p + i));
}
template <bool kScalar>
TN_INLINE F64 operand_some(const double* p, size_t i, size_t n) {
  return kScalar ? splat<F64>(p[0]) : load_some<F64>(p + i, n);
}
template <bool kScalar>
TN_INLINE F64 operand_some(const float* p, size_t i, size_t n) {
  return kScalar ? splat<F64>(p[0]) : widen(load_some<HalfF32>(p + i, n));
}
TN_INLINE void result(double* p, F64 v) { store(p, v); }
TN_INLINE void result(float* p, F64 v) { store(p, narrow(v)); }
TN_INLINE void result_some(double* p, F64 v, size_t n) { store_some(p, v, n); }
TN_INLINE void result_some(float* p, F64 v, size_t n) { store_some(p, narrow(v), n); }

template <class Fn, class T, bool kScalarA, bool kScalarB>
void binary_math(const void* pa, const void* pb, void* y, size_t n) {
  constexpr size_t L = kLanes<F64>;
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  T* out = static_cast<T*>(y);
  size_t i = 0;
  for (; i + L <= n; i += L) result(out + i, Fn::of(operand<kScalarA>(a, i), operand<kScalarB>(b, i)));
  if (i == n) return;
  result_some(out + i, Fn::of(operand_some<kScalarA>(a, i, n - i), operand_some<kScalarB>(b, i, n - i)),
              n - i);
}

template <class Fn, class T>
constexpr BinaryKernels kBinaryMath = {binary_math<Fn, T, false, false>, binary_math<Fn, T, false, true>,
                                       binary_math<Fn, T, true, false>};

template <class FnF32, class FnF64 = FnF32>
void set_binary(KernelTable& table, BinaryOp op) {
  table.binary[int(op)][int(DType::F32)] = kBinaryMath<FnF32, float>;
  table.binary[int(op)][int(DType::F64)] = kBinaryMath<FnF64, double>;
}

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

template <class FnF32, class FnF64>
void set_narrow(KernelTable& table, UnaryOp op) {
  set(table, op, unary_f32<FnF32>, unary_f64<FnF64>);
}

template <class FnF32, class FnF64>
void set_single(KernelTable& table, UnaryOp op) {
  set(table, op, unary_f32_wide<FnF32>, unary_f64<FnF64>);
}

}  // namespace

void TN_TARGET::fill_real_math(KernelTable& table) {
  set_direct<Sqrt>(table, UnaryOp::sqrt);
  set_direct<Rsqrt>(table, UnaryOp::rsqrt);
  set_direct<Floor>(table, UnaryOp::floor);
  set_direct<Ceil>(table, UnaryOp::ceil);
  set_direct<Trunc>(table, UnaryOp::trunc);
  set_direct<Round>(table, UnaryOp::round);
  set(table, UnaryOp::exp, unary_f32<NarrowExp>, exp_f64);
  set_narrow<NarrowLog, Log>(table, UnaryOp::log);
  set_single<SingleSin, Sin>(table, UnaryOp::sin);
  set_single<SingleCos, Cos>(table, UnaryOp::cos);
  set_narrow<NarrowTanh, Tanh>(table, UnaryOp::tanh);
  set_single<SingleExp2, Exp2>(table, UnaryOp::exp2);
  set_single<SingleExpm1, Expm1>(table, UnaryOp::expm1);
  set_single<SingleLog2, Log2>(table, UnaryOp::log2);
  set_single<SingleLog10, Log10>(table, UnaryOp::log10);
  set_single<SingleLog1p, Log1p>(table, UnaryOp::log1p);
  set_wide<Tan>(table, UnaryOp::tan);
  set_wide<Asin>(table, UnaryOp::asin);
  set_wide<Acos>(table, UnaryOp::acos);
  set_wide<Atan>(table, UnaryOp::atan);
  set_wide<Sinh>(table, UnaryOp::sinh);
  set_wide<Cosh>(table, UnaryOp::cosh);
  set_wide<Asinh>(table, UnaryOp::asinh);
  set_wide<Acosh>(table, UnaryOp::acosh);
  set_wide<Atanh>(table, UnaryOp::atanh);
  set_wide<Erf>(table, UnaryOp::erf);
  set_wide<Erfc>(table, UnaryOp::erfc);
  set_binary<PowF32, Pow>(table, BinaryOp::pow);
  set_binary<Atan2>(table, BinaryOp::atan2);
  set_binary<Hypot>(table, BinaryOp::hypot);
  set_binary<LogAddExp>(table, BinaryOp::logaddexp);
  set_binary<FloorDivide>(table, BinaryOp::floor_divide);
  set_binary<Remainder>(table, BinaryOp::remainder);
}

}  // namespace tn
