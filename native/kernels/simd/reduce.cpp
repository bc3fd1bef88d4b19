// Reductions: n contiguous elements to one, rows into columns, dot products, argmax and argmin.
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

struct SumOp {
  template <class T>
  static T of(T a, T b) {
    return T(a + b);
  }
  template <class R>
  static Complex<R> of(Complex<R> a, Complex<R> b) {
    return {a.re + b.re, a.im + b.im};
  }
};

struct ProdOp {
  template <class T>
  static T of(T a, T b) {
    return T(a * b);
  }
  template <class R>
  static Complex<R> of(Complex<R> a, Complex<R> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
};

// Written for scalars and for vectors; a NaN on either side stays.
struct MaxOp {
  template <class T>
  static T of(T a, T b) {
    return (b > a) | (b != b) ? b : a;
  }
};

struct MinOp {
  template <class T>
  static T of(T a, T b) {
    return (b < a) | (b != b) ? b : a;
  }
};

template <class R>
TN_INLINE uint8_t truth(Complex<R> x) {
  return (x.re != 0) | (x.im != 0);
}
template <class T>
TN_INLINE uint8_t truth(T x) {
  return x != 0;
}

template <class To, class From>
TN_INLINE To widen(From x) {
  if constexpr (__is_same(To, From))
    return x;
  else
    return To(x);
}

// ---- floating sums: blocks of independent accumulators, joined pairwise ----

// Sixteen additions deep in each of 4 x lanes accumulators; the error grows as log2(n) beyond that, as in
// pairwise summation.
template <class V>
constexpr size_t kSumBlock = size_t(16 * 4 * kLanes<V>);

template <class V>
TN_INLINE V sum_of_block(const Scalar<V>* x, size_t n) {
  constexpr size_t L = kLanes<V>;
  V acc[4] = {};
  size_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    for (size_t k = 0; k < 4; ++k) acc[k] += load<V>(x + i + k * L);
  for (; i + L <= n; i += L) acc[0] += load<V>(x + i);
  V total = (acc[0] + acc[1]) + (acc[2] + acc[3]);
  for (size_t k = 0; i + k < n; ++k) total[k] += x[i + k];
  return total;
}

template <class V>
V sum_of(const Scalar<V>* x, size_t n) {
  if (n <= kSumBlock<V>) return sum_of_block<V>(x, n);
  const size_t blocks = (n + kSumBlock<V> - 1) / kSumBlock<V>;
  const size_t half = blocks / 2 * kSumBlock<V>;
  return sum_of<V>(x, half) + sum_of<V>(x + half, n - half);
}

// Lanes joined by halves until `left` remain: 1, or 2 for interleaved real and imaginary parts.
template <class Op, class V>
TN_INLINE void fold_lanes(V v, int left, Scalar<V>* out) {
  Scalar<V> lane[kLanes<V>];
  __builtin_memcpy(lane, &v, sizeof v);
  for (int h = kLanes<V> / 2; h >= left; h /= 2)
    for (int i = 0; i < h; ++i) lane[i] = Op::of(lane[i], lane[i + h]);
  for (int i = 0; i < left; ++i) out[i] = lane[i];
}

template <class R>
void sum_real(const void* x, void* y, size_t n) {
  using V = Vector<R>;
  fold_lanes<SumOp>(sum_of<V>(static_cast<const R*>(x), n), 1, static_cast<R*>(y));
}

template <class R>
void sum_complex(const void* x, void* y, size_t n) {
  using V = Vector<R>;
  fold_lanes<SumOp>(sum_of<V>(static_cast<const R*>(x), 2 * n), 2, static_cast<R*>(y));
}

// ---- other contiguous reductions ----

// From, accumulated as To, in 4 vectors for the same-type case; `first` is the identity or the first element.
template <class Op, class T>
TN_INLINE T reduce_vectors(const T* x, size_t n, T first) {
  using V = Vector<T>;
  constexpr size_t L = kLanes<V>;
  V acc[4];
  for (V& a : acc) a = V{} + first;
  size_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    for (size_t k = 0; k < 4; ++k) acc[k] = Op::of(acc[k], load<V>(x + i + k * L));
  const V total = Op::of(Op::of(acc[0], acc[1]), Op::of(acc[2], acc[3]));
  T result;
  fold_lanes<Op>(total, 1, &result);
  for (; i < n; ++i) result = Op::of(result, x[i]);
  return result;
}

template <class Op, class T>
void reduce_extremum(const void* x, void* y, size_t n) {
  const T* in = static_cast<const T*>(x);
  if (n > 0) *static_cast<T*>(y) = reduce_vectors<Op>(in, n, in[0]);
}

template <class R>
void prod_real(const void* x, void* y, size_t n) {
  *static_cast<R*>(y) = reduce_vectors<ProdOp>(static_cast<const R*>(x), n, R(1));
}

template <class R>
void prod_complex(const void* x, void* y, size_t n) {
  const Complex<R>* in = static_cast<const Complex<R>*>(x);
  Complex<R> acc[4] = {{1, 0}, {1, 0}, {1, 0}, {1, 0}};
  for (size_t i = 0; i < n; ++i) acc[i % 4] = ProdOp::of(acc[i % 4], in[i]);
  *static_cast<Complex<R>*>(y) = ProdOp::of(ProdOp::of(acc[0], acc[1]), ProdOp::of(acc[2], acc[3]));
}

// Integers: exact in any order, so the compiler may vectorise.
template <class Op, class From, class To>
void reduce_integers(const void* x, void* y, size_t n) {
  const From* in = static_cast<const From*>(x);
  To acc = __is_same(Op, ProdOp) ? 1 : 0;
  for (size_t i = 0; i < n; ++i) acc = Op::of(acc, To(in[i]));
  *static_cast<To*>(y) = acc;
}

// any stops at the first block with a true element, all at the first with a false one.
template <class T, bool kAll>
void reduce_truth(const void* x, void* y, size_t n) {
  constexpr size_t kBlock = 256;
  const T* in = static_cast<const T*>(x);
  uint8_t found = 0;
  for (size_t i = 0; i < n && !found; i += kBlock) {
    const size_t end = n - i < kBlock ? n : i + kBlock;
    for (size_t k = i; k < end; ++k) found |= uint8_t(truth(in[k]) ^ kAll);
  }
  *static_cast<uint8_t*>(y) = found ^ kAll;
}

// ---- rows into columns ----

template <class Op, class From, class To>
void accumulate(const void* x, void* y, size_t n) {
  const From* in = static_cast<const From*>(x);
  To* out = static_cast<To*>(y);
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) out[i] = Op::of(out[i], widen<To>(in[i]));
}

template <class T, bool kAll>
void accumulate_truth(const void* x, void* y, size_t n) {
  const T* in = static_cast<const T*>(x);
  uint8_t* out = static_cast<uint8_t*>(y);
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) out[i] = kAll ? out[i] & truth(in[i]) : out[i] | truth(in[i]);
}

// ---- dot ----

template <class R>
void dot_real(const void* pa, const void* pb, void* y, size_t n) {
  using V = Vector<R>;
  constexpr size_t L = kLanes<V>;
  const R* a = static_cast<const R*>(pa);
  const R* b = static_cast<const R*>(pb);
  V acc[4] = {};
  size_t i = 0;
  for (; i + 4 * L <= n; i += 4 * L)
    for (size_t k = 0; k < 4; ++k) acc[k] = fma(load<V>(a + i + k * L), load<V>(b + i + k * L), acc[k]);
  R total;
  fold_lanes<SumOp>((acc[0] + acc[1]) + (acc[2] + acc[3]), 1, &total);
  for (; i < n; ++i) total += a[i] * b[i];
  *static_cast<R*>(y) = total;
}

template <class V, int... lane>
TN_INLINE V swap_neighbours(V v, Lanes<lane...>) {
  return __builtin_shufflevector(v, v, (lane ^ 1)...);
}

template <class R>
void dot_complex(const void* pa, const void* pb, void* y, size_t n) {
  using V = Vector<R>;
  constexpr size_t L = kLanes<V>;
  const R* a = static_cast<const R*>(pa);
  const R* b = static_cast<const R*>(pb);
  V straight[2] = {}, crossed[2] = {};  // lanes (re re, im im) and (re im, im re)
  size_t i = 0;
  for (; i + 2 * L <= 2 * n; i += 2 * L)
    for (size_t k = 0; k < 2; ++k) {
      const V u = load<V>(a + i + k * L), v = load<V>(b + i + k * L);
      straight[k] = fma(u, v, straight[k]);
      crossed[k] = fma(u, swap_neighbours(v, LanesUpTo<kLanes<V>>{}), crossed[k]);
    }
  R s[2], c[2];
  fold_lanes<SumOp>(straight[0] + straight[1], 2, s);
  fold_lanes<SumOp>(crossed[0] + crossed[1], 2, c);
  Complex<R> total = {s[0] - s[1], c[0] + c[1]};
  for (; i < 2 * n; i += 2)
    total = SumOp::of(total, ProdOp::of(Complex<R>{a[i], a[i + 1]}, Complex<R>{b[i], b[i + 1]}));
  *static_cast<Complex<R>*>(y) = total;
}

// ---- argmax, argmin ----

template <class T>
TN_INLINE bool same_or_both_nan(T x, T best) {
  return (x == best) | ((x != x) & (best != best));
}

template <class Op, class T>
int64_t arg_extremum(const void* x, size_t n) {
  const T* in = static_cast<const T*>(x);
  const T best = reduce_vectors<Op>(in, n, in[0]);
  constexpr size_t kBlock = 64;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    bool found = false;
    for (size_t k = 0; k < kBlock; ++k) found |= same_or_both_nan(in[i + k], best);
    if (found) break;
  }
  while (i < n && !same_or_both_nan(in[i], best)) ++i;
  return int64_t(i);
}

template <class Op, class T>
void arg_accumulate(const void* x, void* best, int64_t* index, int64_t k, size_t n) {
  const T* in = static_cast<const T*>(x);
  T* out = static_cast<T*>(best);
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    const T old = out[i], chosen = Op::of(old, in[i]);
    index[i] = same_or_both_nan(old, chosen) ? index[i] : k;
    out[i] = chosen;
  }
}

// ---- the table ----

using Ordered = DTypes<DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                       DType::U32, DType::U64, DType::F32, DType::F64>;
using Exact = DTypes<DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                     DType::U32, DType::U64>;

template <ReduceOp op, DType t>
using Accumulator = Element<result_dtype(op, t)>;

void set(KernelTable& table, ReduceOp op, DType t, ReduceFn reduce, ReduceFn accumulate) {
  table.reduce[int(op)][int(t)] = reduce;
  table.accumulate[int(op)][int(t)] = accumulate;
}

void fill_exact(KernelTable& table) {
  for_each_dtype(Exact{}, [&]<DType t>() {
    using From = Element<t>;
    using To = Accumulator<ReduceOp::sum, t>;
    set(table, ReduceOp::sum, t, reduce_integers<SumOp, From, To>, accumulate<SumOp, From, To>);
    set(table, ReduceOp::prod, t, reduce_integers<ProdOp, From, To>, accumulate<ProdOp, From, To>);
  });
}

void fill_ordered(KernelTable& table) {
  for_each_dtype(Ordered{}, [&]<DType t>() {
    using T = Element<t>;
    set(table, ReduceOp::max, t, reduce_extremum<MaxOp, T>, accumulate<MaxOp, T, T>);
    set(table, ReduceOp::min, t, reduce_extremum<MinOp, T>, accumulate<MinOp, T, T>);
    table.argmax[int(t)] = arg_extremum<MaxOp, T>;
    table.argmin[int(t)] = arg_extremum<MinOp, T>;
    table.argmax_accumulate[int(t)] = arg_accumulate<MaxOp, T>;
    table.argmin_accumulate[int(t)] = arg_accumulate<MinOp, T>;
  });
}

template <class List>
void fill_truth(KernelTable& table, List list) {
  for_each_dtype(list, [&]<DType t>() {
    set(table, ReduceOp::any, t, reduce_truth<Element<t>, false>, accumulate_truth<Element<t>, false>);
    set(table, ReduceOp::all, t, reduce_truth<Element<t>, true>, accumulate_truth<Element<t>, true>);
  });
}

template <class R>
void fill_inexact(KernelTable& table, DType real) {
  const DType complex = complex_of(real);
  set(table, ReduceOp::sum, real, sum_real<R>, accumulate<SumOp, R, R>);
  set(table, ReduceOp::prod, real, prod_real<R>, accumulate<ProdOp, R, R>);
  set(table, ReduceOp::sum, complex, sum_complex<R>, accumulate<SumOp, Complex<R>, Complex<R>>);
  set(table, ReduceOp::prod, complex, prod_complex<R>, accumulate<ProdOp, Complex<R>, Complex<R>>);
  table.dot[int(real)] = dot_real<R>;
  table.dot[int(complex)] = dot_complex<R>;
}

}  // namespace

void TN_TARGET::fill_reductions(KernelTable& table) {
  fill_exact(table);
  fill_ordered(table);
  fill_truth(table, Ordered{});
  fill_truth(table, Complexes{});
  fill_inexact<float>(table, DType::F32);
  fill_inexact<double>(table, DType::F64);
}

}  // namespace tn
