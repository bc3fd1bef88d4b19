// One matrix product of plain strides: on the selected provider or, for exact dtypes, a native kernel.
#pragma once
#include "core/dtype.h"
#include "kernels/table.h"

namespace tn {

// Whether the operands can be used as they are. A provider wants a unit stride one way, a leading dimension
// the other, and the conjugate only together with a transposition.
bool takes(DType dtype, const MatMul& x);

// m, n, k >= 1, and takes(dtype, x).
void plain_product(DType dtype, const MatMul& x);

}  // namespace tn
