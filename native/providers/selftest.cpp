#include "providers/selftest.h"

#include "providers/lapack.h"

namespace tn::providers {
namespace {

template <class T>
using Matrix = std::vector<T>;  // n x n, column-major

// Entries in [-1, 1) from a fixed sequence, plus a diagonal that keeps the condition small.
template <class T>
Matrix<T> sample(int64_t n, uint64_t seed) {
  auto next = [&seed] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<Real<T>>(static_cast<double>(seed >> 11) / (1ull << 52) - 1);
  };
  Matrix<T> A(static_cast<size_t>(n * n));
  for (T& a : A) {
    if constexpr (is_complex_v<T>)
      a = T(next(), next());
    else
      a = next();
  }
  for (int64_t i = 0; i < n; ++i) A[i + i * n] += T(static_cast<Real<T>>(n));
  return A;
}

template <class T>
T conjugate(T a) {
  if constexpr (is_complex_v<T>)
    return std::conj(a);
  else
    return a;
}

template <class T>
Matrix<T> adjoint(const Matrix<T>& A, int64_t n) {
  Matrix<T> H(A.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) H[j + i * n] = conjugate(A[i + j * n]);
  return H;
}

template <class T>
Matrix<T> product(const Matrix<T>& A, const Matrix<T>& B, int64_t n) {
  Matrix<T> C(A.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < n; ++i) C[i + j * n] += A[i + k * n] * B[k + j * n];
  return C;
}

// A diag(d)
template <class T, class D>
Matrix<T> scaled(Matrix<T> A, const std::vector<D>& d, int64_t n) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) A[i + j * n] *= d[j];
  return A;
}

template <class T>
Matrix<T> hermitian(int64_t n) {
  Matrix<T> A = sample<T>(n, 2), H = adjoint(A, n);
  for (size_t i = 0; i < A.size(); ++i) A[i] += H[i];
  return A;
}

template <class T>
Matrix<T> lower(Matrix<T> A, int64_t n) {
  for (int64_t j = 0; j < n; ++j) std::fill_n(&A[j * n], j, T(0));
  return A;
}

template <class T>
Matrix<T> upper(Matrix<T> A, int64_t n) {
  for (int64_t j = 0; j < n; ++j) std::fill_n(&A[j * n] + j + 1, n - 1 - j, T(0));
  return A;
}

template <class T>
double residual(const Matrix<T>& got, const Matrix<T>& want) {
  double error = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    error = std::max(error, static_cast<double>(std::abs(got[i] - want[i])));
    size = std::max(size, static_cast<double>(std::abs(want[i])));
  }
  return error / size / std::numeric_limits<Real<T>>::epsilon();
}

// A failed call has no residual to speak of.
double judged(int64_t info, double residual) { return info == 0 ? residual : HUGE_VAL; }

template <class T>
double check_gemm(int64_t n) {
  Matrix<T> A = sample<T>(n, 1), B = sample<T>(n, 3), C(A.size(), T(static_cast<Real<T>>(NAN)));
  gemm<T>(kAdjoint<T>, 'N', n, n, n, T(1), A.data(), n, B.data(), n, T(0), C.data(), n);
  return residual(C, product(adjoint(A, n), B, n));
}

template <class T>
double check_lu(int64_t n) {
  Matrix<T> A = sample<T>(n, 1), LU = A, X = sample<T>(n, 3), B = product(A, X, n);
  std::vector<int32_t> ipiv(static_cast<size_t>(n));
  int64_t info = lapack::lu(n, n, LU.data(), n, ipiv.data());
  info += lapack::lu_solve('N', n, n, LU.data(), n, ipiv.data(), B.data(), n);
  double solved = residual(B, X);
  info += lapack::LuInverse<T>(n)(LU.data(), n, ipiv.data());
  Matrix<T> identity = upper(lower(product(A, LU, n), n), n), all = product(A, LU, n);
  for (int64_t i = 0; i < n; ++i) identity[i + i * n] = T(1);
  return judged(info, std::max(solved, residual(all, identity)));
}

template <class T>
double check_cholesky(int64_t n) {
  Matrix<T> A = hermitian<T>(n), L = A;
  int64_t info = lapack::cholesky('L', n, L.data(), n);
  L = lower(L, n);
  return judged(info, residual(product(L, adjoint(L, n), n), A));
}

template <class T>
double check_qr(int64_t n) {
  Matrix<T> A = sample<T>(n, 1), Q = A, tau(static_cast<size_t>(n));
  int64_t info = lapack::QrFactor<T>(n, n)(Q.data(), n, tau.data());
  Matrix<T> R = upper(Q, n), QR = R;
  info += lapack::QrApply<T>('L', 'N', n, n, n)(Q.data(), n, tau.data(), QR.data(), n);
  double applied = residual(QR, A);
  info += lapack::QrForm<T>(n, n, n)(Q.data(), n, tau.data());
  return judged(info, std::max(applied, residual(product(Q, R, n), A)));
}

template <class T>
double check_svd(int64_t n) {
  Matrix<T> A = sample<T>(n, 1), gone = A, U(A.size()), Vh(A.size());
  std::vector<Real<T>> s(static_cast<size_t>(n));
  int64_t info = lapack::Svd<T>('S', n, n)(gone.data(), n, s.data(), U.data(), n, Vh.data(), n);
  return judged(info, residual(product(scaled(U, s, n), Vh, n), A));
}

template <class T>
double check_eigh(int64_t n) {
  Matrix<T> A = hermitian<T>(n), V = A;
  std::vector<Real<T>> w(static_cast<size_t>(n));
  int64_t info = lapack::Eigh<T>('V', 'L', n)(V.data(), n, w.data());
  return judged(info, residual(product(scaled(V, w, n), adjoint(V, n), n), A));
}

template <class T>
double check_eig(int64_t n) {
  using Complex = std::complex<Real<T>>;
  Matrix<T> A = sample<T>(n, 1), gone = A;
  Matrix<Complex> wide(A.begin(), A.end()), V(A.size());
  std::vector<Complex> w(static_cast<size_t>(n));
  int64_t info = lapack::Eig<T>('V', n)(gone.data(), n, w.data(), V.data(), n);
  return judged(info, residual(product(wide, V, n), scaled(V, w, n)));
}

template <class T>
void check_type(int64_t n, std::vector<Check>& checks) {
  auto add = [&](Routine routine, double residual) {
    checks.push_back({base_name(routine), kTypeLetters[TypeOf<T>::index], residual});
  };
  add(Routine::gemm, check_gemm<T>(n));
  add(Routine::getrf, check_lu<T>(n));
  add(Routine::potrf, check_cholesky<T>(n));
  add(Routine::geqrf, check_qr<T>(n));
  add(Routine::gesdd, check_svd<T>(n));
  add(Routine::syevd, check_eigh<T>(n));
  add(Routine::geev, check_eig<T>(n));
}

}  // namespace

std::vector<Check> run_checks(int64_t n) {
  std::vector<Check> checks;
  check_type<float>(n, checks);
  check_type<double>(n, checks);
  check_type<std::complex<float>>(n, checks);
  check_type<std::complex<double>>(n, checks);
  return checks;
}

std::string large_dimension_message() {
  const int64_t large = int64_t{1} << 31;
  double unread = 0;
  try {
    gemm<double>('N', 'N', large, 0, 0, 1, &unread, large, &unread, 1, 0, &unread, large);
  } catch (const std::exception& refusal) {
    return refusal.what();
  }
  return "";
}

}  // namespace tn::providers
