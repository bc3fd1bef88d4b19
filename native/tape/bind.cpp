#include "tape/bind.h"

namespace tn {

uint32_t visible_mask(const Primitive& p) { return ((1u << p.n_out) - 1) & ~p.hidden; }

void bind(const Primitive& p, std::span<const Value* const> in, const Attrs& attrs,
          std::span<const Size> sizes, uint32_t mask, Value* out) {
  std::vector<const Tensor*> tensors;
  for (const Value* v : in) tensors.push_back(&v->t);
  std::vector<int64_t> numbers;
  for (Size s : sizes) numbers.push_back(s.value);
  Tensor results[kMaxOutputs];
  p.kernel(Call{tensors, attrs, numbers, mask}, results);
  for (int j = 0; j < p.n_out; ++j)
    if (mask >> j & 1) out[j] = Value(std::move(results[j]));
}

Value bind1(const Primitive& p, std::span<const Value* const> in, const Attrs& attrs,
            std::span<const Size> sizes) {
  Value out[kMaxOutputs];
  bind(p, in, attrs, sizes, 1, out);
  return std::move(out[0]);
}

Size size_of(const Value& x, int axis) { return {x.t.shape()[axis]}; }

}  // namespace tn
