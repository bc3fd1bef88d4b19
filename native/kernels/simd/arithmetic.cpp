// Arithmetic, comparison, bitwise and logical kernels: plain loops, which the compiler vectorises.
#include "native/kernels/simd/operations.h"

namespace tn {
namespace {

// ---- loops ----

template <class Op, class T>
void unary_loop(const void* x, void* y, size_t n) {
  const T* in = static_cast<const T*>(x);
  auto* out = static_cast<decltype(Op::of(T{}))*>(y);
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) out[i] = Op::of(in[i]);
}

template <class Op, class T, bool kScalarA, bool kScalarB>
TN_SHARED void binary_loop(const void* pa, const void* pb, void* y, size_t n) {
  if (n == 0) return;
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  auto* out = static_cast<decltype(Op::of(T{}, T{}))*>(y);
  const T a0 = a[0], b0 = b[0];
  TN_INDEPENDENT
#pragma GCC unroll 2  // registers: a turn of the loop costs as much as the work on one
  for (size_t i = 0; i < n; ++i) out[i] = Op::of(kScalarA ? a0 : a[i], kScalarB ? b0 : b[i]);
}

// f with its operands exchanged.
template <BinaryFn f>
void swapped(const void* a, const void* b, void* y, size_t n) {
  f(b, a, y, n);
}

template <class Op, class T>
constexpr BinaryKernels binary_loops() {
  constexpr BinaryFn vs = binary_loop<Op, T, false, true>;
  if constexpr (requires { Op::commutes; })
    return {binary_loop<Op, T, false, false>, vs, swapped<vs>};
  else
    return {binary_loop<Op, T, false, false>, vs, binary_loop<Op, T, true, false>};
}

template <class Op, class T>
constexpr BinaryKernels swapped_loops() {
  return {swapped<binary_loop<Op, T, false, false>>, swapped<binary_loop<Op, T, true, false>>,
          swapped<binary_loop<Op, T, false, true>>};
}

// Logical operations: the truth of each operand in a short buffer of bytes, then the bitwise operation.
template <class T>
TN_SHARED void truth_loop(const void* x, uint8_t* y, size_t n, bool scalar) {
  const T* in = static_cast<const T*>(x);
  if (scalar) {
    __builtin_memset(y, Truth::of(in[0]), n);
    return;
  }
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) y[i] = Truth::of(in[i]);
}

template <class Op, class T, bool kScalarA, bool kScalarB>
void logical_loop(const void* pa, const void* pb, void* py, size_t n) {
  constexpr size_t kChunk = 512;
  uint8_t a[kChunk], b[kChunk];
  uint8_t* y = static_cast<uint8_t*>(py);
  for (size_t i = 0; i < n; i += kChunk) {
    const size_t m = n - i < kChunk ? n - i : kChunk;
    truth_loop<T>(static_cast<const T*>(pa) + (kScalarA ? 0 : i), a, m, kScalarA);
    truth_loop<T>(static_cast<const T*>(pb) + (kScalarB ? 0 : i), b, m, kScalarB);
    binary_loop<Op, uint8_t, false, false>(a, b, y + i, m);
  }
}

// ---- the table ----

// Wrapping arithmetic and equality do not see the sign: signed dtypes share the kernels of unsigned ones.
template <DType t>
using Bits = Element<is_signed(t) ? DType(int(t) + int(DType::U8) - int(DType::I8)) : t>;

using Bool = DTypes<DType::Bool>;

template <class... Lists, class F>
void for_lists(F f) {
  (for_each_dtype(Lists{}, f), ...);
}

template <class Op, class... Lists>
void set_unary(KernelTable& table, UnaryOp op) {
  for_lists<Lists...>([&]<DType t>() { table.unary[int(op)][int(t)] = unary_loop<Op, Element<t>>; });
}

template <class Op, class... Lists>
void set_unary_bits(KernelTable& table, UnaryOp op) {
  for_lists<Lists...>([&]<DType t>() { table.unary[int(op)][int(t)] = unary_loop<Op, Bits<t>>; });
}

template <class Op, class... Lists>
void set_binary(KernelTable& table, BinaryOp op) {
  for_lists<Lists...>([&]<DType t>() { table.binary[int(op)][int(t)] = binary_loops<Op, Element<t>>(); });
}

template <class Op, class... Lists>
void set_binary_bits(KernelTable& table, BinaryOp op) {
  for_lists<Lists...>([&]<DType t>() { table.binary[int(op)][int(t)] = binary_loops<Op, Bits<t>>(); });
}

template <class Op>
void set_logical(KernelTable& table, BinaryOp op) {
  for_lists<Integers, Floats, Complexes>([&]<DType t>() {
    table.binary[int(op)][int(t)] = {logical_loop<Op, Bits<t>, false, false>,
                                     logical_loop<Op, Bits<t>, false, true>,
                                     logical_loop<Op, Bits<t>, true, false>};
  });
  set_binary<Op, Bool>(table, op);
}

template <class Op>
void set_equality(KernelTable& table, CompareOp op) {
  for_lists<Bool, Integers, Floats, Complexes>(
      [&]<DType t>() { table.compare[int(op)][int(t)] = binary_loops<Op, Bits<t>>(); });
}

template <class Op>
void set_order(KernelTable& table, CompareOp op, CompareOp mirrored) {
  for_lists<Bool, Integers, Floats>([&]<DType t>() {
    table.compare[int(op)][int(t)] = binary_loops<Op, Element<t>>();
    table.compare[int(mirrored)][int(t)] = swapped_loops<Op, Element<t>>();
  });
}

void fill_unary(KernelTable& table) {
  set_unary_bits<Negative, Integers, Floats, Complexes>(table, UnaryOp::negative);
  set_unary<Abs, Integers, Floats>(table, UnaryOp::abs);
  set_unary<Sign, Integers, Floats>(table, UnaryOp::sign);
  set_unary_bits<Square, Integers, Floats, Complexes>(table, UnaryOp::square);
  set_unary<Reciprocal, Floats>(table, UnaryOp::reciprocal);
  set_unary_bits<Identity, Integers, Floats>(table, UnaryOp::conj);
  set_unary<Conj, Complexes>(table, UnaryOp::conj);
  set_unary_bits<Identity, Integers, Floats>(table, UnaryOp::real);
  set_unary<RealPart, Complexes>(table, UnaryOp::real);
  set_unary_bits<ImagPart, Integers, Floats, Complexes>(table, UnaryOp::imag);
  const UnaryOp roundings[] = {UnaryOp::floor, UnaryOp::ceil, UnaryOp::trunc, UnaryOp::round};
  for (UnaryOp op : roundings) set_unary_bits<Identity, Integers>(table, op);
  set_unary_bits<IsNan, Integers, Floats, Complexes>(table, UnaryOp::isnan);
  set_unary_bits<IsInf, Integers, Floats, Complexes>(table, UnaryOp::isinf);
  set_unary_bits<IsFinite, Integers, Floats, Complexes>(table, UnaryOp::isfinite);
  set_unary<SignBit, Integers, Floats>(table, UnaryOp::signbit);
  set_unary_bits<LogicalNot, Bool, Integers, Floats, Complexes>(table, UnaryOp::logical_not);
  set_unary_bits<BitwiseInvert, Integers>(table, UnaryOp::bitwise_invert);
  set_unary<LogicalNot, Bool>(table, UnaryOp::bitwise_invert);
}

void fill_binary(KernelTable& table) {
  set_binary_bits<Add, Integers, Floats, Complexes>(table, BinaryOp::add);
  set_binary<BitwiseOr, Bool>(table, BinaryOp::add);
  set_binary_bits<Subtract, Integers, Floats, Complexes>(table, BinaryOp::subtract);
  set_binary_bits<Multiply, Integers, Floats, Complexes>(table, BinaryOp::multiply);
  set_binary<BitwiseAnd, Bool>(table, BinaryOp::multiply);
  set_binary<Divide, Floats>(table, BinaryOp::divide);
  set_binary<FloorDivide, Integers>(table, BinaryOp::floor_divide);
  set_binary<Remainder, Integers>(table, BinaryOp::remainder);
  set_binary<IntegerPow, Integers>(table, BinaryOp::pow);
  set_binary<Maximum, Integers, Floats>(table, BinaryOp::maximum);
  set_binary<BitwiseOr, Bool>(table, BinaryOp::maximum);
  set_binary<Minimum, Integers, Floats>(table, BinaryOp::minimum);
  set_binary<BitwiseAnd, Bool>(table, BinaryOp::minimum);
  set_binary<CopySign, Floats>(table, BinaryOp::copysign);
  set_binary<NextAfter, Floats>(table, BinaryOp::nextafter);
  set_binary_bits<BitwiseAnd, Bool, Integers>(table, BinaryOp::bitwise_and);
  set_binary_bits<BitwiseOr, Bool, Integers>(table, BinaryOp::bitwise_or);
  set_binary_bits<BitwiseXor, Bool, Integers>(table, BinaryOp::bitwise_xor);
  set_binary<LeftShift, Integers>(table, BinaryOp::bitwise_left_shift);
  set_binary<RightShift, Integers>(table, BinaryOp::bitwise_right_shift);
  set_logical<BitwiseAnd>(table, BinaryOp::logical_and);
  set_logical<BitwiseOr>(table, BinaryOp::logical_or);
  set_logical<BitwiseXor>(table, BinaryOp::logical_xor);
}

void fill_compare(KernelTable& table) {
  set_equality<Equal>(table, CompareOp::equal);
  set_equality<NotEqual>(table, CompareOp::not_equal);
  set_order<Less>(table, CompareOp::less, CompareOp::greater);
  set_order<LessEqual>(table, CompareOp::less_equal, CompareOp::greater_equal);
}

}  // namespace

void TN_TARGET::fill_arithmetic(KernelTable& table) {
  fill_unary(table);
  fill_binary(table);
  fill_compare(table);
}

}  // namespace tn
