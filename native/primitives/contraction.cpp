// dot_general: out[batch, free of a, free of b] = sum over contracted axes of a * b.
// attrs: contract_a, contract_b, batch_a, batch_b, conj_a, conj_b.
#include "core/visit.h"
#include "kernels/copy.h"
#include "primitives/primitive.h"

namespace tn {
namespace {

using Axes = std::span<const int64_t>;

bool holds(Axes axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

void check_axes(const Tensor& t, Axes contract, Axes batch, const char* which) {
  uint64_t seen = 0;
  for (Axes group : {contract, batch})
    for (int64_t axis : group) {
      if (axis < 0 || axis >= t.ndim() || (seen >> axis & 1))
        fail(ErrorKind::Index, "dot_general: axis ", axis, " of ", which,
             " is out of bounds or named twice for shape ", show(t.shape()), ".");
      seen |= uint64_t{1} << axis;
    }
}

void check_pairs(const Call& c, Axes of_a, Axes of_b, const char* what) {
  const Tensor &a = *c.in[0], &b = *c.in[1];
  bool fits = of_a.size() == of_b.size();
  for (size_t i = 0; fits && i < of_a.size(); ++i)
    fits = a.shape()[static_cast<int>(of_a[i])] == b.shape()[static_cast<int>(of_b[i])];
  if (!fits)
    fail(ErrorKind::Value, "dot_general: ", what, " axes ", show(of_a), " of shape ", show(a.shape()),
         " and ", show(of_b), " of shape ", show(b.shape()), " must have the same sizes.");
}

void infer_dot(const Call& c, Meta* out) {
  const Tensor &a = *c.in[0], &b = *c.in[1];
  const Axes ka = c.attrs.list(0), kb = c.attrs.list(1), la = c.attrs.list(2), lb = c.attrs.list(3);
  if (a.dtype != b.dtype)
    fail(ErrorKind::Type, "dot_general: dtypes must agree, got ", name(a.dtype), " and ", name(b.dtype), ".");
  check_axes(a, ka, la, "a");
  check_axes(b, kb, lb, "b");
  check_pairs(c, ka, kb, "contracted");
  check_pairs(c, la, lb, "batch");
  *out = {a.dtype, Dims{}};
  for (int64_t axis : la) out->shape.push_back(a.shape()[static_cast<int>(axis)]);
  for (int i = 0; i < a.ndim(); ++i)
    if (!holds(ka, i) && !holds(la, i)) out->shape.push_back(a.shape()[i]);
  for (int i = 0; i < b.ndim(); ++i)
    if (!holds(kb, i) && !holds(lb, i)) out->shape.push_back(b.shape()[i]);
}

// Axes in the order batch, free, contracted, packed row-major.
Tensor packed(const Tensor& t, Axes contract, Axes batch) {
  Layout order;
  auto add = [&](int axis) {
    order.shape.push_back(t.shape()[axis]);
    order.strides.push_back(t.strides()[axis]);
  };
  for (int64_t axis : batch) add(static_cast<int>(axis));
  for (int i = 0; i < t.ndim(); ++i)
    if (!holds(contract, i) && !holds(batch, i)) add(i);
  for (int64_t axis : contract) add(static_cast<int>(axis));
  return contiguous(view(t, std::move(order)));
}

template <class T>
T conjugate(T x, bool really) {
  if constexpr (is_complex_v<T>)
    return really ? std::conj(x) : x;
  else
    return x;
}

void dot(const Call& c, Tensor* out) {
  Meta meta;
  infer_dot(c, &meta);
  *out = empty(meta);
  const Tensor a = packed(*c.in[0], c.attrs.list(0), c.attrs.list(2));
  const Tensor b = packed(*c.in[1], c.attrs.list(1), c.attrs.list(3));
  const bool conj_a = c.attrs.scalar(4), conj_b = c.attrs.scalar(5);
  int64_t batch = 1, k = 1;
  for (int64_t axis : c.attrs.list(2)) batch *= c.in[0]->shape()[static_cast<int>(axis)];
  for (int64_t axis : c.attrs.list(0)) k *= c.in[0]->shape()[static_cast<int>(axis)];
  if (out->numel() == 0) return;
  if (k == 0) return fill_zero(*out);
  const int64_t m = a.numel() / (batch * k), n = b.numel() / (batch * k);
  visit(a.dtype, [&]<class T>(Type<T>) {
    T* o = out->as<T>();
    for (int64_t l = 0; l < batch; ++l)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          T sum = 0;
          for (int64_t p = 0; p < k; ++p)
            sum += conjugate(a.as<T>()[(l * m + i) * k + p], conj_a) *
                   conjugate(b.as<T>()[(l * n + j) * k + p], conj_b);
          *o++ = sum;
        }
  });
}

}  // namespace

void register_contraction() { register_primitive({"dot_general", 2, 1, infer_dot, dot}); }

}  // namespace tn
