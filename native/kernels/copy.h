// Moves elements between strided layouts of one shape and dtype.
#pragma once
#include "core/tensor.h"

namespace tn {

// Touches no reference count, so it may run unlocked. The two must not overlap.
void copy_into(const Tensor& dst, const Tensor& src);
// The same for callers that count otherwise.
void move_into(const Tensor& dst, const Tensor& src);
// A row-major tensor of its own.
Tensor copy(const Tensor& t);
// Itself if it is row-major without gaps, else a copy.
Tensor contiguous(const Tensor& t);
// Writes the element at `value` (of dst's dtype) everywhere.
void fill(const Tensor& dst, const void* value);
void fill_zero(const Tensor& dst);
// A matrix (batched over leading axes) with zeros above (lower) or below its k-th diagonal.
Tensor copy_triangle(const Tensor& t, int64_t k, bool lower);
Tensor zeros(const Meta& meta);

}  // namespace tn
