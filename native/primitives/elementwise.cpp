// Elementwise primitives: every operation of the kernel table, where, astype, and the parts of complex
// numbers.
#include "kernels/elementwise.h"

#include <numeric>
#include <vector>

#include "kernels/reduce.h"
#include "primitives/tile_kernels.h"

namespace tn {
namespace {

using elementwise::Kernel;

DType dtype_of_operand(const Call& c, int i) { return c.in[i]->dtype; }

Kernel kernel_of(UnaryOp op, const Call& c) { return elementwise::kernel(op, dtype_of_operand(c, 0)); }
Kernel kernel_of(BinaryOp op, const Call& c) {
  return elementwise::kernel(op, dtype_of_operand(c, 0), dtype_of_operand(c, 1));
}
Kernel kernel_of(CompareOp op, const Call& c) {
  return elementwise::kernel(op, dtype_of_operand(c, 0), dtype_of_operand(c, 1));
}
Kernel where_kernel_of(const Call& c) {
  return elementwise::where_kernel(dtype_of_operand(c, 0), dtype_of_operand(c, 1), dtype_of_operand(c, 2));
}
DType dtype_attr(const Call& c) { return static_cast<DType>(c.attrs.scalar(0)); }

Meta meta(const Kernel& k, const Call& c, const char* who) {
  Dims shape = c.in[0]->shape();
  for (int i = 1; i < k.n_in; ++i) shape = broadcast_shapes(shape, c.in[i]->shape(), who);
  return {k.out, shape};
}

// Rounding an integer, and the conjugate or real part of a real number, are the number itself.
constexpr bool is_identity(UnaryOp op, DType t) {
  const bool rounds =
      op == UnaryOp::floor || op == UnaryOp::ceil || op == UnaryOp::trunc || op == UnaryOp::round;
  return rounds ? is_integer(t) : (op == UnaryOp::conj || op == UnaryOp::real) && !is_complex(t);
}

// The real (part 0) or imaginary (part 1) numbers inside complex ones, as a view.
Tensor complex_part(const Tensor& z, int part) {
  Tensor t = z;
  t.dtype = real_of(z.dtype);
  t.data += part * static_cast<int64_t>(itemsize(t.dtype));
  for (int64_t& s : t.layout.strides) s *= 2;
  return t;
}

template <UnaryOp op>
void unary_kernel(const Call& c, Tensor* out) {
  const Tensor& x = *c.in[0];
  if (is_identity(op, x.dtype))
    out[0] = x;
  else if ((op == UnaryOp::real || op == UnaryOp::imag) && is_complex(x.dtype))
    out[0] = complex_part(x, op == UnaryOp::imag);
  else
    out[0] = elementwise::compute(op, x);
}

template <UnaryOp op>
void unary_infer(const Call& c, Meta* out) {
  const Tensor& x = *c.in[0];
  out[0] = is_identity(op, x.dtype) ? Meta{x.dtype, x.shape()} : meta(kernel_of(op, c), c, name(op));
}

bool checks_exponent(DType base, DType exponent) { return is_integer(base) && is_integer(exponent); }

// Integers have no negative integer powers.
void check_exponent(const Tensor& base, const Tensor& exponent) {
  if (!checks_exponent(base.dtype, exponent.dtype) || exponent.numel() == 0) return;
  std::vector<int64_t> axes(exponent.ndim());
  std::iota(axes.begin(), axes.end(), int64_t{0});
  const Tensor least = elementwise::cast(reductions::reduce(ReduceOp::min, exponent, axes), DType::F64);
  if (*least.as<double>() < 0)
    fail(ErrorKind::Value, "pow: integers have no negative integer powers, got an exponent of ",
         static_cast<int64_t>(*least.as<double>()), ".");
}

template <auto op>
void binary_kernel(const Call& c, Tensor* out) {
  if constexpr (std::is_same_v<decltype(op), BinaryOp>)
    if (op == BinaryOp::pow) check_exponent(*c.in[0], *c.in[1]);
  out[0] = elementwise::compute(op, *c.in[0], *c.in[1]);
}

template <auto op>
void binary_infer(const Call& c, Meta* out) {
  out[0] = meta(kernel_of(op, c), c, name(op));
}

void where_kernel(const Call& c, Tensor* out) { out[0] = elementwise::where(*c.in[0], *c.in[1], *c.in[2]); }
void where_infer(const Call& c, Meta* out) { out[0] = meta(where_kernel_of(c), c, "where"); }

void astype_kernel(const Call& c, Tensor* out) { out[0] = elementwise::cast(*c.in[0], dtype_attr(c)); }
void astype_infer(const Call& c, Meta* out) { out[0] = {dtype_attr(c), c.in[0]->shape()}; }

// ---- the tile kernel for given dtypes

using KernelFor = Kernel (*)(const Attrs&, std::span<const DType>);

template <UnaryOp op>
Kernel unary_for(const Attrs&, std::span<const DType> t) {
  return is_identity(op, t[0]) ? elementwise::cast_kernel(t[0], t[0]) : elementwise::kernel(op, t[0]);
}
template <auto op>
Kernel binary_for(const Attrs&, std::span<const DType> t) {
  return elementwise::kernel(op, t[0], t[1]);
}
Kernel where_for(const Attrs&, std::span<const DType> t) {
  return elementwise::where_kernel(t[0], t[1], t[2]);
}
Kernel astype_for(const Attrs& attrs, std::span<const DType> t) {
  return elementwise::cast_kernel(t[0], static_cast<DType>(attrs.scalar(0)));
}

// By id of the primitive; null where it is not elementwise.
std::vector<KernelFor> kernel_for;

void add(const Primitive& p, KernelFor kernel) {
  kernel_for.resize(register_primitive(p).id + 1);
  kernel_for.back() = kernel;
}

}  // namespace

std::optional<Kernel> tile_kernel(const Primitive& p, const Attrs& attrs, std::span<const DType> dtypes) {
  static const int pow = primitive("pow").id;
  if (!p.is(kElementwise) || (p.id == pow && checks_exponent(dtypes[0], dtypes[1]))) return std::nullopt;
  return kernel_for[p.id](attrs, dtypes);
}

void register_elementwise() {
#define TN_REGISTER_UNARY(op) \
  add({#op, 1, 1, unary_infer<UnaryOp::op>, unary_kernel<UnaryOp::op>, kElementwise}, unary_for<UnaryOp::op>);
#define TN_REGISTER_BINARY(op)                                                            \
  add({#op, 2, 1, binary_infer<BinaryOp::op>, binary_kernel<BinaryOp::op>, kElementwise}, \
      binary_for<BinaryOp::op>);
#define TN_REGISTER_COMPARE(op)                                                             \
  add({#op, 2, 1, binary_infer<CompareOp::op>, binary_kernel<CompareOp::op>, kElementwise}, \
      binary_for<CompareOp::op>);
  TN_UNARY_OPS(TN_REGISTER_UNARY)
  TN_BINARY_OPS(TN_REGISTER_BINARY)
  TN_COMPARE_OPS(TN_REGISTER_COMPARE)
#undef TN_REGISTER_UNARY
#undef TN_REGISTER_BINARY
#undef TN_REGISTER_COMPARE
  add({"where", 3, 1, where_infer, where_kernel, kElementwise}, where_for);
  add({"astype", 1, 1, astype_infer, astype_kernel, kElementwise}, astype_for);
}

}  // namespace tn
