// From a dtype to a C++ type: visit(dtype, [&]<class T>(Type<T>) { ... }).
#pragma once
#include <complex>
#include <utility>

#include "core/dtype.h"
#include "core/error.h"

namespace tn {

template <class T>
struct Type {};

using c64 = std::complex<float>;
using c128 = std::complex<double>;

template <class F>
decltype(auto) visit(DType t, F&& f) {
  switch (t) {
    case DType::Bool:
      return f(Type<bool>{});
    case DType::I8:
      return f(Type<int8_t>{});
    case DType::I16:
      return f(Type<int16_t>{});
    case DType::I32:
      return f(Type<int32_t>{});
    case DType::I64:
      return f(Type<int64_t>{});
    case DType::U8:
      return f(Type<uint8_t>{});
    case DType::U16:
      return f(Type<uint16_t>{});
    case DType::U32:
      return f(Type<uint32_t>{});
    case DType::U64:
      return f(Type<uint64_t>{});
    case DType::F32:
      return f(Type<float>{});
    case DType::F64:
      return f(Type<double>{});
    case DType::C64:
      return f(Type<c64>{});
    case DType::C128:
      return f(Type<c128>{});
  }
  __builtin_unreachable();
}

// Over the four types of linear algebra; anything else is a caller's mistake.
template <class F>
decltype(auto) visit_inexact(DType t, F&& f) {
  switch (t) {
    case DType::F32:
      return f(Type<float>{});
    case DType::F64:
      return f(Type<double>{});
    case DType::C64:
      return f(Type<c64>{});
    case DType::C128:
      return f(Type<c128>{});
    default:
      fail(ErrorKind::Type, "a floating-point dtype is needed, got ", name(t), ".");
  }
}

template <class T>
constexpr DType dtype_of();
template <>
constexpr DType dtype_of<bool>() {
  return DType::Bool;
}
template <>
constexpr DType dtype_of<int8_t>() {
  return DType::I8;
}
template <>
constexpr DType dtype_of<int16_t>() {
  return DType::I16;
}
template <>
constexpr DType dtype_of<int32_t>() {
  return DType::I32;
}
template <>
constexpr DType dtype_of<int64_t>() {
  return DType::I64;
}
template <>
constexpr DType dtype_of<uint8_t>() {
  return DType::U8;
}
template <>
constexpr DType dtype_of<uint16_t>() {
  return DType::U16;
}
template <>
constexpr DType dtype_of<uint32_t>() {
  return DType::U32;
}
template <>
constexpr DType dtype_of<uint64_t>() {
  return DType::U64;
}
template <>
constexpr DType dtype_of<float>() {
  return DType::F32;
}
template <>
constexpr DType dtype_of<double>() {
  return DType::F64;
}
template <>
constexpr DType dtype_of<c64>() {
  return DType::C64;
}
template <>
constexpr DType dtype_of<c128>() {
  return DType::C128;
}

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using real_t = typename RealOf<T>::type;
template <class T>
constexpr bool is_complex_v = !std::is_same_v<T, real_t<T>>;

}  // namespace tn
