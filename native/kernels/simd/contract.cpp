// Products of matrices that fit in L1, in any strides. Larger ones are a provider's work.
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// ---- real floating point: blocks of rows by vectors of columns, B contiguous along its rows ----

template <class T>
struct Block {
  const T *a, *b;
  T* c;
  int64_t k, a_row, a_col, b_row, c_row, c_col;
  bool accumulate;
};

template <class V>
TN_INLINE void put(Scalar<V>* c, int64_t step, V v, bool accumulate) {
  if (step == 1) return store(c, accumulate ? load<V>(c) + v : v);
  for (int i = 0; i < kLanes<V>; ++i) c[i * step] = accumulate ? c[i * step] + v[i] : v[i];
}

template <class T, int R, int N>
TN_INLINE void vector_block(const Block<T>& x) {
  using V = Vector<T>;
  V sum[R][N] = {};
  for (int64_t p = 0; p < x.k; ++p) {
    V b[N];
    for (int j = 0; j < N; ++j) b[j] = load<V>(x.b + p * x.b_row + j * kLanes<V>);
    for (int i = 0; i < R; ++i) {
      const V a = splat<V>(x.a[i * x.a_row + p * x.a_col]);
      for (int j = 0; j < N; ++j) sum[i][j] = fma(a, b[j], sum[i][j]);
    }
  }
  for (int i = 0; i < R; ++i)
    for (int j = 0; j < N; ++j)
      put(x.c + i * x.c_row + j * kLanes<V> * x.c_col, x.c_col, sum[i][j], x.accumulate);
}

template <class T, int N>
TN_INLINE void vector_columns(Block<T> x, int64_t m) {
  for (; m >= 4; m -= 4, x.a += 4 * x.a_row, x.c += 4 * x.c_row) vector_block<T, 4, N>(x);
  if (m == 3) vector_block<T, 3, N>(x);
  if (m == 2) vector_block<T, 2, N>(x);
  if (m == 1) vector_block<T, 1, N>(x);
}

template <class T>
void scalar_columns(const Block<T>& x, int64_t m, int64_t n) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < x.k; ++p) sum += x.a[i * x.a_row + p * x.a_col] * x.b[p * x.b_row + j];
      T* c = x.c + i * x.c_row + j * x.c_col;
      *c = x.accumulate ? *c + sum : sum;
    }
}

template <class T>
TN_INLINE Block<T> at_column(Block<T> x, int64_t j) {
  x.b += j;
  x.c += j * x.c_col;
  return x;
}

// The last vector overlaps the one before it, unless that would add twice.
template <class T>
void columns(const Block<T>& x, int64_t m, int64_t n) {
  constexpr int64_t lanes = kLanes<Vector<T>>;
  int64_t j = 0;
  for (; n - j >= 2 * lanes; j += 2 * lanes) vector_columns<T, 2>(at_column(x, j), m);
  if (n - j >= lanes) {
    vector_columns<T, 1>(at_column(x, j), m);
    j += lanes;
  }
  if (j == n) return;
  if (n >= lanes && !x.accumulate) return vector_columns<T, 1>(at_column(x, n - lanes), m);
  scalar_columns(at_column(x, j), m, n - j);
}

constexpr int64_t kPanel = 2048;  // elements of B that are packed at a time

// Packs B in panels, so that its columns lie side by side.
template <class T>
void packed_columns(Block<T> x, int64_t b_col, int64_t m, int64_t n) {
  alignas(64) T panel[kPanel];
  const int64_t width = n < 64 ? n : 64, depth = kPanel / width;
  for (int64_t j = 0; j < n; j += width)
    for (int64_t p = 0; p < x.k || p == 0; p += depth) {
      const int64_t w = n - j < width ? n - j : width, d = x.k - p < depth ? x.k - p : depth;
      for (int64_t q = 0; q < d; ++q)
        for (int64_t i = 0; i < w; ++i) panel[q * w + i] = x.b[(p + q) * x.b_row + (j + i) * b_col];
      columns<T>({x.a + p * x.a_col, panel, x.c + j * x.c_col, d, x.a_row, x.a_col, w, x.c_row, x.c_col,
                  x.accumulate || p > 0},
                 m, w);
    }
}

// Few columns, A and B contiguous along k: one dot product for each element.
template <class T>
TN_INLINE T dot(const T* a, const T* b, int64_t k) {
  using V = Vector<T>;
  V sums[2] = {};
  int64_t p = 0;
  for (; k - p >= 2 * kLanes<V>; p += 2 * kLanes<V>)
    for (int u = 0; u < 2; ++u)
      sums[u] = fma(load<V>(a + p + u * kLanes<V>), load<V>(b + p + u * kLanes<V>), sums[u]);
  const V sum = sums[0] + sums[1];
  T total = 0;
  for (int i = 0; i < kLanes<V>; ++i) total += sum[i];
  for (; p < k; ++p) total += a[p] * b[p];
  return total;
}

template <class T>
void dots(const MatMul& x) {
  for (int64_t i = 0; i < x.m; ++i)
    for (int64_t j = 0; j < x.n; ++j) {
      T& c = static_cast<T*>(x.c)[i * x.c_row + j * x.c_col];
      const T sum =
          dot(static_cast<const T*>(x.a) + i * x.a_row, static_cast<const T*>(x.b) + j * x.b_col, x.k);
      c = x.accumulate ? c + sum : sum;
    }
}

template <class T>
bool few_and_deep(const MatMul& x) {
  constexpr int64_t lanes = kLanes<Vector<T>>;
  return x.a_col == 1 && x.b_row == 1 && x.k >= lanes && (x.n < lanes / 2 || x.m < lanes / 2);
}

// C^T = B^T A^T
MatMul transposed(const MatMul& x) {
  return {x.n,     x.m, x.k,     x.b,     x.b_col,  x.b_row,  x.a,         x.a_col,
          x.a_row, x.c, x.c_col, x.c_row, x.conj_b, x.conj_a, x.accumulate};
}

// The columns of the product should be many, and contiguous in B.
template <class T>
bool better_transposed(const MatMul& x) {
  constexpr int64_t lanes = kLanes<Vector<T>>;
  if (x.n < lanes) return x.m >= lanes;
  return x.b_col != 1 && x.a_row == 1 && x.m >= lanes;
}

template <class T>
void real_matmul(const MatMul& given) {
  if (few_and_deep<T>(given)) return dots<T>(given);
  const MatMul x = better_transposed<T>(given) ? transposed(given) : given;
  const Block<T> block{static_cast<const T*>(x.a),
                       static_cast<const T*>(x.b),
                       static_cast<T*>(x.c),
                       x.k,
                       x.a_row,
                       x.a_col,
                       x.b_row,
                       x.c_row,
                       x.c_col,
                       x.accumulate};
  if (x.b_col == 1 || x.n == 1)
    columns(block, x.m, x.n);
  else
    packed_columns(block, x.b_col, x.m, x.n);
}

// ---- complex numbers, integers, bool: row by row ----

template <class R>
TN_INLINE void add_product(Complex<R>& sum, Complex<R> a, Complex<R> b) {
  sum.re += a.re * b.re - a.im * b.im;
  sum.im += a.re * b.im + a.im * b.re;
}
template <class T>
TN_INLINE void add_product(T& sum, T a, T b) {
  sum = T(sum + a * b);
}
struct Bool {
  uint8_t is;
};
TN_INLINE void add_product(Bool& sum, Bool a, Bool b) { sum.is |= a.is & b.is; }

template <class R>
TN_INLINE Complex<R> conjugate_if(bool flip, Complex<R> x) {
  return {x.re, flip ? -x.im : x.im};
}
template <class T>
TN_INLINE T conjugate_if(bool, T x) {
  return x;
}

template <class T, bool kContiguous>
void rows(const MatMul& x) {
  const int64_t b_col = kContiguous ? 1 : x.b_col, c_col = kContiguous ? 1 : x.c_col;
  for (int64_t i = 0; i < x.m; ++i) {
    T* c = static_cast<T*>(x.c) + i * x.c_row;
    for (int64_t j = 0; j < x.n && !x.accumulate; ++j) c[j * c_col] = T{};
    for (int64_t p = 0; p < x.k; ++p) {
      const T a = conjugate_if(x.conj_a, static_cast<const T*>(x.a)[i * x.a_row + p * x.a_col]);
      const T* b = static_cast<const T*>(x.b) + p * x.b_row;
      TN_INDEPENDENT
      for (int64_t j = 0; j < x.n; ++j) add_product(c[j * c_col], a, conjugate_if(x.conj_b, b[j * b_col]));
    }
  }
}

template <class T>
void row_matmul(const MatMul& given) {
  const bool swap = given.b_col != 1 && given.a_row == 1 && given.c_row == 1;
  const MatMul x = swap ? transposed(given) : given;
  x.b_col == 1 && x.c_col == 1 ? rows<T, true>(x) : rows<T, false>(x);
}

}  // namespace

void TN_TARGET::fill_contractions(KernelTable& table) {
  for_each_dtype(Floats{}, [&]<DType t>() { table.matmul[int(t)] = real_matmul<Element<t>>; });
  for_each_dtype(Complexes{}, [&]<DType t>() { table.matmul[int(t)] = row_matmul<Element<t>>; });
  for_each_dtype(Integers{}, [&]<DType t>() { table.matmul[int(t)] = row_matmul<Element<t>>; });
  table.matmul[int(DType::Bool)] = row_matmul<Bool>;
}

}  // namespace tn
