// A row times a matrix, c = a B, which reads B once: rows of B are added up where they are contiguous, and
// columns are multiplied with a where those are.
#include "native/kernels/simd/complex_lanes.h"
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

template <class V>
TN_INLINE V load_zeros(const Scalar<V>* p, int64_t n) {
  V v{};
  for (int64_t i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

// ---- rows of B: c += a[p] B[p, :], several p at a time

constexpr int kRowsAtOnce = 8;
constexpr int64_t kChunk = 4096;  // bytes of c, which stay in L1

// Strides in reals.
template <class R>
struct Rows {
  const R *a, *b;
  int64_t a_step, b_step;
  R* c;
  int64_t n;
  bool conj_a, conj_b, accumulate;
};

template <class R, int P, int G>
TN_INLINE void add_rows(const Rows<R>& x) {
  using V = Vector<R>;
  const Combine<V> combine(x.conj_a, x.conj_b);
  V a[G][P];
  for (int g = 0; g < G; ++g)
    for (int part = 0; part < P; ++part) a[g][part] = splat<V>(x.a[g * x.a_step + part]);
  auto total = [&](auto&& row) TN_LAMBDA_INLINE {
    V sum[P];
    for (int part = 0; part < P; ++part) sum[part] = V{};
    for (int g = 0; g < G; ++g) {
      const V b = row(x.b + g * x.b_step);
      for (int part = 0; part < P; ++part) sum[part] = fma(a[g][part], b, sum[part]);
    }
    return combine(sum);
  };
  int64_t j = 0;
  for (; j + kLanes<V> <= x.n; j += kLanes<V>) {
    const V sum = total([&](const R* b) TN_LAMBDA_INLINE { return load<V>(b + j); });
    store(x.c + j, x.accumulate ? load<V>(x.c + j) + sum : sum);
  }
  if (const int64_t rest = x.n - j; rest > 0) {
    const V sum = total([&](const R* b) TN_LAMBDA_INLINE { return load_zeros<V>(b + j, rest); });
    store_some(x.c + j, x.accumulate ? load_zeros<V>(x.c + j, rest) + sum : sum, size_t(rest));
  }
}

template <class R, int P, int G>
TN_INLINE void add_groups(Rows<R>& x, int64_t& k) {
  for (; k >= G; k -= G) {
    add_rows<R, P, G>(x);
    x.a += G * x.a_step;
    x.b += G * x.b_step;
    x.accumulate = true;
  }
}

template <class R, int P>
void by_rows(const Gemm& g) {
  constexpr int64_t chunk = kChunk / int64_t(sizeof(R));
  const int64_t n = g.n * P;
  for (int64_t j = 0; j < n; j += chunk) {
    Rows<R> x{static_cast<const R*>(g.a),
              static_cast<const R*>(g.b) + j,
              g.a_columns.step * P,
              g.b_rows.step * P,
              static_cast<R*>(g.c) + j,
              n - j < chunk ? n - j : chunk,
              g.conj_a,
              g.conj_b,
              g.accumulate};
    int64_t k = g.k;
    add_groups<R, P, kRowsAtOnce / P>(x, k);
    add_groups<R, P, 2>(x, k);
    add_groups<R, P, 1>(x, k);
  }
}

// ---- columns of B: one inner product for each, several at a time

template <class R, int P>
struct InnerSums {
  using V = Vector<R>;
  V of[P];
  TN_INLINE void clear() {
    for (V& part : of) part = V{};
  }
  TN_INLINE void add(V a, V b) {
    of[0] = fma(a, b, of[0]);
    if constexpr (P == 2) of[1] = fma(a, swap_parts(b, LanesUpTo<kLanes<V>>{}), of[1]);
  }
};

template <class V>
TN_INLINE Scalar<V> every(V x, int step, int first) {
  Scalar<V> sum = 0;
  for (int i = first; i < kLanes<V>; i += step) sum += x[i];
  return sum;
}

// Even lanes hold Re Re and Re Im, odd lanes Im Im and Im Re.
template <class R, int P>
TN_INLINE void put(R* c, const InnerSums<R, P>& sum, const Gemm& g) {
  R value[P];
  if constexpr (P == 1) {
    value[0] = every(sum.of[0], 1, 0);
  } else {
    const R imaginary = every(sum.of[0], 2, 1), left = every(sum.of[1], 2, 0), right = every(sum.of[1], 2, 1);
    value[0] = every(sum.of[0], 2, 0) + (g.conj_a != g.conj_b ? imaginary : -imaginary);
    value[1] = (g.conj_b ? -left : left) + (g.conj_a ? -right : right);
  }
  for (int part = 0; part < P; ++part) c[part] = g.accumulate ? c[part] + value[part] : value[part];
}

// `a` is contiguous.
template <class R, int P, int C>
TN_INLINE void inner_products(const Gemm& g, int64_t j) {
  using V = Vector<R>;
  constexpr int64_t lanes = kLanes<V>;
  const int64_t n = g.k * P, b_step = g.b_columns.step * P;
  const R *a = static_cast<const R*>(g.a), *b = static_cast<const R*>(g.b) + j * b_step;
  InnerSums<R, P> sum[C][2];
  for (auto& column : sum)
    for (auto& half : column) half.clear();
  int64_t p = 0;
  for (; p + 2 * lanes <= n; p += 2 * lanes)
    for (int half = 0; half < 2; ++half) {
      const V x = load<V>(a + p + half * lanes);
      for (int c = 0; c < C; ++c) sum[c][half].add(x, load<V>(b + c * b_step + p + half * lanes));
    }
  for (; p < n; p += lanes) {
    const int64_t rest = n - p < lanes ? n - p : lanes;
    const V x = load_zeros<V>(a + p, rest);
    for (int c = 0; c < C; ++c) sum[c][0].add(x, load_zeros<V>(b + c * b_step + p, rest));
  }
  for (int c = 0; c < C; ++c) {
    for (int part = 0; part < P; ++part) sum[c][0].of[part] += sum[c][1].of[part];
    put(static_cast<R*>(g.c) + (j + c) * g.c_columns.step * P, sum[c][0], g);
  }
}

template <class R, int P>
void by_columns(const Gemm& g) {
  constexpr int C = 4 / P;
  int64_t j = 0;
  for (; j + C <= g.n; j += C) inner_products<R, P, C>(g, j);
  for (; j < g.n; ++j) inner_products<R, P, 1>(g, j);
}

template <class R, int P>
constexpr GemvKernels kGemv = {by_rows<R, P>, by_columns<R, P>};

}  // namespace

void TN_TARGET::fill_gemv(KernelTable& table) {
  table.gemv[int(DType::F32)] = kGemv<float, 1>;
  table.gemv[int(DType::F64)] = kGemv<double, 1>;
  table.gemv[int(DType::C64)] = kGemv<float, 2>;
  table.gemv[int(DType::C128)] = kGemv<double, 2>;
}

}  // namespace tn
