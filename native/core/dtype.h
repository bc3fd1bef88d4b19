// The element types of a tensor and what is known about each.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tn {

enum class DType : uint8_t { Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, C64, C128 };
constexpr int kDTypes = 13;

constexpr size_t itemsize(DType t) {
  constexpr uint8_t sizes[kDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 8, 16};
  return sizes[static_cast<int>(t)];
}
constexpr bool is_bool(DType t) { return t == DType::Bool; }
constexpr bool is_signed(DType t) { return t >= DType::I8 && t <= DType::I64; }
constexpr bool is_unsigned(DType t) { return t >= DType::U8 && t <= DType::U64; }
constexpr bool is_integer(DType t) { return t >= DType::I8 && t <= DType::U64; }
constexpr bool is_float(DType t) { return t == DType::F32 || t == DType::F64; }
constexpr bool is_complex(DType t) { return t >= DType::C64; }
constexpr bool is_inexact(DType t) { return t >= DType::F32; }

constexpr DType real_of(DType t) { return t == DType::C64 ? DType::F32 : t == DType::C128 ? DType::F64 : t; }
constexpr DType complex_of(DType t) {
  return t == DType::F32 ? DType::C64 : t == DType::F64 ? DType::C128 : t;
}

constexpr const char* name(DType t) {
  constexpr const char* names[kDTypes] = {"bool",    "int8",      "int16",     "int32",  "int64",
                                          "uint8",   "uint16",    "uint32",    "uint64", "float32",
                                          "float64", "complex64", "complex128"};
  return t <= DType::C128 ? names[static_cast<int>(t)] : "no dtype";
}

// The common type of two operands: the array API's table, extended so that an integer meets a float as in
// NumPy (int32 and wider with float32 give float64).
DType promote(DType a, DType b);

}  // namespace tn
