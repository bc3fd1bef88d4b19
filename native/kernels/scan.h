// Recurrences along an axis.
#pragma once
#include "core/tensor.h"

namespace tn {

// s[k] = a[k] * s[k - 1] + b[k] along an axis, from s[-1] = 0; from the other end if `reverse`. Sums,
// products and the derivatives of products are made of it. a and b have one shape and dtype.
Tensor linear_scan(const Tensor& a, const Tensor& b, int axis, bool reverse);

// y[k] = x[k - by] along an axis; zeros come in.
Tensor shift(const Tensor& x, int axis, int64_t by);

}  // namespace tn
