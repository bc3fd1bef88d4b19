// Packing: elements at any strides or offsets, moved side by side. Runs of neighbours are copied by vectors;
// runs the other way are transposed in registers.
#pragma once

#include "native/kernels/simd/transpose.h"
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

template <int kBytes>
struct WordOf;
template <>
struct WordOf<4> {
  typedef float T;
};
template <>
struct WordOf<8> {
  typedef double T;
};
template <>
struct WordOf<16> {
  typedef double T;
};

TN_INLINE int64_t at(const Offsets& of, int64_t i) { return of.list ? of.list[i] : i * of.step; }

// The length of the run of neighbours that begins at i.
TN_INLINE int64_t run(const Offsets& of, int64_t i, int64_t n) {
  if (!of.list) return of.step == 1 ? n - i : 1;
  int64_t j = i + 1;
  while (j < n && of.list[j] == of.list[i] + (j - i)) ++j;
  return j - i;
}

// Elements at x + rows + columns.
template <class T>
struct Source {
  const T* x;
  Offsets rows, columns;
};

template <class T>
TN_INLINE void pack_elements(const Source<T>& from, int64_t i0, int64_t i1, int64_t j0, int64_t j1, T* y,
                             int64_t ldy) {
  for (int64_t j = j0; j < j1; ++j) {
    const T* x = from.x + at(from.columns, j);
    for (int64_t i = i0; i < i1; ++i) y[j * ldy + i] = x[at(from.rows, i)];
  }
}

// As many vectors as fit, and one that overlaps them.
template <class T>
TN_INLINE void copy_run(const T* x, T* y, int64_t n) {
  constexpr int64_t lanes = kVectorBytes / sizeof(T);
  using V = Vector<uint64_t>;
  if (n < lanes) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i];
    return;
  }
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) store(y + i, load<V>(x + i));
  if (i < n) store(y + n - lanes, load<V>(x + n - lanes));
}

// Elements are neighbours along i in runs.
template <class T>
TN_INLINE void pack_rows(const Source<T>& from, int64_t m, int64_t n, T* y, int64_t ldy) {
  for (int64_t i = 0; i < m;) {
    const int64_t length = run(from.rows, i, m);
    const T* x = from.x + at(from.rows, i);
    for (int64_t j = 0; j < n; ++j) copy_run(x + at(from.columns, j), y + j * ldy + i, length);
    i += length;
  }
}

template <class T>
constexpr int64_t kSquare = sizeof(T) == 16 ? 1 : kVectorBytes / int64_t(sizeof(T));

template <class T>
TN_INLINE void pack_square(const Source<T>& from, int64_t i, int64_t j, T* y, int64_t ldy) {
  constexpr int N = kSquare<T>;
  using V = Vector<typename WordOf<sizeof(T)>::T>;
  const T* x = from.x + at(from.columns, j);
  V rows[N];
  for (int r = 0; r < N; ++r) rows[r] = load<V>(x + at(from.rows, i + r));
  transpose_square(rows);
  for (int r = 0; r < N; ++r) store(y + (j + r) * ldy + i, rows[r]);
}

// Elements are neighbours along j in runs.
template <class T>
TN_INLINE void pack_columns(const Source<T>& from, int64_t m, int64_t n, T* y, int64_t ldy) {
  constexpr int64_t N = kSquare<T>;
  const int64_t whole = m - m % N;
  for (int64_t j = 0; j < n;) {
    const int64_t length = run(from.columns, j, n), first = j, end = j + length;
    for (; j + N <= end; j += N)
      for (int64_t i = 0; i < whole; i += N) pack_square(from, i, j, y, ldy);
    pack_elements(from, whole, m, first, j, y, ldy);
    pack_elements(from, 0, m, j, end, y, ldy);
    j = end;
  }
}

// y[j * ldy + i] = x at row i < m and column j < n.
template <class T>
TN_SHARED void pack(const Source<T>& from, int64_t m, int64_t n, T* y, int64_t ldy) {
  constexpr int64_t N = kSquare<T>;
  const int64_t along_rows = run(from.rows, 0, m);
  if (along_rows == m || along_rows >= N) return pack_rows(from, m, n, y, ldy);
  if constexpr (N > 1)
    if (m >= N && run(from.columns, 0, n) >= N) return pack_columns(from, m, n, y, ldy);
  pack_elements(from, 0, m, 0, n, y, ldy);
}

}  // namespace
}  // namespace tn
