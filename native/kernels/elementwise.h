// The elementwise engine: one loop that runs any tile kernel over operands of any strides and dtypes.
#pragma once
#include "core/tensor.h"
#include "kernels/table.h"

namespace tn::elementwise {

constexpr int kMaxOperands = 3;

// A tile kernel for given dtypes, behind one signature.
struct Kernel {
  // Bit i of `scalars`: in[i] points at one element that meets all n of the others.
  using Call = void (*)(const Kernel&, const void* const* in, unsigned scalars, void* out, size_t n);

  Call call;
  int n_in;
  unsigned scalars_allowed;  // bit i: operand i may be a scalar
  DType in[kMaxOperands];    // what operands are cast to
  DType out;
  union {
    UnaryFn unary;
    BinaryKernels binary;
    WhereKernels where;
  };
};

// The kernels that fit operands of these dtypes: in their (promoted) dtype where the operation has one for
// it, in float64 for integers where it is a function of floats, else a TypeError that names the operation.
Kernel kernel(UnaryOp op, DType x);
Kernel kernel(BinaryOp op, DType a, DType b);
Kernel kernel(CompareOp op, DType a, DType b);
Kernel where_kernel(DType condition, DType a, DType b);
Kernel cast_kernel(DType from, DType to);

// The operations on tensors: broadcasting, promoting.
Tensor compute(UnaryOp op, const Tensor& x);
Tensor compute(BinaryOp op, const Tensor& a, const Tensor& b);
Tensor compute(CompareOp op, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor cast(const Tensor& x, DType to);

// What they are made of: broadcasts, casts and computes. The result has the axis order of the operands where
// they agree, else it is row-major. `who` begins error messages.
Tensor apply(const Kernel& k, std::span<const Tensor* const> in, const char* who);
// The same into `out`, which is dense and has the shape that the operands broadcast to. It may be an operand.
void apply_into(const Kernel& k, std::span<const Tensor* const> in, const Tensor& out);

// acc += x in place. False, and nothing done, if another tensor shares the storage of acc, or if shape or
// dtype differ.
bool add_inplace(Tensor& acc, const Tensor& x);

}  // namespace tn::elementwise
