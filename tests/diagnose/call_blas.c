/* Calls fake_blas.c in the ways that the probe must understand; exits with 1 if an argument or a result is lost. */
#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern jmp_buf* fake_blas_jump;
double ddot_(const int32_t*, const double*, const int32_t*, const double*, const int32_t*);
double complex zdotc_(const int32_t*, const double complex*);
void dgesv_(const int32_t*, const int32_t*, double*);

static void expect(double got, double wanted, const char* what) {
  if (got == wanted) return;
  printf("%s: got %g, expected %g\n", what, got, wanted);
  exit(1);
}

#define FORTRAN(symbol, integer)                                                                            \
  void symbol(const char*, const char*, const integer*, const integer*, const integer*, const double*,      \
              const double*, const integer*, const double*, const integer*, const double*, double*,         \
              const integer*, long, long);                                                                  \
  static void call_##symbol(integer m, integer n, integer k) {                                              \
    const double alpha = 2, beta = 3, a = 5, b = 7;                                                         \
    const integer lda = 11, ldb = 13, ldc = 17;                                                             \
    double c = 1;                                                                                           \
    symbol("N", "T", &m, &n, &k, &alpha, &a, &lda, &b, &ldb, &beta, &c, &ldc, 19, 23);                      \
    expect(c, 70 + 3 + 11 + 13 + 17 + 19 + 23 + (double)(m + n + k), #symbol);                              \
  }
FORTRAN(dgemm_, int32_t)
FORTRAN(dgemm, int32_t)
FORTRAN(DGEMM, int32_t)
FORTRAN(dgemm_64_, int64_t)
FORTRAN(scipy_dgemm_64_, int64_t)

#define C(symbol, integer)                                                                                  \
  void symbol(int, int, int, integer, integer, integer, double, const double*, integer, const double*,      \
              integer, double, double*, integer);                                                           \
  static void call_##symbol(integer m, integer n, integer k) {                                              \
    const double a = 5, b = 7;                                                                              \
    double c = 1;                                                                                           \
    symbol(101, 111, 112, m, n, k, 2, &a, 11, &b, 13, 3, &c, 17);                                           \
    expect(c, 70 + 3 + 101 + 111 + 112 + 11 + 13 + 17 + (double)(m + n + k), #symbol);                      \
  }
C(cblas_dgemm, int32_t)
C(scipy_cblas_dgemm64_, int64_t)

static void spellings(void) {
  call_dgemm_(2, 3, 4);
  call_dgemm(3, 4, 5);
  call_DGEMM(4, 5, 6);
  call_dgemm_64_(INT64_C(1) << 40, 3, 4);
  call_scipy_dgemm_64_(5, 6, 7);
  call_cblas_dgemm(6, 7, 8);
  call_scipy_cblas_dgemm64_(7, 8, 9);
}

static void results(void) {
  const int32_t n = 3, one = 1;
  const double x = 2, y = 5;
  const double complex z = 1 + 2 * I;
  expect(ddot_(&n, &x, &one, &y, &one), 32, "ddot_");
  const double complex w = zdotc_(&n, &z);
  expect(creal(w), 3, "real part of zdotc_");
  expect(cimag(w), -6, "imaginary part of zdotc_");
}

static void inner(void) {
  const int32_t n = 8, nrhs = 2;
  double a = 0;
  dgesv_(&n, &nrhs, &a);
  expect(a, 20, "dgesv_");
}

static void jumps(void) {
  for (volatile int i = 0; i < 3; ++i) {
    jmp_buf back;
    fake_blas_jump = &back;
    if (!setjmp(back)) call_dgemm_(9, 9, 9);
    fake_blas_jump = 0;
  }
  spellings();
}

static void* many(void* unused) {
  for (int i = 0; i < 1000; ++i) call_dgemm_(1 + i % 10, 2, 3);
  return unused;
}

static void threads(void) {
  pthread_t thread[4];
  for (int i = 0; i < 4; ++i) pthread_create(&thread[i], 0, many, 0);
  for (int i = 0; i < 4; ++i) pthread_join(thread[i], 0);
}

static void forks(char* program) {
  call_dgemm_(1, 1, 1);
  if (fork() == 0) {
    call_dgemm_(2, 2, 2);
    _exit(0);
  }
  wait(0);
  if (fork() == 0) {
    call_dgemm_(3, 3, 3);
    kill(getpid(), SIGKILL);
  }
  wait(0);
  if (fork() == 0) {
    call_dgemm_(4, 4, 4);
    execl(program, program, "spellings", (char*)0);
  }
  wait(0);
}

static void shapes(void) {
  for (int i = 0; i < 20000; ++i) call_dgemm_(1 + i, 2, 3);
}

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (!strcmp(words[i], "spellings")) spellings();
    if (!strcmp(words[i], "results")) results();
    if (!strcmp(words[i], "inner")) inner();
    if (!strcmp(words[i], "jumps")) jumps();
    if (!strcmp(words[i], "threads")) threads();
    if (!strcmp(words[i], "forks")) forks(words[0]);
    if (!strcmp(words[i], "shapes")) shapes();
  }
  return 0;
}
