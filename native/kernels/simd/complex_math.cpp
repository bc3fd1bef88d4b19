// The table's complex functions, from real ones.
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// Smith's quotient: the divisor is scaled by its larger part, so that nothing overflows on the way.
TN_INLINE Complex<double> divide(Complex<double> a, Complex<double> b) {
  if (__builtin_fabs(b.re) >= __builtin_fabs(b.im)) {
    if (b.re == 0 && b.im == 0) return {a.re / __builtin_fabs(b.re), a.im / __builtin_fabs(b.re)};
    const double ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const double ratio = b.re / b.im, scale = 1 / (b.re * ratio + b.im);
  return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

template <class R, bool kScalarA, bool kScalarB>
void divide_loop(const void* pa, const void* pb, void* y, size_t n) {
  const Complex<R>* a = static_cast<const Complex<R>*>(pa);
  const Complex<R>* b = static_cast<const Complex<R>*>(pb);
  Complex<R>* out = static_cast<Complex<R>*>(y);
  for (size_t i = 0; i < n; ++i) {
    const Complex<R> u = a[kScalarA ? 0 : i], v = b[kScalarB ? 0 : i];
    const Complex<double> q = divide({u.re, u.im}, {v.re, v.im});
    out[i] = {R(q.re), R(q.im)};
  }
}

template <class R>
constexpr BinaryKernels kDivide = {divide_loop<R, false, false>, divide_loop<R, false, true>,
                                   divide_loop<R, true, false>};

TN_INLINE float modulus(Complex<float> x) {
  return float(__builtin_sqrt(double(x.re) * x.re + double(x.im) * x.im));
}
TN_INLINE double modulus(Complex<double> x) { return __builtin_hypot(x.re, x.im); }

template <class R>
void abs_loop(const void* x, void* y, size_t n) {
  const Complex<R>* in = static_cast<const Complex<R>*>(x);
  R* out = static_cast<R*>(y);
  for (size_t i = 0; i < n; ++i) out[i] = modulus(in[i]);
}

}  // namespace

void TN_TARGET::fill_complex_math(KernelTable& table) {
  table.binary[int(BinaryOp::divide)][int(DType::C64)] = kDivide<float>;
  table.binary[int(BinaryOp::divide)][int(DType::C128)] = kDivide<double>;
  table.unary[int(UnaryOp::abs)][int(DType::C64)] = abs_loop<float>;
  table.unary[int(UnaryOp::abs)][int(DType::C128)] = abs_loop<double>;
}

}  // namespace tn
