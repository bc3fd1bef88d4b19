// Drivers over LAPACK on column-major pointers, for kernels that loop over a batch. A driver with workspace
// is an object: built once for a shape (workspace queried once per shape and process, scratch held), called
// once per matrix. All return LAPACK's info and throw nothing for numerical failure; matrices must be finite
// (gesdd, syevd and geev may hang or fail on NaN and Inf); leading dimensions must be at least 1 even for
// empty matrices.
#pragma once
#include <cstring>

#include "providers/routines.h"
#include "providers/scratch.h"

namespace tn::lapack {

using providers::answered;
using providers::IntWork;
using providers::is_complex_v;
using providers::kAdjoint;
using providers::query_info;
using providers::QueryKey;
using providers::Real;
using providers::Routine;
using providers::Sizes;
using providers::TypeOf;
using providers::Workspace;

template <class T>
QueryKey query_key(Routine routine, char job, int64_t m, int64_t n, int64_t k) {
  return {providers::entry(routine, TypeOf<T>::index).function, job, m, n, k};
}

// ---- LU
// ------------------------------------------------------------------------------------------------------

// P A = L U in place, A m x n, min(m, n) pivots. info k > 0: U[k, k] is exactly zero.
template <class T>
int64_t lu(int64_t m, int64_t n, T* A, int64_t lda, int32_t* ipiv) {
  return providers::getrf(m, n, A, lda, ipiv);
}

// Solves op(A) X = B in place of B; trans in 'N', 'T', 'C'.
template <class T>
int64_t lu_solve(char trans, int64_t n, int64_t nrhs, const T* LU, int64_t lda, const int32_t* ipiv, T* B,
                 int64_t ldb) {
  return providers::getrs(trans, n, nrhs, LU, lda, ipiv, B, ldb);
}

// inverse(A) in place of its LU.
template <class T>
class LuInverse {
 public:
  explicit LuInverse(int64_t n) : n_(n), space_(sizes(n)) {}
  int64_t operator()(T* LU, int64_t lda, const int32_t* ipiv) const {
    return providers::getri(n_, LU, lda, ipiv, space_.work(), space_.sizes().work);
  }

 private:
  static Sizes sizes(int64_t n) {
    return providers::sizes_for(query_key<T>(Routine::getri, 'N', n, n, 0), [n] {
      T work{};
      int32_t pivot = 1;
      query_info<T>(Routine::getri, n, static_cast<T*>(nullptr), std::max<int64_t>(1, n), IntWork{&pivot},
                    &work, int64_t{-1});
      return Sizes{.work = answered(work)};
    });
  }
  int64_t n_;
  Workspace<T> space_;
};

// ---- Cholesky
// ------------------------------------------------------------------------------------------------

// A = L L^H (uplo 'L') or U^H U (uplo 'U') in place of that triangle. info k > 0: leading minor k is not
// positive.
template <class T>
int64_t cholesky(char uplo, int64_t n, T* A, int64_t lda) {
  return providers::potrf(uplo, n, A, lda);
}

template <class T>
int64_t cholesky_solve(char uplo, int64_t n, int64_t nrhs, const T* L, int64_t lda, T* B, int64_t ldb) {
  return providers::potrs(uplo, n, nrhs, L, lda, B, ldb);
}

// One triangle of inverse(A) in place of the factor.
template <class T>
int64_t cholesky_inverse(char uplo, int64_t n, T* L, int64_t lda) {
  return providers::potri(uplo, n, L, lda);
}

// ---- Reciprocal condition in the 1-norm, of_lu's in the norm given, '1' or 'I'
// ------------------------------------------------------------------------

// Estimates rcond from a factored matrix.
template <class T>
class Rcond {
 public:
  explicit Rcond(int64_t n) : n_(n), space_(Sizes{.work = 4 * n, .rwork = 2 * n, .iwork = n}) {}
  int64_t of_lu(char norm, const T* LU, int64_t lda, Real<T> anorm, Real<T>* rcond) const {
    return providers::gecon(norm, n_, LU, lda, anorm, rcond, space_.work(), rest());
  }
  int64_t of_cholesky(char uplo, const T* L, int64_t lda, Real<T> anorm, Real<T>* rcond) const {
    return providers::pocon(uplo, n_, L, lda, anorm, rcond, space_.work(), rest());
  }
  int64_t of_triangle(char uplo, char diag, const T* A, int64_t lda, Real<T>* rcond) const {
    return providers::trcon('1', uplo, diag, n_, A, lda, rcond, space_.work(), rest());
  }

 private:
  void* rest() const { return is_complex_v<T> ? static_cast<void*>(space_.rwork()) : space_.iwork(); }
  int64_t n_;
  Workspace<T> space_;
};

// ---- QR and LQ
// -----------------------------------------------------------------------------------------------

// A (m x n) = Q R in place (geqrf: R above the diagonal, min(m, n) reflectors below it and in tau), or L Q
// (gelqf: L below, reflectors above).
template <class T, Routine routine>
class OrthogonalFactor {
 public:
  OrthogonalFactor(int64_t m, int64_t n) : m_(m), n_(n), space_(sizes(m, n)) {}
  int64_t operator()(T* A, int64_t lda, T* tau) const {
    return providers::call_working<T>(routine, space_.sizes().work, {m_, n_}, m_, n_, A, lda, tau,
                                      space_.work(), space_.sizes().work);
  }

 private:
  static Sizes sizes(int64_t m, int64_t n) {
    return providers::sizes_for(query_key<T>(routine, 'N', m, n, 0), [m, n] {
      T work{}, unread{};
      query_info<T>(routine, m, n, &unread, std::max<int64_t>(1, m), &unread, &work, int64_t{-1});
      return Sizes{.work = answered(work)};
    });
  }
  int64_t m_, n_;
  Workspace<T> space_;
};
template <class T>
using QrFactor = OrthogonalFactor<T, Routine::geqrf>;
template <class T>
using LqFactor = OrthogonalFactor<T, Routine::gelqf>;

// Q (m x n) in place of k reflectors: the first n <= m columns (orgqr), or the first m <= n rows (orglq).
template <class T, Routine routine>
class OrthogonalForm {
 public:
  OrthogonalForm(int64_t m, int64_t n, int64_t k) : m_(m), n_(n), k_(k), space_(sizes(m, n, k)) {}
  int64_t operator()(T* A, int64_t lda, const T* tau) const {
    return providers::call_working<T>(routine, space_.sizes().work, {m_, n_, k_}, m_, n_, k_, A, lda, tau,
                                      space_.work(), space_.sizes().work);
  }

 private:
  static Sizes sizes(int64_t m, int64_t n, int64_t k) {
    return providers::sizes_for(query_key<T>(routine, 'N', m, n, k), [m, n, k] {
      T work{}, unread{};
      query_info<T>(routine, m, n, k, &unread, std::max<int64_t>(1, m), &unread, &work, int64_t{-1});
      return Sizes{.work = answered(work)};
    });
  }
  int64_t m_, n_, k_;
  Workspace<T> space_;
};
template <class T>
using QrForm = OrthogonalForm<T, Routine::orgqr>;
template <class T>
using LqForm = OrthogonalForm<T, Routine::orglq>;

// C (m x n) = op(Q) C (side 'L') or C op(Q) (side 'R'), Q of k reflectors; trans 'N' or kAdjoint<T>.
template <class T, Routine routine>
class OrthogonalApply {
 public:
  OrthogonalApply(char side, char trans, int64_t m, int64_t n, int64_t k)
      : side_(side), trans_(trans), m_(m), n_(n), k_(k), space_(sizes(side, trans, m, n, k)) {}
  int64_t operator()(const T* A, int64_t lda, const T* tau, T* C, int64_t ldc) const {
    return providers::call_working<T>(routine, space_.sizes().work, {m_, n_, k_}, side_, trans_, m_, n_, k_,
                                      A, lda, tau, C, ldc, space_.work(), space_.sizes().work);
  }

 private:
  static Sizes sizes(char side, char trans, int64_t m, int64_t n, int64_t k) {
    return providers::sizes_for(query_key<T>(routine, side, m, n, k), [=] {
      T work{}, unread{};
      const int64_t order = side == 'L' ? m : n,
                    lda = std::max<int64_t>(1, routine == Routine::ormqr ? order : k);
      query_info<T>(routine, side, trans, m, n, k, &unread, lda, &unread, &unread, std::max<int64_t>(1, m),
                    &work, int64_t{-1});
      return Sizes{.work = answered(work)};
    });
  }
  char side_, trans_;
  int64_t m_, n_, k_;
  Workspace<T> space_;
};
template <class T>
using QrApply = OrthogonalApply<T, Routine::ormqr>;
template <class T>
using LqApply = OrthogonalApply<T, Routine::ormlq>;

// ---- Spectra
// -------------------------------------------------------------------------------------------------

// A (m x n, destroyed) = U diag(s) Vh, s descending. jobz 'N': s only (U, Vh null); 'S': U m x r, Vh r x n
// with r = min(m, n); 'A': U m x m, Vh n x n. info k > 0: not converged.
template <class T>
class Svd {
 public:
  Svd(char jobz, int64_t m, int64_t n) : jobz_(jobz), m_(m), n_(n), space_(sizes(jobz, m, n)) {}
  int64_t operator()(T* A, int64_t lda, Real<T>* s, T* U, int64_t ldu, T* Vh, int64_t ldvh) const {
    return providers::gesdd(jobz_, m_, n_, A, lda, s, U, ldu, Vh, ldvh, space_.work(), space_.sizes().work,
                            space_.rwork(), space_.iwork());
  }

 private:
  static Sizes sizes(char jobz, int64_t m, int64_t n) {
    return providers::sizes_for(query_key<T>(Routine::gesdd, jobz, m, n, 0), [=] {
      int64_t small = std::min(m, n), large = std::max(m, n);
      return Sizes{.work = asked(jobz, m, n),
                   .rwork = is_complex_v<T> ? real_work(jobz, small, large) : 0,
                   .iwork = std::max<int64_t>(1, 8 * small)};
    });
  }

  // What the manual page of zgesdd asks for, 'N' as before LAPACK 3.7.
  static int64_t real_work(char jobz, int64_t small, int64_t large) {
    if (jobz == 'N') return std::max<int64_t>(1, 7 * small);
    return std::max<int64_t>(1, small * std::max(5 * small + 7, 2 * large + 2 * small + 1));
  }

  static int64_t asked(char jobz, int64_t m, int64_t n) {
    T work{}, unread{};
    Real<T> unread_real{};
    int64_t unread_int = 0;
    int64_t ldu = std::max<int64_t>(1, m), ldvh = std::max<int64_t>(1, jobz == 'S' ? std::min(m, n) : n);
    if constexpr (is_complex_v<T>)
      query_info<T>(Routine::gesdd, jobz, m, n, &unread, ldu, &unread_real, &unread, ldu, &unread, ldvh,
                    &work, int64_t{-1}, &unread_real, IntWork{&unread_int});
    else
      query_info<T>(Routine::gesdd, jobz, m, n, &unread, ldu, &unread_real, &unread, ldu, &unread, ldvh,
                    &work, int64_t{-1}, IntWork{&unread_int});
    return answered(work);
  }

  char jobz_;
  int64_t m_, n_;
  Workspace<T> space_;
};

// A = V diag(w) V^H from one triangle, w ascending. jobz 'N': w only, A destroyed; 'V': V in place of A.
template <class T>
class Eigh {
 public:
  Eigh(char jobz, char uplo, int64_t n) : jobz_(jobz), uplo_(uplo), n_(n), space_(sizes(jobz, uplo, n)) {}
  int64_t operator()(T* A, int64_t lda, Real<T>* w) const {
    const Sizes& size = space_.sizes();
    return providers::syevd(jobz_, uplo_, n_, A, lda, w, space_.work(), size.work, space_.rwork(), size.rwork,
                            space_.iwork(), size.iwork);
  }

 private:
  static Sizes sizes(char jobz, char uplo, int64_t n) {
    return providers::sizes_for(query_key<T>(Routine::syevd, jobz, n, n, 0), [=] {
      T work{}, unread{};
      Real<T> rwork{}, unread_real{};
      int64_t iwork = 0, lda = std::max<int64_t>(1, n), ask = -1;
      if constexpr (is_complex_v<T>) {
        query_info<T>(Routine::syevd, jobz, uplo, n, &unread, lda, &unread_real, &work, ask, &rwork, ask,
                      IntWork{&iwork}, ask);
        return Sizes{.work = answered(work), .rwork = answered(rwork), .iwork = iwork};
      } else {
        query_info<T>(Routine::syevd, jobz, uplo, n, &unread, lda, &unread_real, &work, ask, IntWork{&iwork},
                      ask);
        return Sizes{.work = answered(work), .iwork = iwork};
      }
    });
  }
  char jobz_, uplo_;
  int64_t n_;
  Workspace<T> space_;
};

// A (destroyed) V = V diag(w), both complex whatever T. jobz 'N': w only (V null); 'V': unit right
// eigenvectors.
template <class T>
class Eig {
 public:
  using Complex = std::complex<Real<T>>;
  Eig(char jobz, int64_t n) : jobz_(jobz), n_(n), space_(sizes(jobz, n)) {}

  int64_t operator()(T* A, int64_t lda, Complex* w, Complex* V, int64_t ldv) const {
    if constexpr (is_complex_v<T>)
      return call(A, lda, w, V, ldv);
    else
      return call_and_join(A, lda, w, V, ldv);
  }

 private:
  static Sizes sizes(char jobz, int64_t n) {
    Sizes sizes = providers::sizes_for(query_key<T>(Routine::geev, jobz, n, n, 0), [=] {
      T work{}, unread{};
      Real<T> unread_real{};
      int64_t ld = std::max<int64_t>(1, n), ask = -1;
      if constexpr (is_complex_v<T>)
        query_info<T>(Routine::geev, 'N', jobz, n, &unread, ld, &unread, &unread, ld, &unread, ld, &work, ask,
                      &unread_real);
      else
        query_info<T>(Routine::geev, 'N', jobz, n, &unread, ld, &unread, &unread, &unread, ld, &unread, ld,
                      &work, ask);
      return Sizes{.work = answered(work)};
    });
    // Complex: rwork of geev. Real: real and imaginary parts of w, then the packed vectors.
    sizes.rwork = is_complex_v<T> || jobz == 'N' ? 2 * n : 2 * n + n * n;
    return sizes;
  }

  int64_t call(T* A, int64_t lda, T* w, T* V, int64_t ldv) const {
    return providers::call_working<T>(Routine::geev, space_.sizes().work, {n_}, 'N', jobz_, n_, A, lda, w,
                                      static_cast<T*>(nullptr), int64_t{1}, V, ldv, space_.work(),
                                      space_.sizes().work, space_.rwork());
  }

  int64_t call_and_join(T* A, int64_t lda, Complex* w, Complex* V, int64_t ldv) const {
    T *wr = space_.rwork(), *wi = wr + n_, *packed = wi + n_;
    int64_t info = providers::call_working<T>(Routine::geev, space_.sizes().work, {n_}, 'N', jobz_, n_, A,
                                              lda, wr, wi, static_cast<T*>(nullptr), int64_t{1}, packed,
                                              std::max<int64_t>(1, n_), space_.work(), space_.sizes().work);
    for (int64_t j = 0; j < n_; ++j) w[j] = Complex(wr[j], wi[j]);
    if (jobz_ == 'V') join_vectors(wi, packed, V, ldv);
    return info;
  }

  // A conjugate pair j, j + 1 is stored as the real and the imaginary part of vector j.
  void join_vectors(const T* wi, const T* packed, Complex* V, int64_t ldv) const {
    for (int64_t j = 0; j < n_; ++j) {
      const T* re = packed + j * n_;
      bool pair = wi[j] != 0 && j + 1 < n_;
      for (int64_t i = 0; i < n_; ++i) V[i + j * ldv] = Complex(re[i], pair ? re[i + n_] : T(0));
      if (!pair) continue;
      for (int64_t i = 0; i < n_; ++i) V[i + (j + 1) * ldv] = std::conj(V[i + j * ldv]);
      ++j;
    }
  }

  char jobz_;
  int64_t n_;
  Workspace<T> space_;
};

}  // namespace tn::lapack
