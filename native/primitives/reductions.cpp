// Reductions: attrs are the axes (sorted, non-negative), which the result drops.
#include "kernels/reduce.h"
#include "primitives/primitive.h"

namespace tn {
namespace {

template <ReduceOp op>
void reduce_infer(const Call& c, Meta* out) {
  const Tensor& x = *c.in[0];
  out[0] = {reductions::reduced_dtype(op, x.dtype), reductions::reduced_shape(x.shape(), c.attrs.list(0))};
}

template <ReduceOp op>
void reduce_kernel(const Call& c, Tensor* out) {
  out[0] = reductions::reduce(op, *c.in[0], c.attrs.list(0));
}

}  // namespace

void register_reductions() {
#define TN_REGISTER(op) \
  register_primitive({#op, 1, 1, reduce_infer<ReduceOp::op>, reduce_kernel<ReduceOp::op>});
  TN_REDUCE_OPS(TN_REGISTER)
#undef TN_REGISTER
}

}  // namespace tn
