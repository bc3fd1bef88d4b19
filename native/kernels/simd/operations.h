// The elementary operations of arithmetic.cpp: each is a struct whose of() takes scalars of any dtype.
#pragma once

#include "native/kernels/simd/target.h"

namespace tn {
namespace {

template <class T>
constexpr bool kIsSigned = T(-1) < T(0);
template <class T>
constexpr bool kIsFloat = T(0.5) != T(0);

// ---- one operand ----

struct Negative {
  template <class T>
  static T of(T x) {
    return T(-x);
  }
  template <class R>
  static Complex<R> of(Complex<R> x) {
    return {-x.re, -x.im};
  }
};

struct Abs {
  template <class T>
  static T of(T x) {
    if constexpr (kIsFloat<T>)
      return sizeof(T) == 4 ? T(__builtin_fabsf(float(x))) : T(__builtin_fabs(double(x)));
    return x < T(0) ? T(-x) : x;
  }
};

struct Sign {
  template <class T>
  static T of(T x) {
    if constexpr (!kIsSigned<T>) return T(x != 0);
    if constexpr (kIsFloat<T>) return x > 0 ? T(1) : x < 0 ? T(-1) : x;
    return T((x > 0) - (x < 0));
  }
};

struct Square {
  template <class T>
  static T of(T x) {
    return T(x * x);
  }
  template <class R>
  static Complex<R> of(Complex<R> x) {
    return {x.re * x.re - x.im * x.im, x.re * x.im + x.im * x.re};
  }
};

struct Reciprocal {
  template <class T>
  static T of(T x) {
    return T(1) / x;
  }
};

struct Identity {
  template <class T>
  static T of(T x) {
    return x;
  }
};

struct Conj {
  template <class R>
  static Complex<R> of(Complex<R> x) {
    return {x.re, -x.im};
  }
};

struct RealPart {
  template <class R>
  static R of(Complex<R> x) {
    return x.re;
  }
};

struct ImagPart {
  template <class T>
  static T of(T) {
    return T(0);
  }
  template <class R>
  static R of(Complex<R> x) {
    return x.im;
  }
};

template <class T>
TN_INLINE T magnitude(T x) {
  return Abs::of(x);
}
template <class T>
constexpr T kInf = T(__builtin_inf());

struct IsNan {
  template <class T>
  static uint8_t of(T x) {
    return x != x;
  }
  template <class R>
  static uint8_t of(Complex<R> x) {
    return (x.re != x.re) | (x.im != x.im);
  }
};

struct IsInf {
  template <class T>
  static uint8_t of(T x) {
    if constexpr (kIsFloat<T>) return magnitude(x) == kInf<T>;
    return 0;
  }
  template <class R>
  static uint8_t of(Complex<R> x) {
    return of(x.re) | of(x.im);
  }
};

struct IsFinite {
  template <class T>
  static uint8_t of(T x) {
    if constexpr (kIsFloat<T>) return magnitude(x) < kInf<T>;
    return 1;
  }
  template <class R>
  static uint8_t of(Complex<R> x) {
    return of(x.re) & of(x.im);
  }
};

struct SignBit {
  static uint8_t of(float x) { return __builtin_bit_cast(uint32_t, x) >> 31; }
  static uint8_t of(double x) { return uint8_t(__builtin_bit_cast(uint64_t, x) >> 63); }
  template <class T>
  static uint8_t of(T x) {
    return x < T(0);
  }
};

struct Truth {
  template <class T>
  static uint8_t of(T x) {
    return x != T(0);
  }
  template <class R>
  static uint8_t of(Complex<R> x) {
    return (x.re != 0) | (x.im != 0);
  }
};

struct LogicalNot {
  template <class T>
  static uint8_t of(T x) {
    return !Truth::of(x);
  }
};

struct BitwiseInvert {
  template <class T>
  static T of(T x) {
    return T(~x);
  }
};

// ---- two operands ----

struct Add {
  static constexpr bool commutes = true;
  template <class T>
  static T of(T a, T b) {
    return T(a + b);
  }
  template <class R>
  static Complex<R> of(Complex<R> a, Complex<R> b) {
    return {a.re + b.re, a.im + b.im};
  }
};

struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return T(a - b);
  }
  template <class R>
  static Complex<R> of(Complex<R> a, Complex<R> b) {
    return {a.re - b.re, a.im - b.im};
  }
};

struct Multiply {
  static constexpr bool commutes = true;
  template <class T>
  static T of(T a, T b) {
    return T(a * b);
  }
  template <class R>
  static Complex<R> of(Complex<R> a, Complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

struct Divide {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};

// Integer quotients round to minus infinity and remainders have the divisor's sign, as in Python.
struct FloorDivide {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return 0;
    if constexpr (!kIsSigned<T>) return T(a / b);
    if (b == T(-1)) return T(-a);
    const T q = T(a / b);
    return T(q - (T(q * b) != a && (a < 0) != (b < 0)));
  }
};

struct Remainder {
  template <class T>
  static T of(T a, T b) {
    if (b == 0 || b == T(-1)) return b == 0 || kIsSigned<T> ? T(0) : T(a % b);
    const T r = T(a % b);
    return T(r != 0 && (r < 0) != (b < 0) ? r + b : r);
  }
};

// Negative exponents give the truncated reciprocal: 1, -1 or 0.
struct IntegerPow {
  template <class T>
  static T of(T base, T exponent) {
    if (exponent < T(0)) return base == T(1) ? T(1) : base == T(-1) ? T(exponent & 1 ? -1 : 1) : T(0);
    T result = 1;
    for (; exponent; exponent = T(exponent >> 1), base = T(base * base))
      if (exponent & 1) result = T(result * base);
    return result;
  }
};

// NaN in either operand gives NaN.
struct Maximum {
  static constexpr bool commutes = true;
  template <class T>
  static T of(T a, T b) {
    return (a >= b) | (a != a) ? a : b;
  }
};

struct Minimum {
  static constexpr bool commutes = true;
  template <class T>
  static T of(T a, T b) {
    return (a <= b) | (a != a) ? a : b;
  }
};

struct CopySign {
  static float of(float a, float b) { return __builtin_copysignf(a, b); }
  static double of(double a, double b) { return __builtin_copysign(a, b); }
};

struct NextAfter {
  template <class T, class Bits>
  static T step(T a, T b, Bits bits, Bits smallest) {
    const bool grow = (b > a) == (a > 0);
    const Bits next = a == 0 ? smallest | (b < 0 ? Bits(1) << (8 * sizeof(Bits) - 1) : 0)
                      : grow ? bits + 1
                             : bits - 1;
    return a != a || b != b ? a + b : a == b ? b : __builtin_bit_cast(T, next);
  }
  static float of(float a, float b) {
    return step<float, uint32_t>(a, b, __builtin_bit_cast(uint32_t, a), 1);
  }
  static double of(double a, double b) {
    return step<double, uint64_t>(a, b, __builtin_bit_cast(uint64_t, a), 1);
  }
};

struct BitwiseAnd {
  static constexpr bool commutes = true;
  template <class T>
  static T of(T a, T b) {
    return T(a & b);
  }
};

struct BitwiseOr {
  static constexpr bool commutes = true;
  template <class T>
  static T of(T a, T b) {
    return T(a | b);
  }
};

struct BitwiseXor {
  static constexpr bool commutes = true;
  template <class T>
  static T of(T a, T b) {
    return T(a ^ b);
  }
};

template <class T>
TN_INLINE bool shifts_all_out(T count) {
  return count < T(0) || count >= T(8 * sizeof(T));
}

struct LeftShift {
  template <class T>
  static T of(T a, T b) {
    return shifts_all_out(b) ? T(0) : T(a << (b & T(8 * sizeof(T) - 1)));
  }
};

struct RightShift {
  template <class T>
  static T of(T a, T b) {
    return shifts_all_out(b) ? T(a < T(0) ? -1 : 0) : T(a >> (b & T(8 * sizeof(T) - 1)));
  }
};

struct Equal {
  static constexpr bool commutes = true;
  template <class T>
  static uint8_t of(T a, T b) {
    return a == b;
  }
  template <class R>
  static uint8_t of(Complex<R> a, Complex<R> b) {
    return (a.re == b.re) & (a.im == b.im);
  }
};

struct NotEqual {
  static constexpr bool commutes = true;
  template <class T>
  static uint8_t of(T a, T b) {
    return !Equal::of(a, b);
  }
};

struct Less {
  template <class T>
  static uint8_t of(T a, T b) {
    return a < b;
  }
};

struct LessEqual {
  template <class T>
  static uint8_t of(T a, T b) {
    return a <= b;
  }
};

}  // namespace
}  // namespace tn
