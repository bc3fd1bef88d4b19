// The BLAS and LAPACK routines taenite calls: the only list. A row is the base name, which is also the key of
// tn.observe(), then the names behind the type letters s, d and c, z.
#pragma once
#include <complex>
#include <cstdint>

#include "core/observe.h"

namespace tn::providers {

#define TN_ROUTINES(ROW)                                                    \
  ROW(gemm, "gemm", "gemm")    /* C = alpha op(A) op(B) + beta C */         \
  ROW(gemv, "gemv", "gemv")    /* y = alpha op(A) x + beta y */             \
  ROW(syrk, "syrk", "syrk")    /* C = alpha A A^T + beta C, one triangle */ \
  ROW(herk, "syrk", "herk")    /* C = alpha A A^H + beta C, one triangle */ \
  ROW(symm, "symm", "symm")    /* C = alpha A B + beta C, A symmetric */    \
  ROW(hemm, "symm", "hemm")    /* C = alpha A B + beta C, A Hermitian */    \
  ROW(trsm, "trsm", "trsm")    /* op(A) X = alpha B, A triangular */        \
  ROW(trmm, "trmm", "trmm")    /* B = alpha op(A) B, A triangular */        \
  ROW(laswp, "laswp", "laswp") /* interchange rows */                       \
  ROW(getrf, "getrf", "getrf") /* P A = L U */                              \
  ROW(getrs, "getrs", "getrs") /* solve from getrf */                       \
  ROW(getri, "getri", "getri") /* inverse from getrf */                     \
  ROW(gecon, "gecon", "gecon") /* reciprocal condition from getrf */        \
  ROW(potrf, "potrf", "potrf") /* A = L L^H */                              \
  ROW(potrs, "potrs", "potrs") /* solve from potrf */                       \
  ROW(potri, "potri", "potri") /* inverse from potrf */                     \
  ROW(pocon, "pocon", "pocon") /* reciprocal condition from potrf */        \
  ROW(trtrs, "trtrs", "trtrs") /* triangular solve, singularity reported */ \
  ROW(trtri, "trtri", "trtri") /* triangular inverse */                     \
  ROW(trcon, "trcon", "trcon") /* reciprocal condition of a triangle */     \
  ROW(geqrf, "geqrf", "geqrf") /* A = Q R */                                \
  ROW(gelqf, "gelqf", "gelqf") /* A = L Q */                                \
  ROW(orgqr, "orgqr", "ungqr") /* Q of geqrf as a matrix */                 \
  ROW(orglq, "orglq", "unglq") /* Q of gelqf as a matrix */                 \
  ROW(ormqr, "ormqr", "unmqr") /* Q of geqrf times a matrix */              \
  ROW(ormlq, "ormlq", "unmlq") /* Q of gelqf times a matrix */              \
  ROW(gesdd, "gesdd", "gesdd") /* A = U diag(s) V^H, divide and conquer */  \
  ROW(syevd, "syevd", "heevd") /* A = V diag(w) V^H, divide and conquer */  \
  ROW(geev, "geev", "geev")    /* eigenvalues and right eigenvectors */

enum class Routine : uint8_t {
#define TN_ROW(base, real_name, complex_name) base,
  TN_ROUTINES(TN_ROW)
#undef TN_ROW
};

struct RoutineNames {
  const char* base;
  const char* real_name;
  const char* complex_name;
};
constexpr RoutineNames kRoutineNames[] = {
#define TN_ROW(base, real_name, complex_name) {#base, real_name, complex_name},
    TN_ROUTINES(TN_ROW)
#undef TN_ROW
};
constexpr int kRoutines = sizeof(kRoutineNames) / sizeof(RoutineNames);
static_assert(kRoutines <= observe::kRoutineSlots);

constexpr int index(Routine r) { return static_cast<int>(r); }
constexpr const char* base_name(Routine r) { return kRoutineNames[index(r)].base; }

// The four element types, in the order of their letters.
constexpr int kTypes = 4;
constexpr char kTypeLetters[kTypes + 1] = "sdcz";

template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  static constexpr int index = 0;
  using Real = float;
};
template <>
struct TypeOf<double> {
  static constexpr int index = 1;
  using Real = double;
};
template <>
struct TypeOf<std::complex<float>> {
  static constexpr int index = 2;
  using Real = float;
};
template <>
struct TypeOf<std::complex<double>> {
  static constexpr int index = 3;
  using Real = double;
};
template <class T>
using Real = typename TypeOf<T>::Real;
template <class T>
constexpr bool is_complex_v = TypeOf<T>::index >= 2;

}  // namespace tn::providers
