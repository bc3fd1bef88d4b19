// Decompositions of many small real matrices, one matrix in each lane: eigh by cyclic Jacobi rotations, svd
// by one-sided ones (Hestenes), qr by Householder reflections with LAPACK's signs. Lanes that converged wait
// for the others with rotations of angle zero. Jacobi's errors are no larger than LAPACK's; a matrix that
// this is not made for (NaN, zero, denormal, singular to working precision) is left to it.
#include "native/kernels/simd/lane_group.h"

namespace tn {
namespace {

constexpr int kMaxRows = kSmallRows, kMaxCols = kSmallCols;
constexpr int kMaxSweeps = 30;

template <class T>
constexpr T kRoundoff = sizeof(T) == 8 ? T(0x1p-53) : T(0x1p-24);

template <class V>
TN_INLINE V larger(V a, V b) {
  return select<V>(a > b, a, b);
}

template <class T, class F>
void for_each_group(const SmallMatrices& of, F f) {
  for (size_t i = 0; i < of.count; i += size_t(LaneGroup<T>::kWidth)) f(LaneGroup<T>(of, i));
}

// Collects the largest magnitude of each lane. As integers, Inf and NaN are larger than any number.
template <class V>
struct Largest {
  Mask<V> bits{};
  TN_INLINE void add(V x) {
    const Mask<V> candidate = (Mask<V>)abs(x);
    bits = candidate > bits ? candidate : bits;
  }
};

// Powers of two that bring the largest element of each lane near 1, and which lanes they fit: no zero
// matrices, no NaN, Inf or extreme magnitudes.
template <class V>
struct Scale {
  V up, down;
  Mask<V> fits;

  explicit TN_INLINE Scale(const Largest<V>& largest) {
    constexpr Scalar<Mask<V>> bias = sizeof(Scalar<V>) == 8 ? 1023 : 127;
    const Mask<V> exponent = largest.bits >> kFractionBits<V>;
    fits = (exponent > 8) & (exponent < 2 * bias - 8);
    const Mask<V> safe = fits ? exponent : Mask<V>{} + bias;
    up = (V)(safe << kFractionBits<V>);
    down = (V)((2 * bias - safe) << kFractionBits<V>);
  }
};

// Calls f(p, q), p < q, for every pair of 0..n-1, in rounds of disjoint pairs, so that a processor can
// overlap neighbours.
template <class F>
TN_INLINE void for_each_pair(int n, F f) {
  const int even = n + n % 2, last = even - 1;
  for (int round = 0; round < last; ++round)
    for (int k = 0; k < even / 2; ++k) {
      const int a = k == 0 ? last : (round + k) % last, b = (round + last - k) % last;
      if (a < n && b < n) f(a < b ? a : b, a < b ? b : a);
    }
}

// The rotation that makes [[app, apq], [apq, aqq]] diagonal, or none where `active` is not set.
template <class V>
struct Rotation {
  V t, c, s;

  TN_INLINE Rotation(V app, V apq, V aqq, Mask<V> active) {
    const V d = aqq - app, twice = apq + apq;
    const V root = d + copy_sign(sqrt(fma(d, d, twice * twice)), d);
    t = select<V>(active, twice / select<V>(active, root, splat<V>(1)), V{});
    c = splat<V>(1) / sqrt(fma(t, t, splat<V>(1)));
    s = c * t;
  }
  TN_INLINE void turn(V& p, V& q) const {
    const V old = p;
    p = fma(c, old, -(s * q));
    q = fma(s, old, c * q);
  }
};

template <class V>
TN_INLINE void turn_columns(const Rotation<V>& r, V* p, V* q, int rows) {
  for (int i = 0; i < rows; ++i) r.turn(p[i], q[i]);
}

template <class V>
void set_identity(V* x, int n) {
  for (int i = 0; i < n * n; ++i) x[i] = splat<V>(i % (n + 1) == 0 ? 1 : 0);
}

// The order of the values of one lane: ascending, or descending.
template <class V>
void sort_lane(const V* values, int n, int lane, bool ascending, int* order) {
  for (int k = 0; k < n; ++k) {
    const Scalar<V> value = values[k][lane];
    int at = k;
    for (; at > 0; --at) {
      const Scalar<V> before = values[order[at - 1]][lane];
      if (ascending ? before <= value : before >= value) break;
      order[at] = order[at - 1];
    }
    order[at] = k;
  }
}

// ---- eigh

template <class V>
struct EighState {
  V a[kMaxCols * kMaxCols], vectors[kMaxCols * kMaxCols], values[kMaxCols];
  int n;
  bool want_vectors;

  TN_INLINE V& at(int i, int j) { return a[j * n + i]; }
  bool sweep(V threshold);
  bool diagonalise();
};

template <class V>
bool EighState<V>::sweep(V threshold) {
  Mask<V> rotated{};
  for_each_pair(n, [&](int p, int q) {
    const V apq = at(p, q);
    const Mask<V> active = abs(apq) > threshold;
    if (!any(active)) return;
    rotated |= active;
    const Rotation<V> r(at(p, p), apq, at(q, q), active);
    at(p, p) = fma(-r.t, apq, at(p, p));
    at(q, q) = fma(r.t, apq, at(q, q));
    at(p, q) = at(q, p) = select<V>(active, V{}, apq);
    for (int i = 0; i < n; ++i) {
      if (i == p || i == q) continue;
      V ip = at(i, p), iq = at(i, q);
      r.turn(ip, iq);
      at(i, p) = at(p, i) = ip;
      at(i, q) = at(q, i) = iq;
    }
    if (want_vectors) turn_columns(r, vectors + p * n, vectors + q * n, n);
  });
  return any(rotated);
}

template <class V>
bool EighState<V>::diagonalise() {
  V square{};
  for (int i = 0; i < n * n; ++i) square = fma(a[i], a[i], square);
  const V threshold = sqrt(square) * (kRoundoff<Scalar<V>> / 2);
  if (want_vectors) set_identity(vectors, n);
  int sweeps = 0;
  while (sweep(threshold))
    if (++sweeps == kMaxSweeps) return false;
  for (int i = 0; i < n; ++i) values[i] = at(i, i);
  return true;
}

template <class T>
void eigh_group(const LaneGroup<T>& group, bool lower, T* w, T* vectors, bool* done) {
  using V = Vector<T>;
  EighState<V> x;
  const int n = x.n = group.of.rows;
  x.want_vectors = vectors != nullptr;
  Largest<V> largest;
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) {
      x.at(i, j) = lower ? group.at(i, j) : group.at(j, i);
      largest.add(x.at(i, j));
    }
  const Scale<V> scale(largest);
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i) x.at(j, i) = x.at(i, j) = select<V>(scale.fits, x.at(i, j) * scale.down, V{});
  const bool converged = x.diagonalise();
  for (int lane = 0; lane < group.used; ++lane) {
    done[lane] = converged && scale.fits[lane];
    int order[kMaxCols];
    sort_lane(x.values, n, lane, true, order);
    for (int k = 0; k < n; ++k) {
      w[lane * n + k] = x.values[order[k]][lane] * scale.up[lane];
      if (vectors)
        for (int i = 0; i < n; ++i) vectors[(lane * n + k) * n + i] = x.vectors[order[k] * n + i][lane];
    }
  }
}

template <class T>
void small_eigh(const SmallMatrices& of, bool lower, void* w, void* vectors, bool* done) {
  for_each_group<T>(of, [&](const LaneGroup<T>& group) {
    const size_t i = group.first, n = size_t(of.rows);
    eigh_group(group, lower, static_cast<T*>(w) + i * n,
               vectors ? static_cast<T*>(vectors) + i * n * n : nullptr, done + i);
  });
}

// ---- svd of m x n, m >= n: rotations from the right make the columns orthogonal; their lengths are s.

template <class V>
struct SvdState {
  V a[kMaxRows * kMaxCols], right[kMaxCols * kMaxCols], values[kMaxCols];
  int m, n;
  bool want_vectors;

  bool sweep(Scalar<V> tolerance);
  bool orthogonalise();
};

template <class V>
bool SvdState<V>::sweep(Scalar<V> tolerance) {
  Mask<V> rotated{};
  for_each_pair(n, [&](int p, int q) {
    V *x = a + p * m, *y = a + q * m;
    V xx{}, xy{}, yy{};
    for (int i = 0; i < m; ++i) {
      xx = fma(x[i], x[i], xx);
      xy = fma(x[i], y[i], xy);
      yy = fma(y[i], y[i], yy);
    }
    const Mask<V> active = abs(xy) > sqrt(xx) * sqrt(yy) * tolerance;
    if (!any(active)) return;
    rotated |= active;
    const Rotation<V> r(xx, xy, yy, active);
    turn_columns(r, x, y, m);
    if (want_vectors) turn_columns(r, right + p * n, right + q * n, n);
  });
  return any(rotated);
}

template <class V>
bool SvdState<V>::orthogonalise() {
  if (want_vectors) set_identity(right, n);
  const Scalar<V> tolerance = Scalar<V>(m) * kRoundoff<Scalar<V>>;
  int sweeps = 0;
  while (sweep(tolerance))
    if (++sweeps == kMaxSweeps) return false;
  for (int j = 0; j < n; ++j) {
    V square{};
    for (int i = 0; i < m; ++i) square = fma(a[j * m + i], a[j * m + i], square);
    values[j] = sqrt(square);
  }
  return true;
}

template <class V>
Mask<V> has_full_rank(const V* values, int m, int n) {
  V most{}, least = values[0];
  for (int j = 0; j < n; ++j) {
    most = larger(most, values[j]);
    least = select<V>(values[j] < least, values[j], least);
  }
  return least > most * (Scalar<V>(8 * m) * kRoundoff<Scalar<V>>);
}

template <class T>
void svd_group(const LaneGroup<T>& group, T* left, T* s, T* right, bool* done) {
  using V = Vector<T>;
  SvdState<V> x;
  const int m = x.m = group.of.rows, n = x.n = group.of.cols;
  x.want_vectors = left != nullptr;
  Largest<V> largest;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      x.a[j * m + i] = group.at(i, j);
      largest.add(x.a[j * m + i]);
    }
  const Scale<V> scale(largest);
  for (int i = 0; i < m * n; ++i) x.a[i] = select<V>(scale.fits, x.a[i] * scale.down, V{});
  const bool converged = x.orthogonalise();
  const Mask<V> full_rank = has_full_rank(x.values, m, n);
  for (int lane = 0; lane < group.used; ++lane) {
    done[lane] = converged && scale.fits[lane] && full_rank[lane];
    if (!done[lane]) continue;
    int order[kMaxCols];
    sort_lane(x.values, n, lane, false, order);
    for (int k = 0; k < n; ++k) {
      const T value = x.values[order[k]][lane];
      s[lane * n + k] = value * scale.up[lane];
      if (!left) continue;
      const V *u = x.a + order[k] * m, *v = x.right + order[k] * n;
      for (int i = 0; i < m; ++i) left[(lane * n + k) * m + i] = u[i][lane] / value;
      for (int i = 0; i < n; ++i) right[lane * n * n + i * n + k] = v[i][lane];
    }
  }
}

template <class T>
void small_svd(const SmallMatrices& of, void* left, void* s, void* right, bool* done) {
  for_each_group<T>(of, [&](const LaneGroup<T>& group) {
    const size_t i = group.first, m = size_t(of.rows), n = size_t(of.cols);
    svd_group(group, left ? static_cast<T*>(left) + i * m * n : nullptr, static_cast<T*>(s) + i * n,
              right ? static_cast<T*>(right) + i * n * n : nullptr, done + i);
  });
}

// ---- qr: columns reflected one by one, as geqr2 and org2r do.

template <class V>
struct QrState {
  V a[kMaxRows * kMaxCols], q[kMaxRows * kMaxRows], tau[kMaxCols];
  int m, n, steps;

  // Makes a[k + 1.., k] the vector of the reflection that zeroes it, and a[k, k] the element of R.
  TN_INLINE void make_reflector(int k);
  // column -= tau v (v^T column), v = (1, a[k + 1.., k]); column and v begin at row k.
  TN_INLINE void reflect(int k, V* column) const;
  void factor();
  void form_q(int columns);
};

template <class V>
TN_INLINE void QrState<V>::make_reflector(int k) {
  V* v = a + k * m + k;
  V tail{};
  for (int i = 1; i < m - k; ++i) tail = fma(v[i], v[i], tail);
  const Mask<V> active = tail > V{};
  const V alpha = v[0], beta = -copy_sign(sqrt(fma(alpha, alpha, tail)), alpha);
  tau[k] = select<V>(active, (beta - alpha) / select<V>(active, beta, splat<V>(1)), V{});
  const V inverse = splat<V>(1) / select<V>(active, alpha - beta, splat<V>(1));
  for (int i = 1; i < m - k; ++i) v[i] *= inverse;
  v[0] = select<V>(active, beta, alpha);
}

template <class V>
TN_INLINE void QrState<V>::reflect(int k, V* column) const {
  const V* v = a + k * m + k;
  V dot = column[0];
  for (int i = 1; i < m - k; ++i) dot = fma(v[i], column[i], dot);
  dot *= tau[k];
  column[0] -= dot;
  for (int i = 1; i < m - k; ++i) column[i] = fma(-dot, v[i], column[i]);
}

template <class V>
void QrState<V>::factor() {
  steps = m < n ? m : n;
  for (int k = 0; k < steps; ++k) {
    make_reflector(k);
    for (int j = k + 1; j < n; ++j) reflect(k, a + j * m + k);
  }
}

template <class V>
void QrState<V>::form_q(int columns) {
  for (int i = 0; i < m * columns; ++i) q[i] = splat<V>(i % (m + 1) == 0 ? 1 : 0);
  for (int k = steps - 1; k >= 0; --k)
    for (int j = k; j < columns; ++j) reflect(k, q + j * m + k);
}

template <class T>
void qr_group(const LaneGroup<T>& group, int columns, T* q, T* r, bool* done) {
  using V = Vector<T>;
  QrState<V> x;
  const int m = x.m = group.of.rows, n = x.n = group.of.cols;
  Largest<V> largest;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      x.a[j * m + i] = group.at(i, j);
      largest.add(x.a[j * m + i]);
    }
  const Scale<V> scale(largest);
  for (int i = 0; i < m * n; ++i) x.a[i] = select<V>(scale.fits, x.a[i] * scale.down, V{});
  x.factor();
  if (q) x.form_q(columns);
  for (int lane = 0; lane < group.used; ++lane) {
    done[lane] = scale.fits[lane];
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < columns; ++i)
        r[(lane * n + j) * columns + i] = i <= j ? x.a[j * m + i][lane] * scale.up[lane] : T(0);
    if (q)
      for (int i = 0; i < m * columns; ++i) q[lane * m * columns + i] = x.q[i][lane];
  }
}

template <class T>
void small_qr(const SmallMatrices& of, int columns, void* q, void* r, bool* done) {
  for_each_group<T>(of, [&](const LaneGroup<T>& group) {
    const size_t i = group.first, m = size_t(of.rows), n = size_t(of.cols), k = size_t(columns);
    qr_group(group, columns, q ? static_cast<T*>(q) + i * m * k : nullptr, static_cast<T*>(r) + i * k * n,
             done + i);
  });
}

template <class T>
constexpr SmallKernels kSmall = {small_eigh<T>, small_svd<T>, small_qr<T>};

}  // namespace

void TN_TARGET::fill_small_matrices(KernelTable& table) {
  table.small[0] = kSmall<float>;
  table.small[1] = kSmall<double>;
}

}  // namespace tn
