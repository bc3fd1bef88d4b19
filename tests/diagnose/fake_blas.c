/* A library that looks like a BLAS and says what it was called with. Only what the tests need. */
#include <complex.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

jmp_buf* fake_blas_jump = 0;

#define GEMM(symbol, integer)                                                                               \
  void symbol(const char* ta, const char* tb, const integer* m, const integer* n, const integer* k,         \
              const double* alpha, const double* a, const integer* lda, const double* b, const integer* ldb, \
              const double* beta, double* c, const integer* ldc, long la, long lb) {                        \
    if (fake_blas_jump) longjmp(*fake_blas_jump, 1);                                                        \
    c[0] = *alpha * a[0] * b[0] + *beta * c[0] + *lda + *ldb + *ldc + la + lb + *m + *n + *k;               \
    if (*ta != 'N' || *tb != 'T') c[0] = -1;                                                                \
  }
GEMM(dgemm_, int32_t)
GEMM(dgemm, int32_t)
GEMM(DGEMM, int32_t)
GEMM(dgemm_64_, int64_t)
GEMM(scipy_dgemm_64_, int64_t)

#define CBLAS_GEMM(symbol, integer)                                                                           \
  void symbol(int layout, int ta, int tb, integer m, integer n, integer k, double alpha, const double* a,     \
              integer lda, const double* b, integer ldb, double beta, double* c, integer ldc) {               \
    c[0] = alpha * a[0] * b[0] + beta * c[0] + layout + ta + tb + (double)(m + n + k + lda + ldb + ldc);      \
  }
CBLAS_GEMM(cblas_dgemm, int32_t)
CBLAS_GEMM(scipy_cblas_dgemm64_, int64_t)

double ddot_(const int32_t* n, const double* x, const int32_t* incx, const double* y, const int32_t* incy) {
  return *n * x[0] * y[0] + *incx + *incy;
}
double complex zdotc_(const int32_t* n, const double complex* x) { return conj(x[0]) * *n; }

void dgetrf_(const int32_t* m, const int32_t* n, double* a) { a[0] = *m + *n; }

void dgesv_(const int32_t* n, const int32_t* nrhs, double* a) {
  dgetrf_(n, nrhs, a);
  a[0] *= 2;
}
