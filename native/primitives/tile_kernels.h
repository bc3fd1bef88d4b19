// From primitives to tile kernels, for programs that run several of them tile by tile.
#pragma once
#include <optional>

#include "kernels/elementwise.h"
#include "primitives/primitive.h"

namespace tn {

// The kernel of an elementwise primitive for operands of these dtypes; none if the primitive is no such
// thing, or looks at its operands before it computes. Where the result is the operand itself, it is the
// kernel that copies.
std::optional<elementwise::Kernel> tile_kernel(const Primitive& p, const Attrs& attrs,
                                               std::span<const DType> dtypes);

// The reduction over axes that the primitive is.
std::optional<ReduceOp> reduction_of(const Primitive& p);

}  // namespace tn
