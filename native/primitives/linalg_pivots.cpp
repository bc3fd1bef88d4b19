// Rounding decides whether the last pivot of a singular matrix is exactly zero, and differs between CPUs. The
// verdict must not, so it asks whether rounding explains the pivot.
//
// The computed factors are those of A + E, E[i, j] a sum of errors u |l_im u_mj| (Higham 2002, theorem 9.3; u
// is the unit round-off). To first order E moves pivot k by w^T E v, with w^T the last row of L_k^-1 and v =
// (-U_{k-1}^-1 u_k, 1), where L_k and U_k are leading blocks. The errors are close to independent (Higham and
// Mary 2019), which gives the move a standard deviation of about
//   sigma = u (sum over m of (sum_i |w_i l_im|^2) (sum_j |u_mj v_j|^2))^(1/2).
// A pivot of at most 4 sigma is zero to working precision. Rows and columns may be scaled at will: every term
// scales with the pivot.
#include "primitives/linalg_pivots.h"

#include <cmath>
#include <limits>
#include <vector>

#include "providers/lapack.h"

namespace tn::linalg {
namespace {

// Squares of products of doubles keep their range in it.
using Wide = long double;

template <class T>
struct Widened {
  using type = Wide;
};
template <class R>
struct Widened<std::complex<R>> {
  using type = std::complex<Wide>;
};
template <class T>
using wide_t = typename Widened<T>::type;

template <class T>
Wide square(const T& x) {
  const Wide size = std::abs(x);
  return size * size;
}

template <class T>
class Pivots {
  using R = real_t<T>;
  static constexpr R kUnit = std::numeric_limits<R>::epsilon() / 2;
  static constexpr R kSuspect =
      16384;  // what an ill-conditioned leading block makes of u, with rare exceptions

 public:
  Pivots(const T* lu, int64_t ld, int64_t n, R norm)
      : lu_(lu), ld_(ld), n_(n), small_(kSuspect * kUnit * norm) {}

  // The first that is zero up to the one that is least for its size; failing that, the last of all, which an
  // error in any other moves.
  int64_t first_zero() const {
    const int64_t k = suspect();
    if (k == n_) return 0;
    const bool least_is_zero = is_zero(k);
    if (!least_is_zero && !is_zero(n_ - 1)) return 0;
    for (int64_t i = 0; i < k; ++i)
      if (size(i) <= small_ && is_zero(i)) return i + 1;
    return least_is_zero ? k + 1 : n_;
  }

 private:
  const T& at(int64_t i, int64_t j) const { return lu_[j * ld_ + i]; }
  R size(int64_t k) const { return std::abs(at(k, k)); }

  // The pivot that is least beside what it is a difference of, (|L| |U|)_kk, if worth a closer look; or n.
  int64_t suspect() const {
    int64_t k = n_;
    Wide least = kSuspect * kUnit;
    for (int64_t i = 0; i < n_; ++i) {
      if (size(i) > small_) continue;
      if (at(i, i) == T(0)) return i;
      const Wide ratio = size(i) / minuend(i);
      if (ratio < least) {
        least = ratio;
        k = i;
      }
    }
    return k;
  }

  Wide minuend(int64_t k) const {
    Wide sum = size(k);
    for (int64_t m = 0; m < k; ++m) sum += Wide(std::abs(at(k, m))) * std::abs(at(m, k));
    return sum;
  }

  bool is_zero(int64_t k) const { return size(k) <= 4 * kUnit * deviation(left(k), right(k)); }

  // The last row of L_k^-1.
  std::vector<wide_t<T>> left(int64_t k) const {
    std::vector<wide_t<T>> w(k + 1);
    w[k] = 1;
    for (int64_t i = k - 1; i >= 0; --i)
      for (int64_t j = i + 1; j <= k; ++j) w[i] -= w[j] * wide_t<T>(at(j, i));
    return w;
  }

  std::vector<wide_t<T>> right(int64_t k) const {
    std::vector<wide_t<T>> v(k + 1);
    v[k] = 1;
    for (int64_t j = k; j >= 0; --j) {
      if (j < k) v[j] /= wide_t<T>(at(j, j));
      for (int64_t i = 0; i < j; ++i) v[i] -= wide_t<T>(at(i, j)) * v[j];
    }
    return v;
  }

  // sigma / u.
  Wide deviation(const std::vector<wide_t<T>>& w, const std::vector<wide_t<T>>& v) const {
    const int64_t count = w.size();
    std::vector<Wide> rows(count);
    for (int64_t j = 0; j < count; ++j)
      for (int64_t m = 0; m <= j; ++m) rows[m] += square(at(m, j)) * square(v[j]);
    Wide total = 0;
    for (int64_t m = 0; m < count; ++m) {
      Wide column = square(w[m]);
      for (int64_t i = m + 1; i < count; ++i) column += square(at(i, m)) * square(w[i]);
      total += column * rows[m];
    }
    return std::sqrt(total);
  }

  const T* lu_;
  int64_t ld_, n_;
  R small_;
};

// (|L| |U|) e, or its transpose times e.
template <class T>
std::vector<real_t<T>> sums_of_sizes(const T* lu, int64_t n, bool of_columns) {
  std::vector<real_t<T>> middle(n), sums(n);
  const auto size = [&](int64_t i, int64_t j) { return i == j ? real_t<T>(1) : std::abs(lu[j * n + i]); };
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = of_columns ? j : 0; i < (of_columns ? n : j + 1); ++i)
      middle[of_columns ? j : i] += of_columns ? size(i, j) : std::abs(lu[j * n + i]);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = of_columns ? 0 : j; i < (of_columns ? j + 1 : n); ++i)
      sums[of_columns ? j : i] += of_columns ? std::abs(lu[j * n + i]) * middle[i] : size(i, j) * middle[j];
  return sums;
}

}  // namespace

// diag(s)^-1 L U = (D L D^-1) (D U) with D = diag(s)^-1.
template <class T>
real_t<T> row_scaled_rcond(const T* lu, int64_t n, bool transposed) {
  const auto s = sums_of_sizes(lu, n, transposed);
  std::vector<T> scaled(n * n);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) {
      const T x = lu[j * n + i];
      const bool lower = i > j;
      if (transposed)
        scaled[j * n + i] = lower ? x : x / s[j];
      else
        scaled[j * n + i] = lower ? x / s[i] * s[j] : x / s[i];
    }
  real_t<T> rcond = 0;
  lapack::Rcond<T>(n).of_lu(transposed ? '1' : 'I', scaled.data(), n, 1, &rcond);
  return rcond;
}

template <class T>
int64_t zero_pivot(const T* lu, int64_t ld, int64_t n, real_t<T> norm) {
  return Pivots<T>(lu, ld, n, norm).first_zero();
}

template int64_t zero_pivot(const float*, int64_t, int64_t, float);
template float row_scaled_rcond(const float*, int64_t, bool);
template int64_t zero_pivot(const double*, int64_t, int64_t, double);
template double row_scaled_rcond(const double*, int64_t, bool);
template int64_t zero_pivot(const std::complex<float>*, int64_t, int64_t, float);
template float row_scaled_rcond(const std::complex<float>*, int64_t, bool);
template int64_t zero_pivot(const std::complex<double>*, int64_t, int64_t, double);
template double row_scaled_rcond(const std::complex<double>*, int64_t, bool);

}  // namespace tn::linalg
