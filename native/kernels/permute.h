// Strided copies of one shape as a nest of tiles, in which reading and writing both go along memory.
#pragma once
#include "kernels/nest.h"

namespace tn {

// Copies operand 1 of a simplified nest to operand 0, in items of 1, 2, 4, 8 or 16 bytes.
void permute(const Nest<2>& nest, int64_t item);

}  // namespace tn
