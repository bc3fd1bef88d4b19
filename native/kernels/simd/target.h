// What every per-target source sees first. These sources are compiled once per SIMD target with that target's
// flags; all they define is in an anonymous namespace, except one `fill_*` function each, so that the linker
// can never pick AVX code for a program that runs on an older CPU.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "native/kernels/table.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// The namespace of the exported function; the build defines TN_TARGET.
#ifndef TN_TARGET
#error "compile with -DTN_TARGET=generic, avx2 or avx512"
#endif

#if defined(__clang__)
#define TN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define TN_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Before a loop over registers, which must not become memory.
#define TN_UNROLL _Pragma("GCC unroll 32")

#define TN_INLINE inline __attribute__((always_inline))
#define TN_LAMBDA_INLINE __attribute__((always_inline))
#define TN_SHARED __attribute__((noinline))
#define TN_COLD __attribute__((noinline, cold))

namespace tn::TN_TARGET {
void fill_arithmetic(KernelTable& table);
void fill_moves(KernelTable& table);
void fill_permutations(KernelTable& table);
void fill_reductions(KernelTable& table);
void fill_real_math(KernelTable& table);
void fill_chains(KernelTable& table);
void fill_peak(KernelTable& table);
void fill_complex_math(KernelTable& table);
void fill_small_matrices(KernelTable& table);
void fill_exact_matmul(KernelTable& table);
void fill_gemm(KernelTable& table);
void fill_gemv(KernelTable& table);
void fill_small_lu(KernelTable& table);
}  // namespace tn::TN_TARGET

namespace tn {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

#if defined(__FMA__)
constexpr bool kHasFma = true;
#else
constexpr bool kHasFma = false;
#endif

template <class R>
struct Complex {
  R re, im;
};

// The C++ element type of a dtype; bool is stored as 0 or 1 in a byte.
template <DType t>
struct ElementOf;
#define TN_ELEMENT(t, type)    \
  template <>                  \
  struct ElementOf<DType::t> { \
    using T = type;            \
  };
TN_ELEMENT(Bool, uint8_t)
TN_ELEMENT(I8, int8_t)
TN_ELEMENT(I16, int16_t)
TN_ELEMENT(I32, int32_t)
TN_ELEMENT(I64, int64_t)
TN_ELEMENT(U8, uint8_t)
TN_ELEMENT(U16, uint16_t)
TN_ELEMENT(U32, uint32_t)
TN_ELEMENT(U64, uint64_t)
TN_ELEMENT(F32, float)
TN_ELEMENT(F64, double)
TN_ELEMENT(C64, Complex<float>)
TN_ELEMENT(C128, Complex<double>)
#undef TN_ELEMENT
template <DType t>
using Element = typename ElementOf<t>::T;

template <DType... ts>
struct DTypes {};
using SignedIntegers = DTypes<DType::I8, DType::I16, DType::I32, DType::I64>;
using Integers =
    DTypes<DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64>;
using Floats = DTypes<DType::F32, DType::F64>;
using Complexes = DTypes<DType::C64, DType::C128>;

// Calls f.template operator()<t>() for every dtype of a list.
template <class F, DType... ts>
void for_each_dtype(DTypes<ts...>, F f) {
  (f.template operator()<ts>(), ...);
}

}  // namespace
}  // namespace tn
