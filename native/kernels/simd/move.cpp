// Kernels that move elements: casts, where, strided tiles, fills and the transposing copy.
#include "native/kernels/simd/transpose.h"
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// ---- cast ----

// Floats out of the range of int64 give its smallest value, as the x86 conversion does; narrower integers are
// the low bits of that.
template <class T>
TN_INLINE int64_t to_int64(T x) {
  const bool inside = x >= T(-0x1p63) && x < T(0x1p63);
  return inside ? int64_t(x) : INT64_MIN;
}

template <class T>
TN_INLINE uint64_t to_uint64(T x) {
  return x >= T(0x1p63) ? uint64_t(to_int64(x - T(0x1p63))) + (uint64_t(1) << 63) : uint64_t(to_int64(x));
}

template <class T>
TN_INLINE int32_t to_int32(T x) {
  const bool inside = x >= T(-0x1p31) && x < T(0x1p31);
  return inside ? int32_t(x) : INT32_MIN;
}

template <DType from, DType to>
TN_INLINE Element<to> convert(Element<from> x) {
  using To = Element<to>;
  if constexpr (to == DType::Bool && is_complex(from))
    return (x.re != 0) | (x.im != 0);
  else if constexpr (to == DType::Bool)
    return x != 0;
  else if constexpr (is_complex(from) && is_complex(to))
    return {decltype(To::re)(x.re), decltype(To::im)(x.im)};
  else if constexpr (is_complex(from))
    return convert<real_of(from), to>(x.re);
  else if constexpr (is_complex(to))
    return {decltype(To::re)(x), 0};
  else if constexpr (!is_float(from) || is_float(to))
    return To(x);
  else if constexpr (to == DType::U64)
    return to_uint64(x);
  else if constexpr (to == DType::I64 || to == DType::U32)
    return To(to_int64(x));
  else
    return To(to_int32(x));
}

template <DType from, DType to>
void cast_loop(const void* x, void* y, size_t n) {
  const Element<from>* in = static_cast<const Element<from>*>(x);
  Element<to>* out = static_cast<Element<to>*>(y);
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) out[i] = convert<from, to>(in[i]);
}

using AllDTypes = DTypes<DType::Bool, DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16,
                         DType::U32, DType::U64, DType::F32, DType::F64, DType::C64, DType::C128>;

void fill_casts(KernelTable& table) {
  for_each_dtype(AllDTypes{}, [&]<DType from>() {
    for_each_dtype(AllDTypes{}, [&]<DType to>() { table.cast[int(from)][int(to)] = cast_loop<from, to>; });
  });
}

// ---- elements as bytes ----

// Sixteen bytes with the alignment of eight, the least that a complex128 has.
typedef uint64_t Pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t Word64 __attribute__((may_alias));
typedef uint32_t Word32 __attribute__((may_alias));
typedef uint16_t Word16 __attribute__((may_alias));

template <class T>
TN_INLINE T choose(uint8_t condition, T a, T b) {
  return condition ? a : b;
}
TN_INLINE Pair choose(uint8_t condition, Pair a, Pair b) {
  const Pair mask = Pair{} - uint64_t(condition);
  return (a & mask) | (b & ~mask);
}

template <class T, bool kScalarA, bool kScalarB>
void where_loop(const void* condition, const void* pa, const void* pb, void* y, size_t n) {
  if (n == 0) return;
  const uint8_t* c = static_cast<const uint8_t*>(condition);
  const T* a = static_cast<const T*>(pa);
  const T* b = static_cast<const T*>(pb);
  T* out = static_cast<T*>(y);
  const T a0 = a[0], b0 = b[0];
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) {
    const T left = kScalarA ? a0 : a[i], right = kScalarB ? b0 : b[i];
    out[i] = choose(c[i], left, right);
  }
}

template <class T>
TN_INLINE const T* at_bytes(const void* p, ptrdiff_t bytes) {
  return reinterpret_cast<const T*>(static_cast<const char*>(p) + bytes);
}
template <class T>
TN_INLINE T* at_bytes(void* p, ptrdiff_t bytes) {
  return reinterpret_cast<T*>(static_cast<char*>(p) + bytes);
}

template <class T>
void fill_loop(const void* value, void* y, size_t n) {
  T* out = static_cast<T*>(y);
  const T v = *static_cast<const T*>(value);
  for (size_t i = 0; i < n; ++i) out[i] = v;
}

template <class T>
void load_strided_loop(const void* x, ptrdiff_t stride, void* y, size_t n) {
  if (stride == ptrdiff_t(sizeof(T))) {
    __builtin_memmove(y, x, n * sizeof(T));
    return;
  }
  if (stride == 0 && n > 0) return fill_loop<T>(x, y, n);
  T* out = static_cast<T*>(y);
  TN_INDEPENDENT
  for (size_t i = 0; i < n; ++i) out[i] = *at_bytes<T>(x, ptrdiff_t(i) * stride);
}

template <class T>
void store_strided_loop(const void* x, void* y, ptrdiff_t stride, size_t n) {
  if (stride == ptrdiff_t(sizeof(T))) {
    __builtin_memmove(y, x, n * sizeof(T));
    return;
  }
  const T* in = static_cast<const T*>(x);
  for (size_t i = 0; i < n; ++i) *at_bytes<T>(y, ptrdiff_t(i) * stride) = in[i];
}

// ---- transpose: squares of registers, which stay faster than pieces of rows while everything is in L1 ----

template <class T>
constexpr int kTile = kVectorBytes / int(sizeof(T));

template <class T>
TN_INLINE void transpose_tile(const T* x, ptrdiff_t ldx, T* y, ptrdiff_t ldy) {
  constexpr int N = kTile<T>;
  using V = Vector<T>;
  V rows[N];
  for (int i = 0; i < N; ++i) rows[i] = load<V>(x + i * ldx);
  transpose_square(rows);
  for (int j = 0; j < N; ++j) store(y + j * ldy, rows[j]);
}

template <class T>
TN_INLINE void transpose_scalar(const T* x, ptrdiff_t ldx, T* y, ptrdiff_t ldy, size_t rows, size_t cols) {
  for (size_t j = 0; j < cols; ++j)
    for (size_t i = 0; i < rows; ++i)
      y[ptrdiff_t(j) * ldy + ptrdiff_t(i)] = x[ptrdiff_t(i) * ldx + ptrdiff_t(j)];
}

// One block of rows x cols elements, small enough that its lines stay in L1.
template <class T>
void transpose_block(const T* x, ptrdiff_t ldx, T* y, ptrdiff_t ldy, size_t rows, size_t cols) {
  if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
    constexpr size_t N = kTile<T>;
    const size_t whole_rows = rows - rows % N, whole_cols = cols - cols % N;
    for (size_t j = 0; j < whole_cols; j += N)
      for (size_t i = 0; i < whole_rows; i += N)
        transpose_tile(x + ptrdiff_t(i) * ldx + j, ldx, y + ptrdiff_t(j) * ldy + i, ldy);
    transpose_scalar(x + whole_cols, ldx, y + ptrdiff_t(whole_cols) * ldy, ldy, whole_rows,
                     cols - whole_cols);
    transpose_scalar(x + ptrdiff_t(whole_rows) * ldx, ldx, y + whole_rows, ldy, rows - whole_rows, cols);
  } else {
    transpose_scalar(x, ldx, y, ldy, rows, cols);
  }
}

template <class T>
void transpose_loop(const void* px, ptrdiff_t ldx, void* py, ptrdiff_t ldy, size_t rows, size_t cols) {
  constexpr size_t kBlock = 256 / sizeof(T) < 16 ? 16 : 256 / sizeof(T);
  const T* x = static_cast<const T*>(px);
  T* y = static_cast<T*>(py);
  for (size_t i = 0; i < rows; i += kBlock)
    for (size_t j = 0; j < cols; j += kBlock) {
      const size_t r = rows - i < kBlock ? rows - i : kBlock, c = cols - j < kBlock ? cols - j : kBlock;
      transpose_block(x + ptrdiff_t(i) * ldx + j, ldx, y + ptrdiff_t(j) * ldy + i, ldy, r, c);
    }
}

template <class T>
void fill_size(KernelTable& table) {
  constexpr int k = size_index(sizeof(T));
  table.where[k] = {where_loop<T, false, false>, where_loop<T, false, true>, where_loop<T, true, false>,
                    where_loop<T, true, true>};
  table.load_strided[k] = load_strided_loop<T>;
  table.store_strided[k] = store_strided_loop<T>;
  table.fill[k] = fill_loop<T>;
  if constexpr (sizeof(T) >= 4) table.transpose2d[k] = transpose_loop<T>;  // else in permute.cpp
}

}  // namespace

void TN_TARGET::fill_moves(KernelTable& table) {
  fill_casts(table);
  fill_size<uint8_t>(table);
  fill_size<Word16>(table);
  fill_size<Word32>(table);
  fill_size<Word64>(table);
  fill_size<Pair>(table);
}

}  // namespace tn
