// The table of tile kernels: one function per (operation, dtype), filled once per SIMD target.
//
// Every kernel works on contiguous elements (about 512 of them are a tile in L1, but any n is right, 0
// included). Pointers need the alignment of the element only. An output may be the same address as an operand
// of the same itemsize; any other overlap is the caller's fault. A null entry means that the operation is not
// defined for that dtype (promotion is the caller's work: there is no sin of int32). Nothing here needs the
// standard library, and nothing raises: integer division by zero gives 0, integers wrap, floats follow IEEE
// 754.
#pragma once

#include "native/core/dtype.h"
#include "native/kernels/chain.h"

namespace tn {

// clang-format off
#define TN_UNARY_OPS(X)                                                                          \
  X(negative) X(abs) X(sign) X(square) X(sqrt) X(rsqrt) X(reciprocal)                            \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p)                                       \
  X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) \
  X(erf) X(erfc) X(floor) X(ceil) X(trunc) X(round) X(conj) X(real) X(imag)                      \
  X(isnan) X(isinf) X(isfinite) X(signbit) X(logical_not) X(bitwise_invert)

#define TN_BINARY_OPS(X)                                                                         \
  X(add) X(subtract) X(multiply) X(divide) X(floor_divide) X(remainder) X(pow) X(atan2)          \
  X(maximum) X(minimum) X(hypot) X(copysign) X(nextafter) X(logaddexp)                           \
  X(bitwise_and) X(bitwise_or) X(bitwise_xor) X(bitwise_left_shift) X(bitwise_right_shift)       \
  X(logical_and) X(logical_or) X(logical_xor)

#define TN_COMPARE_OPS(X) X(equal) X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal)

#define TN_REDUCE_OPS(X) X(sum) X(prod) X(max) X(min) X(any) X(all)
// clang-format on

#define TN_ENUMERATOR(op) op,
#define TN_COUNT(op) +1
enum class UnaryOp : uint8_t { TN_UNARY_OPS(TN_ENUMERATOR) };
enum class BinaryOp : uint8_t { TN_BINARY_OPS(TN_ENUMERATOR) };
enum class CompareOp : uint8_t { TN_COMPARE_OPS(TN_ENUMERATOR) };
enum class ReduceOp : uint8_t { TN_REDUCE_OPS(TN_ENUMERATOR) };
inline constexpr int kUnaryOps = TN_UNARY_OPS(TN_COUNT);
inline constexpr int kBinaryOps = TN_BINARY_OPS(TN_COUNT);
inline constexpr int kCompareOps = TN_COMPARE_OPS(TN_COUNT);
inline constexpr int kReduceOps = TN_REDUCE_OPS(TN_COUNT);
#undef TN_ENUMERATOR
#undef TN_COUNT

// Itemsizes 1, 2, 4, 8, 16 have the indices 0 to 4 in the kernels that only move bytes.
inline constexpr int kItemSizes = 5;
constexpr int size_index(size_t itemsize) {
  return itemsize == 1 ? 0 : itemsize == 2 ? 1 : itemsize == 4 ? 2 : itemsize == 8 ? 3 : 4;
}
constexpr int size_index(DType t) { return size_index(itemsize(t)); }

// The dtype of what a kernel writes.
constexpr DType result_dtype(UnaryOp op, DType t) {
  const bool predicate = op == UnaryOp::isnan || op == UnaryOp::isinf || op == UnaryOp::isfinite ||
                         op == UnaryOp::signbit || op == UnaryOp::logical_not;
  const bool part = op == UnaryOp::abs || op == UnaryOp::real || op == UnaryOp::imag;
  return predicate ? DType::Bool : part ? real_of(t) : t;
}
constexpr DType result_dtype(BinaryOp op, DType t) {
  const bool logical =
      op == BinaryOp::logical_and || op == BinaryOp::logical_or || op == BinaryOp::logical_xor;
  return logical ? DType::Bool : t;
}
// Sums and products of bool and signed integers are int64, of unsigned integers uint64, as in NumPy.
constexpr DType result_dtype(ReduceOp op, DType t) {
  if (op == ReduceOp::any || op == ReduceOp::all) return DType::Bool;
  if (op == ReduceOp::max || op == ReduceOp::min || is_inexact(t)) return t;
  return is_bool(t) || is_signed(t) ? DType::I64 : DType::U64;
}

// Error bounds of the functions, in ulp: docs/vector_math.md, which tests/native measures.
using UnaryFn = void (*)(const void* x, void* y, size_t n);
using BinaryFn = void (*)(const void* a, const void* b, void* y, size_t n);
using WhereFn = void (*)(const void* condition, const void* a, const void* b, void* y, size_t n);
using CastFn = void (*)(const void* x, void* y, size_t n);
using ReduceFn = void (*)(const void* x, void* y, size_t n);
using ArgFn = int64_t (*)(const void* x, size_t n);
using ArgAccumulateFn = void (*)(const void* x, void* best, int64_t* index, int64_t k, size_t n);
using LoadStridedFn = void (*)(const void* x, ptrdiff_t stride_bytes, void* y, size_t n);
using StoreStridedFn = void (*)(const void* x, void* y, ptrdiff_t stride_bytes, size_t n);
using FillFn = void (*)(const void* value, void* y, size_t n);
using TransposeFn = void (*)(const void* x, ptrdiff_t ldx, void* y, ptrdiff_t ldy, size_t rows, size_t cols);

// The largest tile of a permuting copy: items, and bytes, along each side.
inline constexpr int kMostPermuted = 128, kPermutedBytes = 512;

// A permuting copy of items: item (i, j) moves from src + row_at[i] + j * src_item to
// dst + col_at[j] + i * dst_item, i < rows, j < cols; and that `repeat` times, at steps. Offsets in bytes.
// `stream`: write past the caches, in whole lines of 64 bytes.
struct PermuteTile {
  const char* src;
  char* dst;
  const ptrdiff_t *row_at, *col_at;
  size_t rows, cols;
  size_t item;
  ptrdiff_t src_item, dst_item;
  size_t repeat;
  ptrdiff_t src_step, dst_step;
  bool stream;
};
using PermuteFn = void (*)(const PermuteTile&);

// vv takes two vectors; in vs and sv the scalar side (s) points at one element that meets every element of
// the other.
struct BinaryKernels {
  BinaryFn vv, vs, sv;
};
struct WhereKernels {
  WhereFn vv, vs, sv, ss;
};

// Stacks of small real matrices, decomposed several at a time. a[i] points at the first element of matrix i.
// Matrices that a kernel cannot do (NaN or Inf, extreme magnitudes, singular ones in svd) get done[i] = false
// and an unspecified result.
inline constexpr int kSmallRows = 32, kSmallCols = 16;
struct SmallMatrices {
  const void* const* a;
  ptrdiff_t row_stride, col_stride;  // in elements
  int rows, cols;
  size_t count;
};
struct SmallKernels {
  // n x n up to kSmallCols: w ascending, vectors column-major (may be null), from one triangle.
  void (*eigh)(const SmallMatrices&, bool lower, void* w, void* vectors, bool* done);
  // m x n with m >= n, up to kSmallRows x kSmallCols: left (m x n) and right (n x n) column-major, both null
  // for s only; s descending.
  void (*svd)(const SmallMatrices&, void* left, void* s, void* right, bool* done);
  // m x n up to kSmallRows x kSmallCols: q (m x columns, may be null) and r (columns x n), column-major;
  // columns is min(m, n) or m.
  void (*qr)(const SmallMatrices&, int columns, void* q, void* r, bool* done);
};

// C = A B, or C += A B, for A of m x k and B of k x n; strides in elements, of any sign.
struct MatMul {
  int64_t m, n, k;
  const void* a;
  int64_t a_row, a_col;
  const void* b;
  int64_t b_row, b_col;
  void* c;
  int64_t c_row, c_col;
  bool conj_a, conj_b, accumulate;
  const void* alpha;  // an element that multiplies A B, or null; inexact dtypes
};
using MatMulFn = void (*)(const MatMul&);

// C^T = B^T A^T. (Static: objects of one target must not offer theirs to others.)
static inline MatMul transposed(const MatMul& x) {
  return {x.n,     x.m, x.k,     x.b,     x.b_col,  x.b_row,  x.a,          x.a_col,
          x.a_row, x.c, x.c_col, x.c_row, x.conj_b, x.conj_a, x.accumulate, x.alpha};
}

// Element i of an axis is at list[i], or at i * step where there is no list; in elements.
struct Offsets {
  int64_t step;
  const int64_t* list;
};

// C (+)= A B for A of m x k and B of k x n, none of them empty, in blocks, and the same `count` times at
// steps from one product to the next; see simd/gemm.cpp.
struct Gemm {
  int64_t m, n, k;
  int64_t count, a_step, b_step, c_step;
  const void* a;
  Offsets a_rows, a_columns;
  const void* b;
  Offsets b_rows, b_columns;
  void* c;
  Offsets c_rows, c_columns;
  bool conj_a, conj_b, accumulate;
  const void* scale;            // an element that multiplies A B, or null; B is then packed
  bool a_in_place, b_in_place;  // else packed; B of contiguous rows only
  bool by_rows;                 // tiles row by row: C is written in order, and all of B is read for each row
  bool one_panel;               // of B is packed at a time
  bool b_is_far;                // its rows are contiguous and come from beyond L2
  int64_t m_block, n_block, k_block;
  void *packed_a,
      *packed_b;  // room for m_block x k_block, and for a panel or k_block x n_block in whole tiles
};
// The same where m = 1, without lists, packing and steps.
struct GemvKernels {
  void (*by_rows)(const Gemm&);     // the rows of B are contiguous, and that of C
  void (*by_columns)(const Gemm&);  // the columns of B are contiguous, and the row of A
};
struct GemmKernel {
  int rows, columns;  // of the tile in registers
  void (*multiply)(const Gemm&);
};

// n x n up to kSmallCols, as above; matrices that are singular to working precision are not done.
struct SmallLuKernels {
  // lu column-major; n pivots as LAPACK's for each matrix, pivot_stride apart.
  void (*lu)(const SmallMatrices&, void* lu, int32_t* pivots, int pivot_stride, bool* done);
  // Row-major.
  void (*inverse)(const SmallMatrices&, void* inverse, bool* done);
  // x (column-major) = A^-1 b or A^-T b from lu, column-major without gaps, and its pivots.
  void (*solve)(const SmallMatrices& lu, const int32_t* const* pivots, bool transposed,
                const SmallMatrices& b, void* x);
};

// Runs `repeats` rounds of independent x -> x * operands[0] + operands[1] in registers, as fast as they go;
// writes a result to operands[2] and returns how many operations that was.
using MultiplyAddsFn = int64_t (*)(int64_t repeats, void* operands);

struct KernelTable {
  const char* name;
  UnaryFn unary[kUnaryOps][kDTypes];
  BinaryKernels binary[kBinaryOps][kDTypes];
  BinaryKernels compare[kCompareOps][kDTypes];  // y is bool; complex numbers have equal and not_equal only
  WhereKernels where[kItemSizes];               // the condition is bool
  CastFn cast[kDTypes][kDTypes];                // [from][to]; complex to real drops the imaginary part

  // reduce: y[0] = op over x[0..n), of result_dtype(op, t); n = 0 gives the identity (max, min: undefined,
  // null for complex). accumulate: y[i] = op(y[i], x[i]) with y of result_dtype and x of dtype t: rows into
  // columns, and partial results into one another. max and min propagate NaN.
  ReduceFn reduce[kReduceOps][kDTypes];
  ReduceFn accumulate[kReduceOps][kDTypes];
  BinaryFn dot[kDTypes];  // y[0] = sum of a[i] * b[i], no conjugate; inexact dtypes

  // The first index of the largest (smallest) element, or of the first NaN; n >= 1.
  ArgFn argmax[kDTypes], argmin[kDTypes];
  MatMulFn matmul[kDTypes];  // exact dtypes; bool: or of ands
  GemmKernel gemm[kDTypes];  // inexact dtypes, as is
  GemvKernels gemv[kDTypes];

  // Row k into columns: where x[i] beats best[i], best[i] = x[i] and index[i] = k.
  ArgAccumulateFn argmax_accumulate[kDTypes], argmin_accumulate[kDTypes];

  LoadStridedFn load_strided[kItemSizes];    // y[i] = x at i * stride_bytes (any sign, zero too)
  StoreStridedFn store_strided[kItemSizes];  // y at i * stride_bytes = x[i]
  FillFn fill[kItemSizes];
  TransposeFn transpose2d[kItemSizes];  // y[j * ldy + i] = x[i * ldx + j], i < rows, j < cols; ld in elements

  PermuteFn permute[kItemSizes];          // items contiguous along rows of src and along columns of dst
  PermuteFn permute_strided[kItemSizes];  // any item strides
  PermuteFn permute_runs;                 // any item strides and sizes

  ChainFn chain[2];       // float32, float64
  SmallKernels small[2];  // float32, float64
  SmallLuKernels small_lu[2];
  MultiplyAddsFn multiply_adds[2];

  UnaryFn at(UnaryOp op, DType t) const { return unary[int(op)][int(t)]; }
  const BinaryKernels& at(BinaryOp op, DType t) const { return binary[int(op)][int(t)]; }
  const BinaryKernels& at(CompareOp op, DType t) const { return compare[int(op)][int(t)]; }
};

// The table of the selected target; at first use, the best one that this CPU can run.
const KernelTable& kernels();

// Selects "generic", "avx2" or "avx512" for the whole process; false if this CPU (or build) lacks it.
bool select_target(const char* name);

// Names of the targets that this CPU can run, best first, ended by a null pointer.
const char* const* available_targets();

// Names of the operations, in the order of the enums.
const char* name(UnaryOp op);
const char* name(BinaryOp op);
const char* name(CompareOp op);
const char* name(ReduceOp op);

}  // namespace tn
