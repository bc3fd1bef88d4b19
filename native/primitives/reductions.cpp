// Reductions: attrs are the axes (sorted, non-negative), which the result drops.
#include <cstring>

#include "kernels/reduce.h"
#include "kernels/scan.h"
#include "primitives/tile_kernels.h"

namespace tn {
namespace {

template <ReduceOp op>
void reduce_infer(const Call& c, Meta* out) {
  const Tensor& x = *c.in[0];
  if (op == ReduceOp::max || op == ReduceOp::min)
    reductions::require_elements(op == ReduceOp::max ? "max" : "min", x.shape(), c.attrs.list(0));
  out[0] = {reductions::reduced_dtype(op, x.dtype), reductions::reduced_shape(x.shape(), c.attrs.list(0))};
}

template <ReduceOp op>
void reduce_kernel(const Call& c, Tensor* out) {
  out[0] = reductions::reduce(op, *c.in[0], c.attrs.list(0));
}

template <bool largest>
void arg_infer(const Call& c, Meta* out) {
  reductions::require_order(largest, c.in[0]->dtype);
  if (c.attrs.list(0).size() == static_cast<size_t>(c.in[0]->ndim()) && c.in[0]->ndim() != 1) {
    if (c.in[0]->numel() == 0) reductions::require_elements(largest ? "argmax" : "argmin", Dims{0}, Dims{0});
  } else {
    reductions::require_elements(largest ? "argmax" : "argmin", c.in[0]->shape(), c.attrs.list(0));
  }
  out[0] = {DType::I64, reductions::reduced_shape(c.in[0]->shape(), c.attrs.list(0))};
}

template <bool largest>
void arg_kernel(const Call& c, Tensor* out) {
  out[0] = reductions::arg_reduce(largest, *c.in[0], c.attrs.list(0));
}

// attrs axis, reverse: operands a, b of s[k] = a[k] s[k - 1] + b[k].
void scan_infer(const Call& c, Meta* out) {
  const Tensor &a = *c.in[0], &b = *c.in[1];
  if (a.dtype != b.dtype || is_bool(b.dtype))
    fail(ErrorKind::Type, "linear_scan: dtypes must agree and not be bool, got ", name(a.dtype), " and ",
         name(b.dtype), ".");
  if (!(a.shape() == b.shape()))
    fail(ErrorKind::Value, "linear_scan: shapes must agree, got ", show(a.shape()), " and ", show(b.shape()),
         ".");
  out[0] = {b.dtype, b.shape()};
}

void scan_kernel(const Call& c, Tensor* out) {
  Meta meta;
  scan_infer(c, &meta);
  out[0] = linear_scan(*c.in[0], *c.in[1], static_cast<int>(c.attrs.scalar(0)), c.attrs.scalar(1));
}

// attrs axis, by.
void shift_infer(const Call& c, Meta* out) { out[0] = {c.in[0]->dtype, c.in[0]->shape()}; }
void shift_kernel(const Call& c, Tensor* out) {
  out[0] = shift(*c.in[0], static_cast<int>(c.attrs.scalar(0)), c.attrs.scalar(1));
}

}  // namespace

std::optional<ReduceOp> reduction_of(const Primitive& p) {
  for (int i = 0; i < kReduceOps; ++i)
    if (std::strcmp(p.name, name(static_cast<ReduceOp>(i))) == 0) return static_cast<ReduceOp>(i);
  return std::nullopt;
}

void register_reductions() {
#define TN_REGISTER(op) \
  register_primitive({#op, 1, 1, reduce_infer<ReduceOp::op>, reduce_kernel<ReduceOp::op>});
  TN_REDUCE_OPS(TN_REGISTER)
#undef TN_REGISTER
  register_primitive({"argmax", 1, 1, arg_infer<true>, arg_kernel<true>});
  register_primitive({"argmin", 1, 1, arg_infer<false>, arg_kernel<false>});
  register_primitive({"linear_scan", 2, 1, scan_infer, scan_kernel});
  register_primitive({"shift", 1, 1, shift_infer, shift_kernel});
}

}  // namespace tn
