// Permuting copies of 1-, 2-, 4-, 8- and 16-byte items, and copies of short runs. Sixteen bytes of each of
// some rows go through the registers: every 16-byte lane of them is transposed on its own, and comes out as a
// piece of a column. What is left over at an edge is moved by vectors that overlap the last whole ones.
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

constexpr int kLane = 16, kLine = 64;
using Sixteen = VectorOf<uint64_t, kLane>::type;

template <class Word>
TN_INLINE Word read(const char* p) {
  Word w;
  __builtin_memcpy(&w, p, sizeof w);
  return w;
}
template <class Word>
TN_INLINE void write(char* p, Word w) {
  __builtin_memcpy(p, &w, sizeof w);
}

// ---- moves of whole and of partial registers ----

template <class V>
TN_INLINE void stream_out(char* p, V v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_stream_si512((__m512i*)p, (__m512i)v);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return _mm256_stream_si256((__m256i*)p, (__m256i)v);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16) return _mm_stream_si128((__m128i*)p, (__m128i)v);
#endif
  store(p, v);
}

// The first n < 8 bytes, by two words that overlap.
TN_INLINE uint64_t read_some(const char* p, size_t n) {
  if (n >= 4) return read<uint32_t>(p) | uint64_t(read<uint32_t>(p + n - 4)) << 8 * (n - 4);
  if (n >= 2) return read<uint16_t>(p) | uint64_t(read<uint16_t>(p + n - 2)) << 8 * (n - 2);
  return n == 1 ? uint64_t(read<uint8_t>(p)) : 0;
}

// The first n < 16 bytes; the other ones are zero.
TN_INLINE Sixteen load_head(const char* p, size_t n) {
  if (n < 8) return Sixteen{read_some(p, n), 0};
  return Sixteen{read<uint64_t>(p), n == 8 ? 0 : read<uint64_t>(p + n - 8) >> 8 * (16 - n)};
}

TN_INLINE void store_head(char* p, Sixteen v, size_t n) {
  uint64_t word = v[0];
  if (n & 8) write(p, word), p += 8, word = v[1];
  if (n & 4) write(p, uint32_t(word)), p += 4, word >>= 32;
  if (n & 2) write(p, uint16_t(word)), p += 2, word >>= 16;
  if (n & 1) write(p, uint8_t(word));
}

// ---- a block: some rows by 16 bytes ----

template <class V, int... k>
TN_INLINE void interleave(V& a, V& b, Lanes<k...>) {
  constexpr int M = sizeof...(k), n = kLane / int(sizeof(Scalar<V>));
  const V low = __builtin_shufflevector(a, b, (k / n * n + k % n / 2 + k % 2 * M)...);
  b = __builtin_shufflevector(a, b, (k / n * n + n / 2 + k % n / 2 + k % 2 * M)...);
  a = low;
}

// Transposes the n x n items in each lane of n registers: log2(n) perfect shuffles.
template <int kRounds, int n, class V>
TN_INLINE void transpose_lanes(V (&rows)[n]) {
  if constexpr (kRounds > 1) {
    V next[n];
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = rows[i];
      next[2 * i + 1] = rows[i + n / 2];
      interleave(next[2 * i], next[2 * i + 1], LanesUpTo<kLanes<V>>{});
    }
    for (int i = 0; i < n; ++i) rows[i] = next[i];
    transpose_lanes<kRounds / 2>(rows);
  }
}

template <int kBytes>
using Words = typename VectorOf<uint64_t, kBytes>::type;

TN_INLINE Words<32> join(Words<16> a, Words<16> b) { return __builtin_shufflevector(a, b, 0, 1, 2, 3); }
TN_INLINE Words<64> join(Words<32> a, Words<32> b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}

// One register of lanes, `apart` rows from one another.
template <int kBytes, class Lane>
TN_INLINE Words<kBytes> gather_lanes(int row, int apart, Lane lane) {
  if constexpr (kBytes == kLane)
    return lane(row);
  else
    return join(gather_lanes<kBytes / 2>(row, apart, lane),
                gather_lanes<kBytes / 2>(row + kBytes / kLane / 2 * apart, apart, lane));
}

// How a block is cut: kVectors registers of kBytes each along a column.
template <class T, int kBytes, int kVectors>
struct Block {
  static constexpr int item = sizeof(T), n = kLane / item, rows = kBytes * kVectors / item;
  typedef T Register __attribute__((vector_size(kBytes)));
  Register column[kVectors][n];

  template <class Lane>
  TN_INLINE void read(Lane lane) {
    for (int v = 0; v < kVectors; ++v) {
      for (int i = 0; i < n; ++i)
        column[v][i] = (Register)gather_lanes<kBytes>(v * kBytes / item + i, n, lane);
      transpose_lanes<n>(column[v]);
    }
  }
  TN_INLINE void write(int j, char* to) const {
    for (int v = 0; v < kVectors; ++v) store(to + v * kBytes, column[v][j]);
  }
};

// Items of 16 bytes are lanes already.
template <int kBytes, int kVectors>
struct Block<Sixteen, kBytes, kVectors> {
  static constexpr int item = kLane, n = 1, rows = kBytes * kVectors / item;
  Words<kBytes> column[kVectors];

  template <class Lane>
  TN_INLINE void read(Lane lane) {
    for (int v = 0; v < kVectors; ++v) column[v] = gather_lanes<kBytes>(v * kBytes / item, 1, lane);
  }
  TN_INLINE void write(int, char* to) const {
    for (int v = 0; v < kVectors; ++v) store(to + v * kBytes, column[v]);
  }
};

// ---- strips: a block of rows, all columns ----

// One tile; offsets of rows and columns in bytes.
struct Plane {
  const char* src;
  char* dst;
  const ptrdiff_t *row, *col;
  size_t rows, cols;
};

// Rows i, i + 1, ...; if kAhead, fetches as many rows of `next_src`, from `next` on, for the strip after it.
template <class T, class B, bool kAhead>
TN_SHARED void strip(const Plane& p, size_t i, const char* next_src, size_t next) {
  constexpr size_t n = B::n, item = B::item;
  const char *row[B::rows], *ahead[kAhead ? B::rows : 1];
  for (int r = 0; r < B::rows; ++r) {
    row[r] = p.src + p.row[i + r];
    if constexpr (kAhead) ahead[r] = next_src + p.row[next + r];
  }
  char* to = p.dst + i * item;
  B block;
  size_t j = 0;
  for (; j + n <= p.cols; j += n) {
    const size_t byte = j * item;
    if (kAhead && byte % kLine == 0)
      for (int r = 0; r < B::rows; ++r) __builtin_prefetch(ahead[r] + byte, 0, 2);
    block.read([&](int r) __attribute__((always_inline)) { return load<Sixteen>(row[r] + byte); });
    for (size_t q = 0; q < n; ++q) block.write(q, to + p.col[j + q]);
  }
  if (j == p.cols) return;
  if (p.cols >= n) {
    const size_t done = j + n - p.cols, byte = (p.cols - n) * item;
    block.read([&](int r) __attribute__((always_inline)) { return load<Sixteen>(row[r] + byte); });
    for (size_t q = 0; q < n; ++q)
      if (q >= done) block.write(q, to + p.col[p.cols - n + q]);
  } else {
    block.read([&](int r) __attribute__((always_inline)) { return load_head(row[r], p.cols * item); });
    for (size_t q = 0; q < n; ++q)
      if (q < p.cols) block.write(q, to + p.col[q]);
  }
}

// Fewer rows than a lane holds: the last one stands for those that are missing.
template <class T>
TN_SHARED void thin_strip(const Plane& p) {
  using B = Block<T, kLane, 1>;
  constexpr size_t n = B::n, item = B::item;
  const char* row[B::rows];
  for (size_t r = 0; r < size_t(B::rows); ++r) row[r] = p.src + p.row[r < p.rows ? r : p.rows - 1];
  B block;
  for (size_t j = 0; j < p.cols; j += n) {
    const size_t count = p.cols - j < n ? p.cols - j : n;
    if (count == n)
      block.read([&](int r) __attribute__((always_inline)) { return load<Sixteen>(row[r] + j * item); });
    else
      block.read([&](int r)
                     __attribute__((always_inline)) { return load_head(row[r] + j * item, count * item); });
    for (size_t q = 0; q < n; ++q)
      if (q < count) {
        Sixteen piece;
        block.write(q, reinterpret_cast<char*>(&piece));
        store_head(p.dst + p.col[j + q], piece, p.rows * item);
      }
  }
}

// The blocks of an item size: a line, a register and a lane of a column. A lane of items of 1 or 2 bytes
// takes 16 or 8 registers already.
template <class T>
using LineBlock = Block<T, sizeof(T) < 4 ? kLane : kVectorBytes, sizeof(T) < 4 ? 1 : kLine / kVectorBytes>;
template <class T>
using RegisterBlock = Block<T, sizeof(T) < 4 ? kLane : kVectorBytes, 1>;
template <class T>
using LaneBlock = Block<T, kLane, 1>;

template <class T>
TN_INLINE void plane(const Plane& p, bool prefetch, const char* next) {
  constexpr size_t line = LineBlock<T>::rows, vector = RegisterBlock<T>::rows, lane = LaneBlock<T>::rows;
  size_t i = 0;
  for (; i + line <= p.rows; i += line) {
    const bool last = i + 2 * line > p.rows;
    if (const char* ahead = last ? next : prefetch ? p.src : nullptr)
      strip<T, LineBlock<T>, true>(p, i, ahead, last ? 0 : i + line);
    else
      strip<T, LineBlock<T>, false>(p, i, nullptr, 0);
  }
  for (; line != vector && i + vector <= p.rows; i += vector)
    strip<T, RegisterBlock<T>, false>(p, i, nullptr, 0);
  if (i == p.rows) return;
  const size_t rest = p.rows - i;
  if (p.rows < lane) return thin_strip<T>(p);
  if (p.rows >= vector && rest > lane)
    return strip<T, RegisterBlock<T>, false>(p, p.rows - vector, nullptr, 0);
  for (; i + lane <= p.rows; i += lane) strip<T, LaneBlock<T>, false>(p, i, nullptr, 0);
  if (i < p.rows) strip<T, LaneBlock<T>, false>(p, p.rows - lane, nullptr, 0);
}

// Fewer bytes than a line.
TN_INLINE void copy_part(char* to, const char* from, size_t n) {
  if (n & 32) store(to, load<Words<32>>(from)), to += 32, from += 32;
  if (n & 16) store(to, load<Words<16>>(from)), to += 16, from += 16;
  store_head(to, load_head(from, n % 16), n % 16);
}

// The whole lines of the destination are written past the caches.
TN_INLINE void stream_run(char* to, const char* from, size_t n) {
  using V = Words<kVectorBytes>;
  const size_t before = -reinterpret_cast<uintptr_t>(to) % kLine, head = before < n ? before : n;
  copy_part(to, from, head);
  size_t k = head;
  for (; k + kLine <= n; k += kLine)
    for (int v = 0; v < kLine; v += kVectorBytes) stream_out(to + k + v, load<V>(from + k + v));
  copy_part(to + k, from + k, n - k);
}

TN_INLINE void space_out(ptrdiff_t* at, ptrdiff_t by, size_t n) {
  for (size_t i = 0; i < n; ++i) at[i] = ptrdiff_t(i) * by;
}

template <class T>
void permute_cached(const PermuteTile& t) {
  Plane p{t.src, t.dst, t.row_at, t.col_at, t.rows, t.cols};
  for (size_t r = 0; r < t.repeat; ++r, p.src += t.src_step, p.dst += t.dst_step)
    plane<T>(p, true, r + 1 < t.repeat ? p.src + t.src_step : nullptr);
}

// Tiles are built in the cache and leave it column by column: memory likes long writes.
template <class T>
void permute_streamed(const PermuteTile& t) {
  alignas(kLine) char stage[kMostPermuted * (kPermutedBytes + kLine)];
  ptrdiff_t stage_at[kMostPermuted];
  const size_t bytes = t.rows * sizeof(T);
  space_out(stage_at, ptrdiff_t((bytes + kLine) / kLine * kLine), t.cols);
  const char* src = t.src;
  char* dst = t.dst;
  for (size_t r = 0; r < t.repeat; ++r, src += t.src_step, dst += t.dst_step) {
    plane<T>({src, stage, t.row_at, stage_at, t.rows, t.cols}, true,
             r + 1 < t.repeat ? src + t.src_step : nullptr);
    for (size_t j = 0; j < t.cols; ++j) stream_run(dst + t.col_at[j], stage + stage_at[j], bytes);
  }
}

template <class T>
void permute_items(const PermuteTile& t) {
  return t.stream ? permute_streamed<T>(t) : permute_cached<T>(t);
}

template <class T>
void transpose_loop(const void* x, ptrdiff_t ldx, void* y, ptrdiff_t ldy, size_t rows, size_t cols) {
  constexpr ptrdiff_t item = sizeof(T);
  constexpr size_t kEdge = 64;
  const char* src = static_cast<const char*>(x);
  char* dst = static_cast<char*>(y);
  ptrdiff_t row_at[kEdge], col_at[kEdge];
  space_out(row_at, ldx * item, rows < kEdge ? rows : kEdge);
  space_out(col_at, ldy * item, cols < kEdge ? cols : kEdge);
  for (size_t j = 0; j < cols; j += kEdge)
    for (size_t i = 0; i < rows; i += kEdge) {
      const size_t r = rows - i < kEdge ? rows - i : kEdge, c = cols - j < kEdge ? cols - j : kEdge;
      const char* from = src + (ptrdiff_t(i) * ldx + ptrdiff_t(j)) * item;
      plane<T>({from, dst + (ptrdiff_t(j) * ldy + ptrdiff_t(i)) * item, row_at, col_at, r, c}, false,
               nullptr);
    }
}

// ---- items that are not contiguous, and runs ----

template <class Move>
TN_INLINE void each_item(const PermuteTile& t, Move move) {
  const char* src = t.src;
  char* dst = t.dst;
  for (size_t r = 0; r < t.repeat; ++r, src += t.src_step, dst += t.dst_step)
    for (size_t j = 0; j < t.cols; ++j) {
      const char* from = src + ptrdiff_t(j) * t.src_item;
      char* to = dst + t.col_at[j];
      for (size_t i = 0; i < t.rows; ++i, to += t.dst_item) move(to, from + t.row_at[i]);
    }
}

template <class T>
void permute_strided(const PermuteTile& t) {
  each_item(t, [](char* to, const char* from) __attribute__((always_inline)) { write(to, read<T>(from)); });
}

// kBytes <= n < 2 * kBytes
template <int kBytes>
void two_words(const PermuteTile& t) {
  using V = Words<kBytes>;
  each_item(t, [last = t.item - kBytes](char* to, const char* from) __attribute__((always_inline)) {
    const V head = load<V>(from), tail = load<V>(from + last);
    store(to, head);
    store(to + last, tail);
  });
}

void short_runs(const PermuteTile& t) {
  each_item(t, [n = t.item](char* to, const char* from) __attribute__((always_inline)) {
    if (n >= 8)
      write(to, read<uint64_t>(from)), write(to + n - 8, read<uint64_t>(from + n - 8));
    else
      store_head(to, load_head(from, n), n);
  });
}

void long_runs(const PermuteTile& t) {
  using V = Words<kVectorBytes>;
  each_item(t, [last = t.item - kVectorBytes](char* to, const char* from) __attribute__((always_inline)) {
    for (size_t k = 0; k < last; k += kVectorBytes) store(to + k, load<V>(from + k));
    store(to + last, load<V>(from + last));
  });
}

void streamed_runs(const PermuteTile& t) {
  each_item(t, [n = t.item](char* to, const char* from) { stream_run(to, from, n); });
}

void permute_runs(const PermuteTile& t) {
  if (t.stream) return streamed_runs(t);
  if (t.item >= size_t(kVectorBytes)) return long_runs(t);
  if (t.item >= 32) return two_words<32>(t);
  return t.item >= 16 ? two_words<16>(t) : short_runs(t);
}

template <class T>
void fill_size(KernelTable& table) {
  constexpr int k = size_index(sizeof(T));
  if constexpr (sizeof(T) < 4) table.transpose2d[k] = transpose_loop<T>;  // else in move.cpp
  table.permute[k] = permute_items<T>;
  table.permute_strided[k] = permute_strided<T>;
}

}  // namespace

void TN_TARGET::fill_permutations(KernelTable& table) {
  fill_size<uint8_t>(table);
  fill_size<uint16_t>(table);
  fill_size<uint32_t>(table);
  fill_size<uint64_t>(table);
  fill_size<Sixteen>(table);
  table.permute_runs = permute_runs;
}

}  // namespace tn
