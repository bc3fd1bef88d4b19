// LU with partial pivoting of many small real matrices, one matrix in each lane, with LAPACK's pivots;
// inverses and solutions from it. Each lane exchanges its own rows, by selection. A matrix that this is not
// made for (NaN, Inf, singular to working precision) is left to LAPACK.
#include "native/kernels/simd/lane_group.h"

namespace tn {
namespace {

constexpr int kMax = kSmallCols;

// A matrix deserves a closer look if its pivots differ by more than this ratio, u^(3/4), or if one is below
// the second times the mean absolute sum of a column.
template <class T>
constexpr T kSuspicious = sizeof(T) == 8 ? T(0x1p-39) : T(0x1p-17);
template <class T>
constexpr T kMinute = sizeof(T) == 8 ? T(0x1p-40) : T(0x1p-11);

// The order of the matrices where it is known when compiled (N), so that loops over it unroll.
template <int N>
TN_INLINE int order(int n) {
  return N ? N : n;
}

template <class T>
struct Factors {
  using V = Vector<T>;
  V a[kMax * kMax];  // column-major
  V reciprocal[kMax];
  Mask<V> pivot[kMax];
  Mask<V> fits;  // finite, and not suspicious
};

template <int N, class T>
TN_INLINE void exchange_rows(Factors<T>& f, int k, int n) {
  using V = Vector<T>;
  for (int i = k + 1; i < n; ++i) {
    const Mask<V> here = f.pivot[k] == i;
    if (!any(here)) continue;
    for (int j = 0; j < n; ++j) {
      const V upper = f.a[j * n + k], lower = f.a[j * n + i];
      f.a[j * n + k] = select<V>(here, lower, upper);
      f.a[j * n + i] = select<V>(here, upper, lower);
    }
  }
}

template <int N, class T>
TN_INLINE void eliminate(Factors<T>& f, int k, int n) {
  using V = Vector<T>;
  for (int i = k + 1; i < n; ++i) f.a[k * n + i] *= f.reciprocal[k];
  for (int j = k + 1; j < n; ++j) {
    const V u = -f.a[j * n + k];
    for (int i = k + 1; i < n; ++i) f.a[j * n + i] = fma(f.a[k * n + i], u, f.a[j * n + i]);
  }
}

template <int N, class T>
TN_INLINE void factor(Factors<T>& f, const LaneGroup<T>& group, int n_given) {
  using V = Vector<T>;
  const int n = order<N>(n_given);
  V total{};  // not finite in lanes that hold NaN or Inf
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const V x = group.at(i, j);
      total += abs(x);
      f.a[j * n + i] = x;
    }
  V least{}, most{};
  for (int k = 0; k < n; ++k) {
    V best = abs(f.a[k * n + k]);
    f.pivot[k] = Mask<V>{} + k;
    for (int i = k + 1; i < n; ++i) {
      const V size = abs(f.a[k * n + i]);
      const Mask<V> larger = size > best;
      best = select<V>(larger, size, best);
      f.pivot[k] = larger ? Mask<V>{} + i : f.pivot[k];
    }
    least = k == 0 ? best : select<V>(best < least, best, least);
    most = select<V>(best > most, best, most);
    exchange_rows<N>(f, k, n);
    f.reciprocal[k] = splat<V>(1) / f.a[k * n + k];
    eliminate<N>(f, k, n);
  }
  f.fits = (least > most * kSuspicious<T>)&(least > total * (kMinute<T> / T(n))) &
           (least > splat<V>(sizeof(T) == 8 ? T(0x1p-1000) : T(0x1p-120)));
}

// order[k][lane]: the row of the matrix that stands in row k after the exchanges.
template <class T>
TN_INLINE void rows_in_order(const Mask<Vector<T>>* pivot, int n, int (*order)[kLanes<Vector<T>>]) {
  for (int lane = 0; lane < kLanes<Vector<T>>; ++lane) {
    for (int k = 0; k < n; ++k) order[k][lane] = k;
    for (int k = 0; k < n; ++k) {
      const int other = int(pivot[k][lane]), row = order[k][lane];
      order[k][lane] = order[other][lane];
      order[other][lane] = row;
    }
  }
}

// y = U^-1 L^-1 y, y known to be zero above row `first`.
template <int N, class T>
TN_INLINE void solve_column(const Factors<T>& f, int n, int first, Vector<T>* y) {
  for (int k = first; k < n; ++k)
    for (int i = k + 1; i < n; ++i) y[i] = fma(-f.a[k * n + i], y[k], y[i]);
  for (int k = n - 1; k >= 0; --k) {
    y[k] *= f.reciprocal[k];
    for (int i = 0; i < k; ++i) y[i] = fma(-f.a[k * n + i], y[k], y[i]);
  }
}

// y = L^-T U^-T y.
template <int N, class T>
TN_INLINE void solve_column_transposed(const Factors<T>& f, int n, Vector<T>* y) {
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < k; ++i) y[k] = fma(-f.a[k * n + i], y[i], y[k]);
    y[k] *= f.reciprocal[k];
  }
  for (int k = n - 1; k >= 0; --k)
    for (int i = k + 1; i < n; ++i) y[k] = fma(-f.a[k * n + i], y[i], y[k]);
}

// ---- lu

template <int N, class T>
__attribute__((noinline)) void lu_group(const LaneGroup<T>& group, int n_given, T* lu, int32_t* pivots,
                                        int pivot_stride, bool* done) {
  Factors<T> f;
  factor<N>(f, group, n_given);
  const int n = order<N>(n_given);
  for (int lane = 0; lane < group.used; ++lane) {
    done[lane] = f.fits[lane] != 0;
    for (int i = 0; i < n * n; ++i) lu[lane * n * n + i] = f.a[i][lane];
    for (int k = 0; k < n; ++k) pivots[lane * pivot_stride + k] = int32_t(f.pivot[k][lane]) + 1;
  }
}

// ---- inverse

template <int N, class T>
__attribute__((noinline)) void inverse_group(const LaneGroup<T>& group, int n_given, T* out, bool* done) {
  constexpr int width = LaneGroup<T>::kWidth;
  Factors<T> f;
  factor<N>(f, group, n_given);
  const int n = order<N>(n_given);
  int rows[kMax][width];
  rows_in_order<T>(f.pivot, n, rows);
  for (int lane = 0; lane < group.used; ++lane) done[lane] = f.fits[lane] != 0;
  for (int j = 0; j < n; ++j) {
    Vector<T> y[kMax];
    for (int i = 0; i < n; ++i) y[i] = splat<Vector<T>>(i == j ? 1 : 0);
    solve_column<N>(f, n, j, y);
    for (int lane = 0; lane < group.used; ++lane)
      for (int i = 0; i < n; ++i) out[(lane * n + i) * n + rows[j][lane]] = y[i][lane];
  }
}

// ---- solve

template <class T>
TN_INLINE void load_factors(Factors<T>& f, const LaneGroup<T>& group, const int32_t* const* pivots, int n) {
  using V = Vector<T>;
  for (int i = 0; i < n * n; ++i) f.a[i] = group.at(i, 0);
  for (int k = 0; k < n; ++k) {
    f.reciprocal[k] = splat<V>(1) / f.a[k * (n + 1)];
    for (int lane = 0; lane < LaneGroup<T>::kWidth; ++lane)
      f.pivot[k][lane] = pivots[group.first + size_t(lane < group.used ? lane : group.used - 1)][k] - 1;
  }
}

template <int N, class T>
__attribute__((noinline)) void solve_group(const LaneGroup<T>& lu, const int32_t* const* pivots,
                                           bool transposed, const LaneGroup<T>& b, int n_given, int cols,
                                           T* x) {
  constexpr int width = LaneGroup<T>::kWidth;
  const int n = order<N>(n_given);
  Factors<T> f;
  load_factors(f, lu, pivots, n);
  int rows[kMax][width];
  rows_in_order<T>(f.pivot, n, rows);
  for (int j = 0; j < cols; ++j) {
    Vector<T> y[kMax];
    for (int i = 0; i < n; ++i) y[i] = transposed ? b.at(i, j) : b.at(rows, i, j);
    if (transposed)
      solve_column_transposed<N>(f, n, y);
    else
      solve_column<N>(f, n, 0, y);
    for (int lane = 0; lane < b.used; ++lane)
      for (int i = 0; i < n; ++i) x[(lane * cols + j) * n + (transposed ? rows[i][lane] : i)] = y[i][lane];
  }
}

// Calls f.operator()<N>() with N = n where that is worth code of its own, else with N = 0.
template <class F>
TN_INLINE void at_order(int n, F f) {
  switch (n) {
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    case 4:
      return f.template operator()<4>();
    case 8:
      return f.template operator()<8>();
    default:
      return f.template operator()<0>();
  }
}

template <class T>
void small_lu(const SmallMatrices& of, void* lu, int32_t* pivots, int pivot_stride, bool* done) {
  const int n = of.rows;
  at_order(n, [&]<int N>() {
    for (size_t i = 0; i < of.count; i += LaneGroup<T>::kWidth)
      lu_group<N>(LaneGroup<T>(of, i), n, static_cast<T*>(lu) + i * size_t(n * n),
                  pivots + i * size_t(pivot_stride), pivot_stride, done + i);
  });
}

template <class T>
void small_inverse(const SmallMatrices& of, void* out, bool* done) {
  const int n = of.rows;
  at_order(n, [&]<int N>() {
    for (size_t i = 0; i < of.count; i += LaneGroup<T>::kWidth)
      inverse_group<N>(LaneGroup<T>(of, i), n, static_cast<T*>(out) + i * size_t(n * n), done + i);
  });
}

template <class T>
void small_lu_solve(const SmallMatrices& lu, const int32_t* const* pivots, bool transposed,
                    const SmallMatrices& b, void* x) {
  const int n = lu.rows, cols = b.cols;
  at_order(n, [&]<int N>() {
    for (size_t i = 0; i < b.count; i += LaneGroup<T>::kWidth)
      solve_group<N>(LaneGroup<T>(lu, i), pivots, transposed, LaneGroup<T>(b, i), n, cols,
                     static_cast<T*>(x) + i * size_t(n * cols));
  });
}

template <class T>
constexpr SmallLuKernels kSmallLu = {small_lu<T>, small_inverse<T>, small_lu_solve<T>};

}  // namespace

void TN_TARGET::fill_small_lu(KernelTable& table) {
  table.small_lu[0] = kSmallLu<float>;
  table.small_lu[1] = kSmallLu<double>;
}

}  // namespace tn
