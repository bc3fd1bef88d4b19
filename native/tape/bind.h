// bind: the one door to a primitive. The operand of the highest level decides what happens.
#pragma once
#include <string>
#include <vector>

#include "primitives/primitive.h"
#include "tape/value.h"

namespace tn {

// A dynamic integer of a call. In a trace it is also an expression of the graph's size table.
struct Size {
  int64_t value = 0;
  Graph* graph = nullptr;
  int expr = -1;
};

// What a node keeps of a call inside a trace.
struct Symbolic {
  std::vector<Value> outs;  // one level down: their sizes are symbolic
  std::vector<Size> sizes;
  std::string line;  // of the user's
};

// `out` has room for p.n_out values; outputs that are not in the mask stay default-constructed.
void bind(const Primitive& p, std::span<const Value* const> in, const Attrs& attrs,
          std::span<const Size> sizes, uint32_t mask, Value* out);
// Every output that is not hidden.
uint32_t visible_mask(const Primitive& p);
// The first output.
Value bind1(const Primitive& p, std::span<const Value* const> in, const Attrs& attrs = Attrs::none(),
            std::span<const Size> sizes = {});
// x.shape[axis], symbolic where x is traced.
Size size_of(const Value& x, int axis);

}  // namespace tn
