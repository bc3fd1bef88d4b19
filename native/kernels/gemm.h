// The packed matrix product: blocks that fit the caches, what is packed and what is read in place.
#pragma once
#include "core/dtype.h"
#include "kernels/table.h"

namespace tn {

// Everything but blocks, packing and its memory is given. On the calling thread; inexact dtypes.
void gemm_in_blocks(DType dtype, Gemm g);

}  // namespace tn
