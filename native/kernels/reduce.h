// Reductions over any axes of tensors with any strides.
#pragma once
#include "core/tensor.h"
#include "kernels/table.h"

namespace tn::reductions {

// `axes` are sorted, non-negative and distinct; the result drops them. Both raise a TypeError that names the
// operation where it has no kernel for the dtype.
DType reduced_dtype(ReduceOp op, DType t);
Dims reduced_shape(std::span<const int64_t> shape, std::span<const int64_t> axes);
// ValueError where there are results to be chosen and nothing to choose them from.
void require_elements(const char* name, std::span<const int64_t> shape, std::span<const int64_t> axes);

// Sums have an error that grows with the logarithm of the number of elements. Nothing to reduce gives the
// identity, or a ValueError where there is none.
Tensor reduce(ReduceOp op, const Tensor& x, std::span<const int64_t> axes);

// The first index of the largest (smallest) element along one axis, or in row-major order over all axes.
Tensor arg_reduce(bool largest, const Tensor& x, std::span<const int64_t> axes);
// TypeError for a dtype that has no order.
void require_order(bool largest, DType t);

}  // namespace tn::reductions
