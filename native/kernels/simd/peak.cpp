// As many multiply-adds as the registers allow, and nothing else: what a core can do at most.
#include "native/kernels/simd/vector.h"

namespace tn {
namespace {

// Two units of a latency of four or five cycles are busy with ten independent chains.
constexpr int kChains = 12;

template <class R>
int64_t multiply_adds(int64_t repeats, void* operands) {
  using V = Vector<R>;
  R* x = static_cast<R*>(operands);
  const V factor = splat<V>(x[0]), term = splat<V>(x[1]);
  V sum[kChains];
  TN_UNROLL
  for (int i = 0; i < kChains; ++i) sum[i] = term;
  for (int64_t r = 0; r < repeats; ++r) {
    TN_UNROLL
    for (int i = 0; i < kChains; ++i) sum[i] = fma(sum[i], factor, term);
  }
  for (int i = 1; i < kChains; ++i) sum[0] += sum[i];
  x[2] = sum[0][0];
  return repeats * kChains * 2 * kLanes<V>;
}

}  // namespace

void TN_TARGET::fill_peak(KernelTable& table) {
  table.multiply_adds[0] = multiply_adds<float>;
  table.multiply_adds[1] = multiply_adds<double>;
}

}  // namespace tn
