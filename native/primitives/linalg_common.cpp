#include "primitives/linalg_common.h"

namespace tn::linalg {
namespace {

template <class R, class Bits>
struct Absolute {
  typedef R V __attribute__((vector_size(16)));
  typedef Bits B __attribute__((vector_size(16)));
  static constexpr int kLanes = 16 / sizeof(R);
  static V load(const R* x) {
    V v;
    std::memcpy(&v, x, sizeof v);
    return (V)((B)v & ~(B)(-V{}));  // without the sign
  }
};

// Four sums run side by side: one would wait for each addition.
template <class R, class Bits>
R absolute_sum_of(const R* x, int64_t n) {
  using A = Absolute<R, Bits>;
  constexpr int k = A::kLanes;
  typename A::V s0{}, s1{}, s2{}, s3{};
  int64_t i = 0;
  for (; i + 4 * k <= n; i += 4 * k) {
    s0 += A::load(x + i);
    s1 += A::load(x + i + k);
    s2 += A::load(x + i + 2 * k);
    s3 += A::load(x + i + 3 * k);
  }
  R total = 0;
  for (; i < n; ++i) total += std::abs(x[i]);
  s0 += s1 + (s2 + s3);
  for (int lane = 0; lane < k; ++lane) total += s0[lane];
  return total;
}

}  // namespace

float absolute_sum(const float* x, int64_t n) { return absolute_sum_of<float, int32_t>(x, n); }
double absolute_sum(const double* x, int64_t n) { return absolute_sum_of<double, int64_t>(x, n); }

Offsets::Offsets(std::span<const int64_t> shape, std::span<const int64_t> strides) : count_(product(shape)) {
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == 1) continue;
    const int last = shape_.size() - 1;
    if (last >= 0 && strides_[last] == strides[k] * shape[k]) {
      shape_[last] *= shape[k];
      strides_[last] = strides[k];
    } else {
      shape_.push_back(shape[k]);
      strides_.push_back(strides[k]);
    }
  }
}

Tensor without_repeats(const Tensor& t) {
  Layout once = t.layout;
  for (int k = 0; k < t.ndim() - 2; ++k)
    if (once.strides[k] == 0 && once.shape[k] > 1) once.shape[k] = 1;
  return view(t, std::move(once));
}

Tensor with_repeats(const Tensor& t, std::span<const int64_t> batch) {
  Layout full = t.layout;
  for (size_t k = 0; k < batch.size(); ++k)
    if (full.shape[k] != batch[k]) {
      full.shape[k] = batch[k];
      full.strides[k] = 0;
    }
  return view(t, std::move(full));
}

std::string at_batch(std::span<const int64_t> batch, int64_t i) {
  if (batch.empty()) return "";
  if (batch.size() == 1) return text(" at batch index ", i);
  Dims index(batch);
  for (int k = index.size() - 1; k >= 0; --k) {
    index[k] = i % batch[k];
    i /= batch[k];
  }
  return text(" at batch index ", show(index));
}

void fail_not_finite(const char* who, std::span<const int64_t> batch, int64_t i) {
  fail(ErrorKind::LinAlg, who, ": a contains NaN or Inf", at_batch(batch, i), ".");
}

void raise_failure(const char* who, const Problem& problem, std::span<const int64_t> batch,
                   const Failure& failure) {
  if (!failure) return;
  if (failure.info == kNotFinite) fail_not_finite(who, batch, failure.index);
  const std::string detail =
      problem.before ? text(": ", problem.before, failure.info, problem.after) : std::string();
  fail(ErrorKind::LinAlg, who, ": a ", problem.what, at_batch(batch, failure.index), detail, " (LAPACK info ",
       failure.info, ").");
}

}  // namespace tn::linalg
