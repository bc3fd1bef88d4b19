#include "primitives/linalg_lu.h"

#include "primitives/linalg_pivots.h"
#include "primitives/linalg_small.h"
#include "providers/lapack.h"

namespace tn::linalg {
namespace {

template <class T>
void note_condition(const T* lu, int64_t n, real_t<T> norm, bool transposed, int64_t i, IllConditioned* ill) {
  constexpr real_t<T> kUnit = std::numeric_limits<real_t<T>>::epsilon();
  real_t<T> rcond = 1;
  lapack::Rcond<T>(n).of_lu('1', lu, n, norm, &rcond);
  if (ill->index < 0 && rcond < kUnit && row_scaled_rcond(lu, n, transposed) < kUnit) *ill = {i, rcond};
}

// The info of a matrix whose factors LAPACK has found, with an info of its own.
template <class T>
int64_t judge_pivots(const Matrices<T>& to, int64_t i, real_t<T> norm, bool transposed, int64_t info,
                     IllConditioned* ill) {
  const int64_t n = to.rows;
  if (const int64_t zero = zero_pivot(to[i], n, info ? info - 1 : n, norm)) return zero;
  if (info == 0 && suspicious(to, i)) note_condition(to[i], n, norm, transposed, i, ill);
  return info;
}

template <class T>
int64_t factor_one(const Matrices<T>& a, int64_t i, bool transposed, const Matrices<T>& to, int32_t* pivots,
                   IllConditioned* ill) {
  const int64_t n = a.rows;
  T* lu = to[i];
  const real_t<T> norm = copy_finite(a, i, lu);
  if (std::isnan(norm)) {
    for (int64_t k = 0; k < n; ++k) pivots[k] = static_cast<int32_t>(k + 1);
    return kNotFinite;
  }
  const int64_t info = lapack::lu(n, n, lu, n, pivots);
  return ill ? judge_pivots(to, i, norm, transposed, info, ill) : info;
}

// Which matrices of a stack of small ones the kernels could factor.
template <class T>
void factor_small(const Matrices<T>& a, Factored* f, bool* done) {
  const SmallStack<T> stack(a);
  small_lu_kernels<T>().lu(stack, f->lu.data, f->pivots.as<int32_t>(), static_cast<int>(a.rows + 1), done);
}

template <class T>
void factor_all(const Matrices<T>& a, Judge judge, Factored* f) {
  const int64_t n = a.rows;
  const bool small = is_small_stack(a), transposed = !small && a.transposed();
  const Matrices<T> from = transposed ? a.transpose() : a, to = matrices<T>(f->lu);
  IllConditioned* ill = judge == Judge::yes ? &f->ill : nullptr;
  Scratch flags(small ? a.count() : 0);
  bool* done = flags.as<bool>();
  if (small) factor_small(a, f, done);
  for (int64_t i = 0; i < a.count(); ++i) {
    int32_t* pivots = f->pivots.as<int32_t>() + i * (n + 1);
    const int64_t info = n == 0 || (small && done[i]) ? 0 : factor_one(from, i, transposed, to, pivots, ill);
    pivots[n] = transposed;
    f->info.as<int32_t>()[i] = static_cast<int32_t>(info);
    f->failure.note(i, info);
  }
}

// How many right-hand sides in a row share one matrix: they are one call.
int64_t shared_run(const Tensor& lu, int64_t count) {
  int64_t run = 1;
  for (int k = lu.ndim() - 3; k >= 0 && (lu.strides()[k] == 0 || lu.shape()[k] == 1); --k)
    run *= lu.shape()[k];
  return std::min(run, std::max<int64_t>(1, count));
}

template <class T>
void solve_all(const Matrices<T>& lu, const Matrices<int32_t>& pivots, int64_t run, Op op,
               const Matrices<T>& b, T* x) {
  const int64_t n = b.rows, size = n * b.cols;
  for (int64_t i = 0; i < b.count(); i += run) {
    const int32_t* p = pivots[i];
    const bool transposed = op.transposed != (p[n] != 0);
    const bool flip = op.conjugated && !transposed && is_complex_v<T>;
    const char trans = !transposed ? 'N' : op.conjugated ? lapack::kAdjoint<T> : 'T';
    T* out = x + i * size;
    for (int64_t k = 0; k < run; ++k) copy_matrix(b, i + k, out + k * size);
    if (flip) conjugate(out, run * size);
    lapack::lu_solve(trans, n, run * b.cols, lu[i], n, p, out, n);
    if (flip) conjugate(out, run * size);
  }
}

template <class T>
void solve_small(const Matrices<T>& lu, const Matrices<int32_t>& pivots, bool transposed,
                 const Matrices<T>& b, T* x) {
  const SmallStack<T> factors(lu), right(b);
  Scratch swaps(b.count() * sizeof(void*));
  auto* p = swaps.as<const int32_t*>();
  for (int64_t i = 0; i < b.count(); ++i) p[i] = pivots[i];
  small_lu_kernels<T>().solve(factors, p, transposed != (p[0][b.rows] != 0), right, x);
}

template <class T>
bool solves_small(const Matrices<T>& lu, const Matrices<T>& b) {
  return is_small_stack(lu) && lu.count() == b.count() && lu.row_stride == 1 && lu.col_stride == lu.rows;
}

template <class T>
void invert_all(const Matrices<T>& lu, const Matrices<int32_t>& pivots, bool conjugated, T* y) {
  const int64_t n = lu.rows;
  const lapack::LuInverse<T> invert(n);
  for (int64_t i = 0; i < lu.count(); ++i) {
    T* out = y + i * n * n;
    copy_matrix(lu, i, out);
    invert(out, n, pivots[i]);
    if (conjugated) conjugate(out, n * n);
  }
}

// The layout that makes invert_all's result op(A)^-1: F^-1 is the inverse of A or of its transpose.
Layout inverse_layout(const Tensor& lu, bool transposed) {
  return transposed ? Layout::c_contiguous(lu.shape()) : Layout::column_major(lu.shape());
}

Inverses invert_by_lapack(const Tensor& a) {
  const Factored f = factor_square(a);
  Inverses r{invert_factored(f.lu, f.pivots, {}), f.info, f.failure, f.ill};
  if (f.failure) mark_failures(f.info, r.y);
  return r;
}

// The kernels' inverses, and a list of the matrices that they left.
template <class T>
std::vector<int64_t> invert_most(const Matrices<T>& a, T* y) {
  Scratch flags(a.count());
  bool* done = flags.as<bool>();
  small_lu_kernels<T>().inverse(SmallStack<T>(a), y, done);
  std::vector<int64_t> left;
  for (int64_t i = 0; i < a.count(); ++i)
    if (!done[i]) left.push_back(i);
  return left;
}

template <class T>
Tensor gather(const Tensor& a, const std::vector<int64_t>& which) {
  const Matrices<T> from = matrices<T>(a);
  Tensor some = empty(a.dtype, Layout::column_major(Dims{int64_t(which.size()), from.rows, from.cols}));
  T* to = some.as<T>();
  for (const int64_t i : which) {
    copy_matrix(from, i, to);
    to += from.rows * from.cols;
  }
  return some;
}

template <class T>
void scatter(const Inverses& some, const std::vector<int64_t>& which, Inverses* all) {
  const Matrices<T> from = matrices<T>(some.y), rows = matrices<T>(all->y).transpose();
  for (size_t k = 0; k < which.size(); ++k) {
    copy_matrix(from.transpose(), k, rows[which[k]]);
    all->info.as<int32_t>()[which[k]] = some.info.as<int32_t>()[k];
  }
  if (some.failure) all->failure = {which[some.failure.index], some.failure.info};
  if (some.ill.index >= 0) all->ill = {which[some.ill.index], some.ill.rcond};
}

// Whether this is a stack for the kernels; what they left goes the long way.
template <class T>
bool invert_small(const Tensor& a, Inverses* r) {
  const Matrices<T> from = matrices<T>(a);
  if (!is_small_stack(from)) return false;
  r->y = empty(a.dtype, a.shape());
  r->info = empty(DType::I32, batch_of(a));
  std::fill_n(r->info.as<int32_t>(), from.count(), 0);
  std::vector<int64_t> left;
  {
    Unlocked unlocked(worth_unlocking(from.count() * from.rows * from.rows * from.rows));
    left = invert_most(from, r->y.as<T>());
  }
  if (!left.empty()) scatter<T>(invert_by_lapack(gather<T>(a, left)), left, r);
  return true;
}

}  // namespace

Factored factor_square(const Tensor& a, Judge judge) {
  const Tensor once = without_repeats(a);
  const auto batch = batch_of(once);
  const int64_t n = a.shape().back();
  Factored f;
  f.lu = empty(a.dtype, Layout::column_major(once.shape()));
  Dims pivot_shape(batch);
  f.info = empty(DType::I32, pivot_shape);
  pivot_shape.push_back(n + 1);
  f.pivots = empty(DType::I32, pivot_shape);
  visit_inexact(a.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> from = matrices<T>(once);
    Unlocked unlocked(worth_unlocking(from.count() * n * n * n));
    factor_all(from, judge, &f);
  });
  return f;
}

void report(const char* who, std::span<const int64_t> batch, const Failure& failure,
            const IllConditioned& ill) {
  raise_failure(who, {"is singular", "pivot ", " is zero to working precision"}, batch, failure);
  if (ill.index < 0) return;
  const std::string message = text(who, ": a is nearly singular", at_batch(batch, ill.index),
                                   ": its reciprocal condition number is about ", ill.rcond, ".");
  if (lock_hooks.warn) lock_hooks.warn("IllConditionedWarning", message.c_str());
}

void solve_factored(const Tensor& lu, const Tensor& pivots, Op op, const Tensor& b, const Tensor& x) {
  if (x.numel() == 0) return;
  visit_inexact(lu.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> factors = matrices<T>(lu), from = right_side<T>(lu, b);
    const Matrices<int32_t> swaps = columns<int32_t>(pivots);
    const int64_t run = shared_run(lu, from.count());
    Unlocked unlocked(worth_unlocking(from.count() * from.rows * from.rows * from.cols));
    if (solves_small(factors, from))
      solve_small(factors, swaps, op.transposed, from, x.as<T>());
    else
      solve_all(factors, swaps, run, op, from, x.as<T>());
  });
}

Tensor invert_factored(const Tensor& lu, const Tensor& pivots, Op op) {
  if (lu.numel() == 0) return empty(lu.dtype, lu.shape());
  const int64_t n = lu.shape().back();
  const bool of_transpose = pivots.as<int32_t>()[n] != 0;
  Tensor y = empty(lu.dtype, inverse_layout(lu, op.transposed != of_transpose));
  visit_inexact(lu.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> factors = matrices<T>(lu);
    const Matrices<int32_t> swaps = columns<int32_t>(pivots);
    Unlocked unlocked(worth_unlocking(factors.count() * n * n * n));
    invert_all(factors, swaps, op.conjugated, y.as<T>());
  });
  return y;
}

Inverses invert_square(const Tensor& a) {
  const Tensor once = without_repeats(a);
  Inverses r;
  const bool small = visit_inexact(a.dtype, [&]<class T>(Type<T>) { return invert_small<T>(once, &r); });
  return small ? r : invert_by_lapack(once);
}

bool has_zero_pivot(const Tensor& lu) {
  return visit_inexact(lu.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> from = matrices<T>(lu);
    Scratch memory(from.rows * from.cols * sizeof(T));
    for (int64_t i = 0; i < from.count(); ++i) {
      // Of L U: entries of L are at most 1.
      const real_t<T> norm = copy_finite(from, i, memory.as<T>()) * real_t<T>(from.rows);
      if (zero_pivot(memory.as<T>(), from.rows, from.rows, norm) != 0) return true;
    }
    return false;
  });
}

void mark_failures(const Tensor& info, const Tensor& out, int trailing) {
  const Offsets at(info.shape(), info.strides());
  visit_inexact(out.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> to = trailing == 1 ? columns<T>(out) : matrices<T>(out);
    for (int64_t i = 0; i < at.count(); ++i)
      if (info.as<int32_t>()[at[i]] != 0) fill_nan(to, i);
  });
}

void require_square(const char* who, const Tensor& a) {
  const int n = a.ndim();
  if (n < 2 || a.shape()[n - 1] != a.shape()[n - 2])
    fail(ErrorKind::Value, who, ": a must be square in its last two axes, got shape ", show(a.shape()), ".");
  if (!is_inexact(a.dtype))
    fail(ErrorKind::Type, who, ": a must have a floating-point dtype, got ", name(a.dtype), ".");
}

bool is_vector(const Tensor& a, const Tensor& b) { return b.ndim() == a.ndim() - 1; }

void require_right_side(const char* who, const Tensor& a, const Tensor& b) {
  const int trailing = is_vector(a, b) ? 1 : 2;
  const bool fits = b.ndim() - trailing == a.ndim() - 2 && b.shape()[a.ndim() - 2] == a.shape().back() &&
                    std::ranges::equal(batch_of(a), batch_of(b, trailing));
  if (!fits)
    fail(ErrorKind::Value, who, ": b must have the rows and leading axes of a, got shapes ", show(a.shape()),
         " and ", show(b.shape()), ".");
  if (a.dtype != b.dtype)
    fail(ErrorKind::Type, who, ": a and b must have one dtype, got ", name(a.dtype), " and ", name(b.dtype),
         ".");
}

Tensor like_right_side(const Tensor& a, const Tensor& b) {
  return is_vector(a, b) ? empty(b.dtype, b.shape()) : empty(b.dtype, Layout::column_major(b.shape()));
}

}  // namespace tn::linalg
