// Elements as plain bytes: what moves them needs their size only.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tn {

struct SixteenBytes {
  uint64_t low, high;
};

// Calls f with an unsigned word of that size.
template <class F>
void by_size(size_t itemsize, F&& f) {
  switch (itemsize) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(SixteenBytes{});
  }
}

// Strides in bytes.
template <class T>
void copy_row(char* d, int64_t ds, const char* s, int64_t ss, int64_t n) {
  for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(d + i * ds) = *reinterpret_cast<const T*>(s + i * ss);
}

}  // namespace tn
