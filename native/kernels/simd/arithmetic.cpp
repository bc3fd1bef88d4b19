// Arithmetic, comparison, bitwise and logical kernels: plain loops, which the compiler vectorises.
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
  template <class T>
  static T of(T a, T b) {
    return (a >= b) | (a != a) ? a : b;
  }
};

struct Minimum {
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
  template <class T>
  static T of(T a, T b) {
    return T(a & b);
  }
};

struct BitwiseOr {
  template <class T>
  static T of(T a, T b) {
    return T(a | b);
  }
};

struct BitwiseXor {
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

struct LogicalAnd {
  template <class T>
  static uint8_t of(T a, T b) {
    return Truth::of(a) & Truth::of(b);
  }
};

struct LogicalOr {
  template <class T>
  static uint8_t of(T a, T b) {
    return Truth::of(a) | Truth::of(b);
  }
};

struct LogicalXor {
  template <class T>
  static uint8_t of(T a, T b) {
    return Truth::of(a) ^ Truth::of(b);
  }
};

struct Equal {
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

struct Greater {
  template <class T>
  static uint8_t of(T a, T b) {
    return a > b;
  }
};

struct GreaterEqual {
  template <class T>
  static uint8_t of(T a, T b) {
    return a >= b;
  }
};

// ---- loops ----

template <class Op, class T>
void unary_loop(const void* x, void* y, size_t n) {
  const T* in = static_cast<const T*>(x);
  auto* out = static_cast<decltype(Op::of(T{}))*>(y);
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) out[i] = Op::of(in[i]);
}

template <class Op, class T, bool kScalarA, bool kScalarB>
void binary_loop(const void* pa, const void* pb, void* y, size_t n) {
  if (n == 0) return;
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  auto* out = static_cast<decltype(Op::of(T{}, T{}))*>(y);
  const T a0 = a[0], b0 = b[0];
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) out[i] = Op::of(kScalarA ? a0 : a[i], kScalarB ? b0 : b[i]);
}

template <class Op, class T>
constexpr BinaryKernels kBinaryLoops = {binary_loop<Op, T, false, false>, binary_loop<Op, T, false, true>,
                                        binary_loop<Op, T, true, false>};

template <class Op, class List>
void set_unary(KernelTable& table, UnaryOp op, List list) {
  for_each_dtype(list, [&]<DType t>() { table.unary[int(op)][int(t)] = unary_loop<Op, Element<t>>; });
}

template <class Op, class List>
void set_binary(KernelTable& table, BinaryOp op, List list) {
  for_each_dtype(list, [&]<DType t>() { table.binary[int(op)][int(t)] = kBinaryLoops<Op, Element<t>>; });
}

template <class Op, class List>
void set_compare(KernelTable& table, CompareOp op, List list) {
  for_each_dtype(list, [&]<DType t>() { table.compare[int(op)][int(t)] = kBinaryLoops<Op, Element<t>>; });
}

using Bool = DTypes<DType::Bool>;

template <class Op>
void set_unary_real(KernelTable& table, UnaryOp op) {
  set_unary<Op>(table, op, Integers{});
  set_unary<Op>(table, op, Floats{});
}

template <class Op>
void set_unary_number(KernelTable& table, UnaryOp op) {
  set_unary_real<Op>(table, op);
  set_unary<Op>(table, op, Complexes{});
}

template <class Op>
void set_unary_any(KernelTable& table, UnaryOp op) {
  set_unary_number<Op>(table, op);
  set_unary<Op>(table, op, Bool{});
}

template <class Op>
void set_binary_real(KernelTable& table, BinaryOp op) {
  set_binary<Op>(table, op, Integers{});
  set_binary<Op>(table, op, Floats{});
}

template <class Op>
void set_binary_number(KernelTable& table, BinaryOp op) {
  set_binary_real<Op>(table, op);
  set_binary<Op>(table, op, Complexes{});
}

template <class Op>
void set_binary_any(KernelTable& table, BinaryOp op) {
  set_binary_number<Op>(table, op);
  set_binary<Op>(table, op, Bool{});
}

template <class Op>
void set_bitwise(KernelTable& table, BinaryOp op) {
  set_binary<Op>(table, op, Bool{});
  set_binary<Op>(table, op, Integers{});
}

template <class Op>
void set_order(KernelTable& table, CompareOp op) {
  set_compare<Op>(table, op, Bool{});
  set_compare<Op>(table, op, Integers{});
  set_compare<Op>(table, op, Floats{});
}

void fill_unary(KernelTable& table) {
  set_unary_number<Negative>(table, UnaryOp::negative);
  set_unary_real<Abs>(table, UnaryOp::abs);
  set_unary_real<Sign>(table, UnaryOp::sign);
  set_unary_number<Square>(table, UnaryOp::square);
  set_unary<Reciprocal>(table, UnaryOp::reciprocal, Floats{});
  set_unary_real<Identity>(table, UnaryOp::conj);
  set_unary<Conj>(table, UnaryOp::conj, Complexes{});
  set_unary_real<Identity>(table, UnaryOp::real);
  set_unary<RealPart>(table, UnaryOp::real, Complexes{});
  set_unary_number<ImagPart>(table, UnaryOp::imag);
  set_unary<Identity>(table, UnaryOp::floor, Integers{});
  set_unary<Identity>(table, UnaryOp::ceil, Integers{});
  set_unary<Identity>(table, UnaryOp::trunc, Integers{});
  set_unary<Identity>(table, UnaryOp::round, Integers{});
  set_unary_number<IsNan>(table, UnaryOp::isnan);
  set_unary_number<IsInf>(table, UnaryOp::isinf);
  set_unary_number<IsFinite>(table, UnaryOp::isfinite);
  set_unary_real<SignBit>(table, UnaryOp::signbit);
  set_unary_any<LogicalNot>(table, UnaryOp::logical_not);
  set_unary<BitwiseInvert>(table, UnaryOp::bitwise_invert, Integers{});
  set_unary<LogicalNot>(table, UnaryOp::bitwise_invert, Bool{});
}

void fill_binary(KernelTable& table) {
  set_binary_number<Add>(table, BinaryOp::add);
  set_binary<BitwiseOr>(table, BinaryOp::add, Bool{});
  set_binary_number<Subtract>(table, BinaryOp::subtract);
  set_binary_number<Multiply>(table, BinaryOp::multiply);
  set_binary<BitwiseAnd>(table, BinaryOp::multiply, Bool{});
  set_binary<Divide>(table, BinaryOp::divide, Floats{});
  set_binary<FloorDivide>(table, BinaryOp::floor_divide, Integers{});
  set_binary<Remainder>(table, BinaryOp::remainder, Integers{});
  set_binary<IntegerPow>(table, BinaryOp::pow, Integers{});
  set_binary_real<Maximum>(table, BinaryOp::maximum);
  set_binary<BitwiseOr>(table, BinaryOp::maximum, Bool{});
  set_binary_real<Minimum>(table, BinaryOp::minimum);
  set_binary<BitwiseAnd>(table, BinaryOp::minimum, Bool{});
  set_binary<CopySign>(table, BinaryOp::copysign, Floats{});
  set_binary<NextAfter>(table, BinaryOp::nextafter, Floats{});
  set_bitwise<BitwiseAnd>(table, BinaryOp::bitwise_and);
  set_bitwise<BitwiseOr>(table, BinaryOp::bitwise_or);
  set_bitwise<BitwiseXor>(table, BinaryOp::bitwise_xor);
  set_binary<LeftShift>(table, BinaryOp::bitwise_left_shift, Integers{});
  set_binary<RightShift>(table, BinaryOp::bitwise_right_shift, Integers{});
  set_binary_any<LogicalAnd>(table, BinaryOp::logical_and);
  set_binary_any<LogicalOr>(table, BinaryOp::logical_or);
  set_binary_any<LogicalXor>(table, BinaryOp::logical_xor);
}

void fill_compare(KernelTable& table) {
  set_order<Equal>(table, CompareOp::equal);
  set_compare<Equal>(table, CompareOp::equal, Complexes{});
  set_order<NotEqual>(table, CompareOp::not_equal);
  set_compare<NotEqual>(table, CompareOp::not_equal, Complexes{});
  set_order<Less>(table, CompareOp::less);
  set_order<LessEqual>(table, CompareOp::less_equal);
  set_order<Greater>(table, CompareOp::greater);
  set_order<GreaterEqual>(table, CompareOp::greater_equal);
}

}  // namespace

void TN_TARGET::fill_arithmetic(KernelTable& table) {
  fill_unary(table);
  fill_binary(table);
  fill_compare(table);
}

}  // namespace tn
