// One matrix product, on the native kernels or on the selected provider.
#pragma once
#include "core/dtype.h"
#include "kernels/table.h"

namespace tn {

// Below this many multiplications the native kernels win, in any strides: a provider's call costs more.
bool is_tiny(DType dtype, double multiplications);

// Whether a provider takes the operands as they are: unit stride one way, a leading dimension the other, the
// conjugate only together with a transposition.
bool provider_takes(const MatMul& x);

// m, n, k >= 1. A product that is not tiny must be one that a provider takes, unless its dtype is exact.
void gemm(DType dtype, const MatMul& x);

}  // namespace tn
