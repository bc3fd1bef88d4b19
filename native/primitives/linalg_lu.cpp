#include "primitives/linalg_lu.h"

#include "primitives/linalg_small.h"
#include "providers/lapack.h"

namespace tn::linalg {
namespace {

template <class T>
void note_condition(const T* lu, int64_t n, real_t<T> norm, int64_t i, IllConditioned* ill) {
  real_t<T> rcond = 1;
  lapack::Rcond<T>(n).of_lu(lu, n, norm, &rcond);
  if (ill->index < 0 && rcond < std::numeric_limits<real_t<T>>::epsilon()) *ill = {i, rcond};
}

template <class T>
int64_t factor_one(const Matrices<T>& a, int64_t i, const Matrices<T>& to, int32_t* pivots,
                   IllConditioned* ill) {
  const int64_t n = a.rows;
  T* lu = to[i];
  const real_t<T> norm = copy_finite(a, i, lu);
  if (std::isnan(norm)) {
    for (int64_t k = 0; k < n; ++k) pivots[k] = static_cast<int32_t>(k + 1);
    return kNotFinite;
  }
  const int64_t info = lapack::lu(n, n, lu, n, pivots);
  if (info == 0 && ill && suspicious(to, i)) note_condition(lu, n, norm, i, ill);
  return info;
}

// Which matrices of a stack of small ones the kernels could factor.
template <class T>
void factor_small(const Matrices<T>& a, Factored* f, bool* done) {
  const SmallStack<T> stack(a);
  small_lu_kernels<T>().lu(stack, f->lu.data, f->pivots.as<int32_t>(), static_cast<int>(a.rows + 1), done);
}

template <class T>
void factor_all(const Matrices<T>& a, Estimate estimate, Factored* f) {
  const int64_t n = a.rows;
  const bool small = is_small_stack(a), transposed = !small && a.transposed();
  const Matrices<T> from = transposed ? a.transpose() : a, to = matrices<T>(f->lu);
  IllConditioned* ill = estimate == Estimate::yes ? &f->ill : nullptr;
  Scratch flags(small ? a.count() : 0);
  bool* done = flags.as<bool>();
  if (small) factor_small(a, f, done);
  for (int64_t i = 0; i < a.count(); ++i) {
    int32_t* pivots = f->pivots.as<int32_t>() + i * (n + 1);
    const int64_t info = n == 0 || (small && done[i]) ? 0 : factor_one(from, i, to, pivots, ill);
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

}  // namespace

Factored factor_square(const Tensor& a, Estimate estimate) {
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
    factor_all(from, estimate, &f);
  });
  return f;
}

void report(const char* who, const Factored& f) {
  raise_failure(who, {"is singular", "pivot ", " is exactly zero"}, batch_of(f.lu), f.failure);
  if (f.ill.index < 0) return;
  const std::string message = text(who, ": a is nearly singular", at_batch(batch_of(f.lu), f.ill.index),
                                   ": its reciprocal condition number is about ", f.ill.rcond, ".");
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

bool invert_small(const Tensor& a, Tensor* y) {
  bool all = false;
  visit_inexact(a.dtype, [&]<class T>(Type<T>) {
    const Matrices<T> from = matrices<T>(a);
    if (!is_small_stack(from)) return;
    *y = empty(a.dtype, a.shape());
    Scratch flags(from.count());
    bool* done = flags.as<bool>();
    Unlocked unlocked(worth_unlocking(from.count() * from.rows * from.rows * from.rows));
    small_lu_kernels<T>().inverse(SmallStack<T>(from), y->data, done);
    all = std::all_of(done, done + from.count(), [](bool d) { return d; });
  });
  return all;
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
