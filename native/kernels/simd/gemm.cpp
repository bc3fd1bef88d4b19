// Matrix products from registers outwards: a micro-kernel holds a tile of C in registers and reads rows of B
// as vectors and elements of A as scalars; panels of B are packed side by side and stay in L1, blocks of A
// stay in L2 (Goto & van de Geijn, "Anatomy of high-performance matrix multiplication", 2008). Packing reads
// straight from any strides or lists of offsets (Matthews, "High-performance tensor contraction without
// transposition", 2018), so that operands are never transposed elsewhere.
#include "native/kernels/simd/complex_lanes.h"
#include "native/kernels/simd/pack.h"
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// Registers: rows x vectors x parts sums, one row of B, one scalar of A.
constexpr int kTileVectors = 3;
constexpr int kTileRows = kVectorBytes == 64 ? 8 : 4;

// R is the real type; P is 1 for real elements, 2 for complex ones.
template <class R, int P>
constexpr int kRows = kTileRows / P;
template <class R, int P>
constexpr int kLanesOf = kLanes<Vector<R>> / P;  // elements
template <class R, int P>
constexpr int kColumns = kTileVectors * kLanesOf<R, P>;

// ---- the micro-kernel

// Strides in reals; lists of rows and columns of C in elements.
template <class R>
struct Tile {
  int64_t k;
  const R* a;
  int64_t a_row, a_col;
  const R* b;
  int64_t b_row;
  R* c;
  const int64_t *rows, *columns;  // columns is null where they are side by side
  int width;                      // columns of C
  bool conj_a, conj_b, accumulate;
  int64_t count, a_step, b_step, c_step;  // the same for a whole batch
};

// Writes rows of a tile that is not whole or not contiguous.
template <class R, int P>
TN_SHARED void scatter(const Tile<R>& t, R* c, const R* from, int m, int64_t step) {
  for (int i = 0; i < m; ++i, from += step)
    for (int j = 0; j < t.width; ++j) {
      R* to = c + (t.rows[i] + (t.columns ? t.columns[j] : j)) * P;
      for (int part = 0; part < P; ++part)
        to[part] = t.accumulate ? to[part] + from[j * P + part] : from[j * P + part];
    }
}

// K is the number of steps, 0 where it is t.k.
template <class R, int P, int M, int N, int K = 0>
TN_INLINE void one_tile(const Tile<R>& t, const R* a, const R* b, R* corner) {
  using V = Vector<R>;
  V sum[M][N][P];
  TN_UNROLL
  for (int i = 0; i < M * N * P; ++i) sum[i / (N * P)][i / P % N][i % P] = V{};
  const int64_t a_row = t.a_row, a_col = t.a_col, b_row = t.b_row;
#pragma GCC unroll 2
  for (int64_t p = K ? K : t.k; p > 0; --p, a += a_col, b += b_row) {
    V row[N];
    TN_UNROLL
    for (int j = 0; j < N; ++j) row[j] = load<V>(b + j * kLanes<V>);
    TN_UNROLL
    for (int i = 0; i < M * P; ++i) {
      const V scalar = splat<V>(a[i / P * a_row + i % P]);
      TN_UNROLL
      for (int j = 0; j < N; ++j) sum[i / P][j][i % P] = fma(scalar, row[j], sum[i / P][j][i % P]);
    }
  }
  const Combine<V> combine(t.conj_a, t.conj_b);
  if (t.columns || t.width != N * kLanesOf<R, P>) {
    alignas(kVectorBytes) R rows[M][N * kLanes<V>];
    TN_UNROLL
    for (int i = 0; i < M * N; ++i) store(rows[i / N] + i % N * kLanes<V>, combine(sum[i / N][i % N]));
    return scatter<R, P>(t, corner, rows[0], M, N * kLanes<V>);
  }
  TN_UNROLL
  for (int i = 0; i < M * N; ++i) {
    R* c = corner + t.rows[i / N] * P + i % N * kLanes<V>;
    const V value = combine(sum[i / N][i % N]);
    store(c, t.accumulate ? load<V>(c) + value : value);
  }
}

// A batch of whole tiles of few steps: what they share stays in registers, and nothing is decided between
// them.
template <class R, int P, int M, int N, int K>
TN_SHARED void short_tiles(const Tile<R>& shared) {
  Tile<R> t = shared;
  int64_t rows[M];
  for (int i = 0; i < M; ++i) rows[i] = shared.rows[i];
  t.rows = rows;
  t.columns = nullptr;
  t.width = N * kLanesOf<R, P>;
  const R *a = t.a, *b = t.b;
  R* c = t.c;
  for (int64_t left = t.count; left > 0; --left, a += t.a_step, b += t.b_step, c += t.c_step)
    one_tile<R, P, M, N, K>(t, a, b, c);
}

template <class R, int P, int M, int N>
void tile(const Tile<R>& t) {
  const bool whole = !t.columns && t.width == N * kLanesOf<R, P>;
  if (N == 1 && whole && t.k == 4 && t.count > 1) return short_tiles<R, P, M, N, 4>(t);
  const R *a = t.a, *b = t.b;
  R* c = t.c;
  TN_UNROLL
  for (int i = 0; i < M; ++i) __builtin_prefetch(c + t.rows[i] * P, 1);
  for (int64_t left = t.count;; a += t.a_step, b += t.b_step, c += t.c_step) {
    one_tile<R, P, M, N>(t, a, b, c);
    if (--left == 0) return;
  }
}

template <class R>
using TileFn = void (*)(const Tile<R>&);
template <class R, int P, int... row>
constexpr TileFn<R> tile_of(int m, int n, Lanes<row...>) {
  constexpr TileFn<R> known[kTileVectors][sizeof...(row)] = {
      {tile<R, P, row + 1, 1>...}, {tile<R, P, row + 1, 2>...}, {tile<R, P, row + 1, 3>...}};
  return known[n - 1][m - 1];
}

// ---- loops

template <class R, int P>
struct ElementType {
  typedef Complex<R> T;
};
template <class R>
struct ElementType<R, 1> {
  typedef R T;
};

TN_INLINE Offsets skip(const Offsets& of, int64_t i) { return {of.step, of.list ? of.list + i : nullptr}; }
TN_INLINE int64_t base(const Offsets& of, int64_t i) { return of.list ? 0 : i * of.step; }
TN_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Rows or vectors of the next tile: what remains is shared out evenly between the last two.
template <int kMost>
TN_INLINE int64_t next(int64_t left) {
  return left <= kMost ? left : left < 2 * kMost ? (left + 1) / 2 : kMost;
}

template <class R, int P>
struct Product {
  using T = typename ElementType<R, P>::T;
  Gemm g;

  struct Block {
    int64_t i, m, j, n, p, k;
  };

  TN_INLINE const T* a(int64_t i, int64_t p) const {
    return static_cast<const T*>(g.a) + base(g.a_rows, i) + base(g.a_columns, p);
  }
  TN_INLINE const T* b(int64_t p, int64_t j) const {
    return static_cast<const T*>(g.b) + base(g.b_rows, p) + base(g.b_columns, j);
  }

  // Points the tile at rows [i, i + m) of A, packed at the first use.
  TN_INLINE void aim_a(Tile<R>& t, const Block& x, int64_t i, int64_t m, bool first) const {
    if (g.a_in_place) {
      t.a = reinterpret_cast<const R*>(a(x.i + i, x.p));
      t.a_row = g.a_rows.step * P;
      t.a_col = g.a_columns.step * P;
      return;
    }
    T* packed = static_cast<T*>(g.packed_a) + i * x.k;
    const bool by_rows = run(g.a_columns, x.p, x.p + x.k) >= kSquare<T>;
    if (first) {
      const Offsets rows = skip(g.a_rows, x.i + i), columns = skip(g.a_columns, x.p);
      by_rows ? pack<T>({a(x.i + i, x.p), columns, rows}, x.k, m, packed, x.k)
              : pack<T>({a(x.i + i, x.p), rows, columns}, m, x.k, packed, m);
    }
    t.a = reinterpret_cast<const R*>(packed);
    t.a_row = (by_rows ? x.k : 1) * P;
    t.a_col = (by_rows ? 1 : m) * P;
  }

  // Points the tile at columns [j, j + n) of B, `width` of them packed. A panel that is read in place has
  // whole vectors only.
  TN_INLINE void aim_b(Tile<R>& t, const Block& x, int64_t j, int64_t n, int64_t width, bool first) const {
    if (g.b_in_place && n == width) {
      t.b = reinterpret_cast<const R*>(b(x.p, x.j + j));
      t.b_row = g.b_rows.step * P;
      return;
    }
    T* packed = static_cast<T*>(g.packed_b) + (g.one_panel ? 0 : j * x.k);
    if (first) pack_b(x, j, n, width, packed);
    t.b = reinterpret_cast<const R*>(packed);
    t.b_row = width * P;
  }

  TN_INLINE void pack_b(const Block& x, int64_t j, int64_t n, int64_t width, T* packed) const {
    pack<T>({b(x.p, x.j + j), skip(g.b_columns, x.j + j), skip(g.b_rows, x.p)}, n, x.k, packed, width);
    if (n < width)
      for (int64_t p = 0; p < x.k; ++p)
        for (int64_t q = n; q < width; ++q) packed[p * width + q] = T{};
    if (g.scale) scale(packed, width * x.k);
  }

  TN_SHARED void scale(T* x, int64_t n) const {
    const T factor = *static_cast<const T*>(g.scale);
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (P == 1)
        x[i] *= factor;
      else
        x[i] = {x[i].re * factor.re - x[i].im * factor.im, x[i].re * factor.im + x[i].im * factor.re};
    }
  }

  // A share of the panel at j, as large as rows [i, i + m) are of A, on its way from memory before it is
  // wanted.
  TN_INLINE void prefetch_b(const Block& x, int64_t j, int64_t i, int64_t m) const {
    if (!g.b_is_far || x.i > 0 || j >= x.n) return;
    for (int64_t p = x.k * i / x.m; p < x.k * (i + m) / x.m; ++p) {
      const T* row = b(x.p + p, x.j + j);
      __builtin_prefetch(row);
      __builtin_prefetch(row + kColumns<R, P> - 1);
    }
  }

  // Points the tile at columns [j, j + n) of C; `list` has room for their offsets.
  TN_INLINE void aim_c(Tile<R>& t, int64_t j, int64_t n, int64_t* list) const {
    const bool side_by_side = run(skip(g.c_columns, j), 0, n) == n;
    if (!side_by_side)
      for (int64_t q = 0; q < n; ++q) list[q] = at(g.c_columns, j + q);
    t.columns = side_by_side ? nullptr : list;
    t.c = reinterpret_cast<R*>(static_cast<T*>(g.c) + (side_by_side ? at(g.c_columns, j) : 0));
    t.width = int(n);
  }

  // One tile: rows [i, i + m) and columns [j, j + n) of a block.
  TN_INLINE void one(Tile<R>& t, const Block& x, int64_t i, int64_t m, int64_t j, int64_t* rows) const {
    aim_a(t, x, i, m, j == 0);
    for (int64_t r = 0; r < m; ++r) rows[r] = at(g.c_rows, x.i + i + r);
    const int vectors = int((t.width + kLanesOf<R, P> - 1) / kLanesOf<R, P>);
    tile_of<R, P>(int(m), vectors, LanesUpTo<kRows<R, P>>{})(t);
  }

  // Aims at the panel at j, packed in the first row of tiles; returns its columns.
  TN_INLINE int64_t aim_panel(Tile<R>& t, const Block& x, int64_t i, int64_t j, int64_t* columns) const {
    constexpr int64_t lanes = kLanesOf<R, P>;
    const int64_t width = next<kTileVectors>((x.n - j + lanes - 1) / lanes) * lanes;
    const int64_t n = smaller(x.n - j, width);
    aim_b(t, x, j, n, width, x.i == 0 && i == 0);
    aim_c(t, x.j + j, n, columns);
    return n;
  }

  void block(const Block& x) const {
    int64_t rows[kTileRows], columns[kColumns<R, P>];
    Tile<R> t;  // the steps of a batch stay unset
    t.k = x.k, t.count = 1;
    t.rows = rows;
    t.conj_a = g.conj_a, t.conj_b = g.conj_b, t.accumulate = g.accumulate || x.p > 0;
    auto rows_at = [&](int64_t i) { return next<kRows<R, P>>(x.m - i); };
    if (g.by_rows) {
      for (int64_t i = 0, m; i < x.m; i += m) {
        m = rows_at(i);
        for (int64_t j = 0; j < x.n; j += t.width) {
          aim_panel(t, x, i, j, columns);
          one(t, x, i, m, j, rows);
        }
      }
      return;
    }
    for (int64_t j = 0, n; j < x.n; j += n) {
      n = aim_panel(t, x, 0, j, columns);
      for (int64_t i = 0, m; i < x.m; i += m) {
        m = rows_at(i);
        prefetch_b(x, j + n, i, m);
        one(t, x, i, m, j, rows);
      }
    }
  }

  void operator()() const {
    for (int64_t j = 0; j < g.n; j += g.n_block)
      for (int64_t p = 0; p < g.k; p += g.k_block)
        for (int64_t i = 0; i < g.m; i += g.m_block)
          block({i, smaller(g.m - i, g.m_block), j, smaller(g.n - j, g.n_block), p,
                 smaller(g.k - p, g.k_block)});
  }

  // The next product of the batch.
  void advance() {
    g.a = static_cast<const T*>(g.a) + g.a_step;
    g.b = static_cast<const T*>(g.b) + g.b_step;
    g.c = static_cast<T*>(g.c) + g.c_step;
  }
};

// A batch of products that are one tile each, all read in place.
template <class R, int P>
TN_INLINE bool is_one_tile(const Gemm& g) {
  return g.a_in_place && g.b_in_place && g.m <= kRows<R, P> && g.n <= kColumns<R, P> &&
         g.n % kLanesOf<R, P> == 0 && g.k <= g.k_block && g.c_columns.step == 1 && !g.c_columns.list;
}

template <class R, int P>
void multiply_tiles(const Gemm& g) {
  int64_t rows[kTileRows];
  for (int64_t r = 0; r < g.m; ++r) rows[r] = at(g.c_rows, r);
  Tile<R> t{g.k,
            static_cast<const R*>(g.a),
            g.a_rows.step * P,
            g.a_columns.step * P,
            static_cast<const R*>(g.b),
            g.b_rows.step * P,
            static_cast<R*>(g.c),
            rows,
            nullptr,
            int(g.n),
            g.conj_a,
            g.conj_b,
            g.accumulate,
            g.count,
            g.a_step * P,
            g.b_step * P,
            g.c_step * P};
  tile_of<R, P>(int(g.m), int(g.n / kLanesOf<R, P>), LanesUpTo<kRows<R, P>>{})(t);
}

template <class R, int P>
void multiply(const Gemm& g) {
  if (is_one_tile<R, P>(g)) return multiply_tiles<R, P>(g);
  Product<R, P> product{g};
  for (int64_t i = 0; i < g.count; ++i) {
    product();
    product.advance();
  }
}

}  // namespace

void TN_TARGET::fill_gemm(KernelTable& table) {
  table.gemm[int(DType::F32)] = {kRows<float, 1>, kColumns<float, 1>, multiply<float, 1>};
  table.gemm[int(DType::F64)] = {kRows<double, 1>, kColumns<double, 1>, multiply<double, 1>};
  table.gemm[int(DType::C64)] = {kRows<float, 2>, kColumns<float, 2>, multiply<float, 2>};
  table.gemm[int(DType::C128)] = {kRows<double, 2>, kColumns<double, 2>, multiply<double, 2>};
}

}  // namespace tn
