// BLAS and LAPACK for T in float, double, complex<float>, complex<double>, by the provider selected in this
// thread. Matrices are column-major; dimensions are int64_t whatever the library's integers; pivots are
// int32_t and one-based, as LAPACK gives them. LAPACK routines return info: 0 fine, k > 0 numerical failure
// at k. A dimension too large for the library is refused before the call.
#pragma once
#include "providers/call.h"

namespace tn::providers {

// The letter that asks for the adjoint: plain transpose of a real matrix, conjugate transpose of a complex
// one.
template <class T>
constexpr char kAdjoint = is_complex_v<T> ? 'C' : 'T';

// ---- BLAS
// ----------------------------------------------------------------------------------------------------

// C (m x n) = alpha op(A) op(B) + beta C, op(A) m x k, op(B) k x n; trans in 'N', 'T', 'C'. beta = 0 never
// reads C.
template <class T>
void gemm(char transa, char transb, int64_t m, int64_t n, int64_t k, T alpha, const T* A, int64_t lda,
          const T* B, int64_t ldb, T beta, T* C, int64_t ldc) {
  call<T>(Routine::gemm, {m, n, k}, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

// y = alpha op(A) x + beta y, A m x n.
template <class T>
void gemv(char trans, int64_t m, int64_t n, T alpha, const T* A, int64_t lda, const T* x, int64_t incx,
          T beta, T* y, int64_t incy) {
  call<T>(Routine::gemv, {m, n}, trans, m, n, alpha, A, lda, x, incx, beta, y, incy);
}

// C (n x n, one triangle) = alpha op(A) op(A)^T + beta C; trans 'N': A n x k, 'T': A k x n.
template <class T>
void syrk(char uplo, char trans, int64_t n, int64_t k, T alpha, const T* A, int64_t lda, T beta, T* C,
          int64_t ldc) {
  call<T>(Routine::syrk, {n, k}, uplo, trans, n, k, alpha, A, lda, beta, C, ldc);
}

// C (n x n, one triangle) = alpha op(A) op(A)^H + beta C; trans 'N' or kAdjoint<T>.
template <class T>
void herk(char uplo, char trans, int64_t n, int64_t k, Real<T> alpha, const T* A, int64_t lda, Real<T> beta,
          T* C, int64_t ldc) {
  constexpr Routine routine = is_complex_v<T> ? Routine::herk : Routine::syrk;
  call<T>(routine, {n, k}, uplo, trans, n, k, alpha, A, lda, beta, C, ldc);
}

// C (m x n) = alpha A B + beta C (side 'L') or alpha B A + beta C (side 'R'), A symmetric in triangle uplo.
template <class T>
void symm(char side, char uplo, int64_t m, int64_t n, T alpha, const T* A, int64_t lda, const T* B,
          int64_t ldb, T beta, T* C, int64_t ldc) {
  call<T>(Routine::symm, {m, n}, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
}

// As symm, A Hermitian.
template <class T>
void hemm(char side, char uplo, int64_t m, int64_t n, T alpha, const T* A, int64_t lda, const T* B,
          int64_t ldb, T beta, T* C, int64_t ldc) {
  constexpr Routine routine = is_complex_v<T> ? Routine::hemm : Routine::symm;
  call<T>(routine, {m, n}, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc);
}

// Solves op(A) X = alpha B (side 'L') or X op(A) = alpha B (side 'R') in place of B (m x n).
template <class T>
void trsm(char side, char uplo, char transa, char diag, int64_t m, int64_t n, T alpha, const T* A,
          int64_t lda, T* B, int64_t ldb) {
  call<T>(Routine::trsm, {m, n}, side, uplo, transa, diag, m, n, alpha, A, lda, B, ldb);
}

// B (m x n) = alpha op(A) B (side 'L') or alpha B op(A) (side 'R').
template <class T>
void trmm(char side, char uplo, char transa, char diag, int64_t m, int64_t n, T alpha, const T* A,
          int64_t lda, T* B, int64_t ldb) {
  call<T>(Routine::trmm, {m, n}, side, uplo, transa, diag, m, n, alpha, A, lda, B, ldb);
}

// ---- LU
// ------------------------------------------------------------------------------------------------------

// Swaps row i of A (n columns) with row ipiv[i] for i = k1..k2 (one-based), backwards when step is -1.
template <class T>
void laswp(int64_t n, T* A, int64_t lda, int64_t k1, int64_t k2, const int32_t* ipiv, int64_t step = 1) {
  call<T>(Routine::laswp, {n, k2}, n, A, lda, k1, k2, ConstInts{ipiv, k2}, step);
}

template <class T>
int64_t getrf(int64_t m, int64_t n, T* A, int64_t lda, int32_t* ipiv) {
  return call_info<T>(Routine::getrf, {m, n}, m, n, A, lda, Ints{ipiv, m < n ? m : n});
}

template <class T>
int64_t getrs(char trans, int64_t n, int64_t nrhs, const T* LU, int64_t lda, const int32_t* ipiv, T* B,
              int64_t ldb) {
  return call_info<T>(Routine::getrs, {n, nrhs}, trans, n, nrhs, LU, lda, ConstInts{ipiv, n}, B, ldb);
}

template <class T>
int64_t getri(int64_t n, T* LU, int64_t lda, const int32_t* ipiv, T* work, int64_t lwork) {
  return call_working<T>(Routine::getri, lwork, {n}, n, LU, lda, ConstInts{ipiv, n}, work, lwork);
}

// rcond of a factored matrix whose norm ('1' or 'I') was anorm. Real: work 4n and iwork n; complex: work 2n
// and rwork 2n (gecon and trcon differ: see lapack.h, which hides this).
template <class T>
int64_t gecon(char norm, int64_t n, const T* LU, int64_t lda, Real<T> anorm, Real<T>* rcond, T* work,
              void* rest) {
  if constexpr (is_complex_v<T>)
    return call_info<T>(Routine::gecon, {n}, norm, n, LU, lda, anorm, rcond, work,
                        static_cast<Real<T>*>(rest));
  else
    return call_info<T>(Routine::gecon, {n}, norm, n, LU, lda, anorm, rcond, work, IntWork{rest});
}

// ---- Cholesky
// ------------------------------------------------------------------------------------------------

template <class T>
int64_t potrf(char uplo, int64_t n, T* A, int64_t lda) {
  return call_info<T>(Routine::potrf, {n}, uplo, n, A, lda);
}

template <class T>
int64_t potrs(char uplo, int64_t n, int64_t nrhs, const T* L, int64_t lda, T* B, int64_t ldb) {
  return call_info<T>(Routine::potrs, {n, nrhs}, uplo, n, nrhs, L, lda, B, ldb);
}

template <class T>
int64_t potri(char uplo, int64_t n, T* L, int64_t lda) {
  return call_info<T>(Routine::potri, {n}, uplo, n, L, lda);
}

// Real: work 3n, iwork n; complex: work 2n, rwork n.
template <class T>
int64_t pocon(char uplo, int64_t n, const T* L, int64_t lda, Real<T> anorm, Real<T>* rcond, T* work,
              void* rest) {
  if constexpr (is_complex_v<T>)
    return call_info<T>(Routine::pocon, {n}, uplo, n, L, lda, anorm, rcond, work,
                        static_cast<Real<T>*>(rest));
  else
    return call_info<T>(Routine::pocon, {n}, uplo, n, L, lda, anorm, rcond, work, IntWork{rest});
}

// ---- Triangles
// -----------------------------------------------------------------------------------------------

// Solves op(A) X = B; info k > 0: A[k, k] is zero and B is untouched.
template <class T>
int64_t trtrs(char uplo, char trans, char diag, int64_t n, int64_t nrhs, const T* A, int64_t lda, T* B,
              int64_t ldb) {
  return call_info<T>(Routine::trtrs, {n, nrhs}, uplo, trans, diag, n, nrhs, A, lda, B, ldb);
}

template <class T>
int64_t trtri(char uplo, char diag, int64_t n, T* A, int64_t lda) {
  return call_info<T>(Routine::trtri, {n}, uplo, diag, n, A, lda);
}

// Real: work 3n, iwork n; complex: work 2n, rwork n.
template <class T>
int64_t trcon(char norm, char uplo, char diag, int64_t n, const T* A, int64_t lda, Real<T>* rcond, T* work,
              void* rest) {
  if constexpr (is_complex_v<T>)
    return call_info<T>(Routine::trcon, {n}, norm, uplo, diag, n, A, lda, rcond, work,
                        static_cast<Real<T>*>(rest));
  else
    return call_info<T>(Routine::trcon, {n}, norm, uplo, diag, n, A, lda, rcond, work, IntWork{rest});
}

// ---- QR and LQ
// -----------------------------------------------------------------------------------------------

template <class T>
int64_t geqrf(int64_t m, int64_t n, T* A, int64_t lda, T* tau, T* work, int64_t lwork) {
  return call_working<T>(Routine::geqrf, lwork, {m, n}, m, n, A, lda, tau, work, lwork);
}

template <class T>
int64_t gelqf(int64_t m, int64_t n, T* A, int64_t lda, T* tau, T* work, int64_t lwork) {
  return call_working<T>(Routine::gelqf, lwork, {m, n}, m, n, A, lda, tau, work, lwork);
}

// The first n columns (m x n) of the product of k reflectors from geqrf.
template <class T>
int64_t orgqr(int64_t m, int64_t n, int64_t k, T* A, int64_t lda, const T* tau, T* work, int64_t lwork) {
  return call_working<T>(Routine::orgqr, lwork, {m, n, k}, m, n, k, A, lda, tau, work, lwork);
}

// The first m rows (m x n) of the product of k reflectors from gelqf.
template <class T>
int64_t orglq(int64_t m, int64_t n, int64_t k, T* A, int64_t lda, const T* tau, T* work, int64_t lwork) {
  return call_working<T>(Routine::orglq, lwork, {m, n, k}, m, n, k, A, lda, tau, work, lwork);
}

// C (m x n) = op(Q) C (side 'L') or C op(Q) (side 'R'); trans 'N' or kAdjoint<T>.
template <class T>
int64_t ormqr(char side, char trans, int64_t m, int64_t n, int64_t k, const T* A, int64_t lda, const T* tau,
              T* C, int64_t ldc, T* work, int64_t lwork) {
  return call_working<T>(Routine::ormqr, lwork, {m, n, k}, side, trans, m, n, k, A, lda, tau, C, ldc, work,
                         lwork);
}

template <class T>
int64_t ormlq(char side, char trans, int64_t m, int64_t n, int64_t k, const T* A, int64_t lda, const T* tau,
              T* C, int64_t ldc, T* work, int64_t lwork) {
  return call_working<T>(Routine::ormlq, lwork, {m, n, k}, side, trans, m, n, k, A, lda, tau, C, ldc, work,
                         lwork);
}

// ---- Spectra: prefer the drivers of lapack.h, which hold the workspaces
// ----------------------------------------

// jobz 'N' values only, 'S' thin, 'A' full. A is destroyed. rwork is for complex types only.
template <class T>
int64_t gesdd(char jobz, int64_t m, int64_t n, T* A, int64_t lda, Real<T>* s, T* U, int64_t ldu, T* Vh,
              int64_t ldvh, T* work, int64_t lwork, Real<T>* rwork, void* iwork) {
  if constexpr (is_complex_v<T>)
    return call_working<T>(Routine::gesdd, lwork, {m, n}, jobz, m, n, A, lda, s, U, ldu, Vh, ldvh, work,
                           lwork, rwork, IntWork{iwork});
  else
    return call_working<T>(Routine::gesdd, lwork, {m, n}, jobz, m, n, A, lda, s, U, ldu, Vh, ldvh, work,
                           lwork, IntWork{iwork});
}

// jobz 'N' values only, 'V' vectors in place of A; w ascending.
template <class T>
int64_t syevd(char jobz, char uplo, int64_t n, T* A, int64_t lda, Real<T>* w, T* work, int64_t lwork,
              Real<T>* rwork, int64_t lrwork, void* iwork, int64_t liwork) {
  if constexpr (is_complex_v<T>)
    return call_working<T>(Routine::syevd, lwork, {n}, jobz, uplo, n, A, lda, w, work, lwork, rwork, lrwork,
                           IntWork{iwork}, liwork);
  else
    return call_working<T>(Routine::syevd, lwork, {n}, jobz, uplo, n, A, lda, w, work, lwork, IntWork{iwork},
                           liwork);
}

}  // namespace tn::providers
