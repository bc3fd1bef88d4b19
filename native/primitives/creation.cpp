// Tensors made from sizes.
#include "core/visit.h"
#include "kernels/copy.h"
#include "primitives/primitive.h"

namespace tn {
namespace {

DType dtype_attr(const Call& c) { return static_cast<DType>(c.attrs.scalar(0)); }

// ---- eye: sizes = rows, columns; attrs dtype, k

Meta of_sizes(const Call& c, DType dtype, const char* who) {
  checked_numel(c.sizes, who);
  return {dtype, Dims(c.sizes)};
}

void infer_eye(const Call& c, Meta* out) { *out = of_sizes(c, dtype_attr(c), "eye"); }

void eye(const Call& c, Tensor* out) {
  *out = zeros(of_sizes(c, dtype_attr(c), "eye"));
  const int64_t k = c.attrs.scalar(1), rows = c.sizes[0], columns = c.sizes[1];
  visit(out->dtype, [&]<class T>(Type<T>) {
    for (int64_t i = std::max<int64_t>(0, -k); i < rows && i + k < columns; ++i)
      out->as<T>()[i * columns + i + k] = T(1);
  });
}

// ---- size_tensor: a size as a number; sizes = n; attrs dtype

void infer_size_tensor(const Call& c, Meta* out) { *out = {dtype_attr(c), Dims{}}; }

void size_tensor(const Call& c, Tensor* out) {
  *out = scalar(dtype_attr(c), static_cast<double>(c.sizes[0]));
}

// ---- empty: sizes = shape; attrs dtype

void infer_empty(const Call& c, Meta* out) { *out = of_sizes(c, dtype_attr(c), "empty"); }

void make_empty(const Call& c, Tensor* out) { *out = empty(of_sizes(c, dtype_attr(c), "empty")); }

// ---- full: a 0-d operand everywhere; sizes = shape

void infer_full(const Call& c, Meta* out) {
  if (c.in[0]->ndim() != 0)
    fail(ErrorKind::Value, "full: fill_value must be a scalar, got shape ", show(c.in[0]->shape()), ".");
  *out = of_sizes(c, c.in[0]->dtype, "full");
}

void full(const Call& c, Tensor* out) {
  Meta meta;
  infer_full(c, &meta);
  *out = empty(meta);
  fill(*out, c.in[0]->data);
}

}  // namespace

void register_creation() {
  register_primitive({"eye", 0, 1, infer_eye, eye});
  register_primitive({"size_tensor", 0, 1, infer_size_tensor, size_tensor});
  register_primitive({"empty", 0, 1, infer_empty, make_empty});
  register_primitive({"full", 1, 1, infer_full, full});
}

}  // namespace tn
