// dot_general into memory that is there.
#pragma once
#include <complex>

#include "primitives/primitive.h"

namespace tn {

// out = alpha * dot_general(call) + beta * out; out is not read where beta is 0. Its axes are those of
// dot_general's output, in any strides that do not repeat memory, and none of it belongs to an operand.
void contract_into(const Call& call, const Tensor& out, std::complex<double> alpha,
                   std::complex<double> beta);

}  // namespace tn
