#include "providers/selftest.h"

#include "providers/lapack.h"

namespace tn::providers {
namespace {

template <class T>
T conjugate(T a) {
  if constexpr (is_complex_v<T>)
    return std::conj(a);
  else
    return a;
}

// A square column-major matrix with the few plain operations that references need.
template <class T>
struct Matrix {
  int64_t n;
  std::vector<T> a;

  explicit Matrix(int64_t n) : n(n), a(static_cast<size_t>(n * n)) {}
  T& operator()(int64_t i, int64_t j) { return a[static_cast<size_t>(i + j * n)]; }
  const T& operator()(int64_t i, int64_t j) const { return a[static_cast<size_t>(i + j * n)]; }
  T* data() { return a.data(); }

  template <class Entry>
  static Matrix of(int64_t n, Entry entry) {
    Matrix M(n);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i) M(i, j) = entry(i, j);
    return M;
  }
  static Matrix identity(int64_t n) {
    return of(n, [](int64_t i, int64_t j) { return T(i == j); });
  }

  Matrix transpose() const {
    return of(n, [&](int64_t i, int64_t j) { return (*this)(j, i); });
  }
  Matrix adjoint() const {
    return of(n, [&](int64_t i, int64_t j) { return conjugate((*this)(j, i)); });
  }
  Matrix lower() const {
    return of(n, [&](int64_t i, int64_t j) { return i >= j ? (*this)(i, j) : T(0); });
  }
  Matrix upper() const {
    return of(n, [&](int64_t i, int64_t j) { return i <= j ? (*this)(i, j) : T(0); });
  }
  template <class D>
  Matrix scale_columns(const std::vector<D>& d) const {
    return of(n, [&](int64_t i, int64_t j) { return (*this)(i, j) * d[static_cast<size_t>(j)]; });
  }
  Matrix operator*(const Matrix& B) const {
    Matrix C(n);
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < n; ++k)
        for (int64_t i = 0; i < n; ++i) C(i, j) += (*this)(i, k) * B(k, j);
    return C;
  }
  Matrix operator+(const Matrix& B) const {
    return of(n, [&](int64_t i, int64_t j) { return (*this)(i, j) + B(i, j); });
  }

  double largest() const {
    double most = 0;
    for (const T& x : a) most = std::max(most, static_cast<double>(std::abs(x)));
    return most;
  }
  Real<T> one_norm() const {
    Real<T> most = 0;
    for (int64_t j = 0; j < n; ++j) {
      Real<T> sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::abs((*this)(i, j));
      most = std::max(most, sum);
    }
    return most;
  }
};

// Entries in [-1, 1) from a fixed sequence, plus a diagonal that keeps the condition small.
template <class T>
Matrix<T> sample(int64_t n, uint64_t seed) {
  auto next = [&seed] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<Real<T>>(static_cast<double>(seed >> 11) / (1ull << 52) - 1);
  };
  return Matrix<T>::of(n, [&](int64_t i, int64_t j) {
    const Real<T> diagonal = i == j ? static_cast<Real<T>>(n) : Real<T>(0);
    if constexpr (is_complex_v<T>)
      return T(next() + diagonal, next());
    else
      return next() + diagonal;
  });
}

// All checks of one element type. A residual is relative to the largest entry of what was wanted.
template <class T>
class Checks {
 public:
  using R = Real<T>;
  using M = Matrix<T>;

  Checks(int64_t n, std::vector<Check>& rows)
      : n(n), rows(rows), A(sample<T>(n, 1)), B(sample<T>(n, 2)), S(A + A.transpose()), H(A + A.adjoint()) {}

  void run() {
    multiply();
    triangles();
    lu();
    cholesky();
    qr();
    lq();
    spectra();
  }

 private:
  static double residual(const M& got, const M& want) {
    M difference = M::of(want.n, [&](int64_t i, int64_t j) { return got(i, j) - want(i, j); });
    return difference.largest() / want.largest() / std::numeric_limits<R>::epsilon();
  }

  // A failed call has no residual to speak of.
  void add(Routine routine, const M& got, const M& want, int64_t info = 0) {
    const char type = kTypeLetters[TypeOf<T>::index];
    rows.push_back({base_name(routine), type, info == 0 ? residual(got, want) : HUGE_VAL});
  }

  // Estimates of a reciprocal condition are never below it, and rarely far above.
  void add_rcond(Routine routine, R got, const M& of, const M& inverse, int64_t info) {
    const R exact = 1 / (of.one_norm() * inverse.one_norm());
    const bool fair = info == 0 && got >= exact * R(0.99) && got <= exact * 10;
    rows.push_back({base_name(routine), kTypeLetters[TypeOf<T>::index], fair ? 0 : HUGE_VAL});
  }

  void multiply() {
    const T nan = T(std::numeric_limits<R>::quiet_NaN());
    M C = M::of(n, [&](int64_t, int64_t) { return nan; });  // beta = 0 never reads C
    M A1 = A, B1 = B, S1 = S, H1 = H, D = C, E = C, F = C, G = C;
    gemm(kAdjoint<T>, 'N', n, n, n, T(1), A1.data(), n, B1.data(), n, T(0), C.data(), n);
    add(Routine::gemm, C, A.adjoint() * B);
    for (int64_t j = 0; j < n; ++j)
      gemv('T', n, n, T(1), A1.data(), n, &B1(0, j), int64_t{1}, T(0), &C(0, j), int64_t{1});
    add(Routine::gemv, C, A.transpose() * B);
    syrk('L', 'N', n, n, T(1), A1.data(), n, T(0), D.data(), n);
    add(Routine::syrk, D.lower(), (A * A.transpose()).lower());
    herk('L', kAdjoint<T>, n, n, R(1), A1.data(), n, R(0), E.data(), n);
    add(Routine::herk, E.lower(), (A.adjoint() * A).lower());
    symm('L', 'U', n, n, T(1), S1.data(), n, B1.data(), n, T(0), F.data(), n);
    add(Routine::symm, F, S * B);
    hemm('R', 'L', n, n, T(1), H1.data(), n, B1.data(), n, T(0), G.data(), n);
    add(Routine::hemm, G, B * H);
  }

  void triangles() {
    M A1 = A, X = B, Y = B, Z = A, D = A.upper() * B, E = A.lower().adjoint() * B;
    trmm('L', 'L', kAdjoint<T>, 'N', n, n, T(1), A1.data(), n, X.data(), n);
    add(Routine::trmm, X, E);
    trsm('L', 'L', kAdjoint<T>, 'N', n, n, T(1), A1.data(), n, E.data(), n);
    add(Routine::trsm, E, B);
    int64_t info = trtrs('U', 'N', 'N', n, n, A1.data(), n, D.data(), n);
    add(Routine::trtrs, D, B, info);
    info = trtri('U', 'N', n, Z.data(), n);
    add(Routine::trtri, Z.upper() * A.upper(), M::identity(n), info);
    R rcond = 0;
    info = lapack::Rcond<T>(n).of_triangle('U', 'N', A1.data(), n, &rcond);
    add_rcond(Routine::trcon, rcond, A.upper(), Z.upper(), info);
  }

  void lu() {
    // The large entries lie off the diagonal, so that there is something to pivot.
    M P = M::of(n, [&](int64_t i, int64_t j) { return B((i + 1) % n, j); });
    M LU = P, X = P * A, swapped = P;
    std::vector<int32_t> ipiv(static_cast<size_t>(n));
    int64_t info = lapack::lu(n, n, LU.data(), n, ipiv.data());
    laswp(n, swapped.data(), n, int64_t{1}, n, ipiv.data());
    M L = LU.lower();
    for (int64_t i = 0; i < n; ++i) L(i, i) = T(1);
    add(Routine::getrf, L * LU.upper(), swapped, info);
    laswp(n, swapped.data(), n, int64_t{1}, n, ipiv.data(), int64_t{-1});
    add(Routine::laswp, swapped, P);
    info = lapack::lu_solve('N', n, n, LU.data(), n, ipiv.data(), X.data(), n);
    add(Routine::getrs, X, A, info);
    R rcond = 0;
    const int64_t estimated = lapack::Rcond<T>(n).of_lu('1', LU.data(), n, P.one_norm(), &rcond);
    info = lapack::LuInverse<T>(n)(LU.data(), n, ipiv.data());
    add(Routine::getri, P * LU, M::identity(n), info);
    add_rcond(Routine::gecon, rcond, P, LU, estimated);
  }

  void cholesky() {
    M L = H, X = H * B;
    int64_t info = lapack::cholesky('L', n, L.data(), n);
    add(Routine::potrf, L.lower() * L.lower().adjoint(), H, info);
    info = lapack::cholesky_solve('L', n, n, L.data(), n, X.data(), n);
    add(Routine::potrs, X, B, info);
    R rcond = 0;
    const int64_t estimated = lapack::Rcond<T>(n).of_cholesky('L', L.data(), n, H.one_norm(), &rcond);
    info = lapack::cholesky_inverse('L', n, L.data(), n);
    M inverse = M::of(n, [&](int64_t i, int64_t j) { return i >= j ? L(i, j) : conjugate(L(j, i)); });
    add(Routine::potri, H * inverse, M::identity(n), info);
    add_rcond(Routine::pocon, rcond, H, inverse, estimated);
  }

  void qr() {
    M Q = A;
    std::vector<T> tau(static_cast<size_t>(n));
    const int64_t factored = lapack::QrFactor<T>(n, n)(Q.data(), n, tau.data());
    M R_ = Q.upper(), C = B;
    const int64_t applied =
        lapack::QrApply<T>('L', kAdjoint<T>, n, n, n)(Q.data(), n, tau.data(), C.data(), n);
    const int64_t formed = lapack::QrForm<T>(n, n, n)(Q.data(), n, tau.data());
    add(Routine::geqrf, Q * R_, A, factored);
    add(Routine::orgqr, Q.adjoint() * Q, M::identity(n), formed);
    add(Routine::ormqr, C, Q.adjoint() * B, applied);
  }

  void lq() {
    M Q = A;
    std::vector<T> tau(static_cast<size_t>(n));
    const int64_t factored = lapack::LqFactor<T>(n, n)(Q.data(), n, tau.data());
    M L = Q.lower(), C = B;
    const int64_t applied = lapack::LqApply<T>('R', 'N', n, n, n)(Q.data(), n, tau.data(), C.data(), n);
    const int64_t formed = lapack::LqForm<T>(n, n, n)(Q.data(), n, tau.data());
    add(Routine::gelqf, L * Q, A, factored);
    add(Routine::orglq, Q * Q.adjoint(), M::identity(n), formed);
    add(Routine::ormlq, C, B * Q, applied);
  }

  void spectra() {
    M gone = A, U(n), Vh(n), V = H;
    std::vector<R> s(static_cast<size_t>(n)), w(s);
    int64_t info = lapack::Svd<T>('S', n, n)(gone.data(), n, s.data(), U.data(), n, Vh.data(), n);
    add(Routine::gesdd, U.scale_columns(s) * Vh, A, info);
    info = lapack::Eigh<T>('V', 'L', n)(V.data(), n, w.data());
    add(Routine::syevd, V.scale_columns(w) * V.adjoint(), H, info);
    eig();
  }

  // A V = V diag(w), compared in the complex numbers.
  void eig() {
    using C = std::complex<R>;
    M gone = A;
    Matrix<C> V(n), wide = Matrix<C>::of(n, [&](int64_t i, int64_t j) { return C(A(i, j)); });
    std::vector<C> w(static_cast<size_t>(n));
    const int64_t info = lapack::Eig<T>('V', n)(gone.data(), n, w.data(), V.data(), n);
    const double relative = Checks<C>::residual(wide * V, V.scale_columns(w));
    rows.push_back(
        {base_name(Routine::geev), kTypeLetters[TypeOf<T>::index], info == 0 ? relative : HUGE_VAL});
  }

  template <class>
  friend class Checks;
  int64_t n;
  std::vector<Check>& rows;
  M A, B, S, H;
};

}  // namespace

std::vector<Check> run_checks(int64_t n) {
  std::vector<Check> rows;
  Checks<float>(n, rows).run();
  Checks<double>(n, rows).run();
  Checks<std::complex<float>>(n, rows).run();
  Checks<std::complex<double>>(n, rows).run();
  return rows;
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
