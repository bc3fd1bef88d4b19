// dot_general: out[batch, free of a, free of b] = sum over contracted axes of a * b.
// attrs: contract_a, contract_b, batch_a, batch_b, conj_a, conj_b.
//
// Every axis of the problem has a stride in a, in b and in the output. Axes along which nothing moves are
// summed or broadcast, not multiplied; the others are the axes of a Contraction (kernels/contraction.h).
#include "primitives/contraction.h"

#include <cstring>

#include "core/visit.h"
#include "kernels/contraction.h"
#include "kernels/copy.h"
#include "kernels/nest.h"

namespace tn {
namespace {

using AxisList = std::span<const int64_t>;

// ---- inference

bool holds(AxisList axes, int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

void check_axes(const Tensor& t, AxisList contract, AxisList batch, const char* which) {
  uint64_t seen = 0;
  for (AxisList group : {contract, batch})
    for (int64_t axis : group) {
      if (axis < 0 || axis >= t.ndim() || (seen >> axis & 1))
        fail(ErrorKind::Index, "dot_general: axis ", axis, " of ", which,
             " is out of bounds or named twice for shape ", show(t.shape()), ".");
      seen |= uint64_t{1} << axis;
    }
}

void check_pairs(const Call& c, AxisList of_a, AxisList of_b, const char* what) {
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
  const AxisList ka = c.attrs.list(0), kb = c.attrs.list(1), la = c.attrs.list(2), lb = c.attrs.list(3);
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

// ---- the problem

// `out` is the axis of the output, or -1 where the axis is contracted.
struct Labelled : Axis {
  int out;
};
using AllAxes = SmallVector<Labelled, 8>;

AllAxes axes_of(const Call& call) {
  const Tensor &a = *call.in[0], &b = *call.in[1];
  const AxisList ka = call.attrs.list(0), kb = call.attrs.list(1), la = call.attrs.list(2),
                 lb = call.attrs.list(3);
  AllAxes all;
  all.reserve(a.ndim() + b.ndim());
  int out = 0;
  auto paired = [&](int64_t i, int64_t j, int o) {
    all.push_back({{a.shape()[int(i)], a.strides()[int(i)], b.strides()[int(j)], 0}, o});
  };
  for (size_t i = 0; i < la.size(); ++i) paired(la[i], lb[i], out++);
  for (int i = 0; i < a.ndim(); ++i)
    if (!holds(ka, i) && !holds(la, i)) all.push_back({{a.shape()[i], a.strides()[i], 0, 0}, out++});
  for (int i = 0; i < b.ndim(); ++i)
    if (!holds(kb, i) && !holds(lb, i)) all.push_back({{b.shape()[i], 0, b.strides()[i], 0}, out++});
  for (size_t i = 0; i < ka.size(); ++i) paired(ka[i], kb[i], -1);
  return all;
}

// A row-major layout for the output, without a stride along axes along which nothing moves.
Layout output_layout(const Dims& shape, AllAxes& axes) {
  Layout out{shape, Dims(shape.size(), 0)};
  for (const Labelled& axis : axes)
    if (axis.out >= 0 && (axis.a || axis.b)) out.strides[axis.out] = 1;
  int64_t step = 1;
  for (int i = out.ndim() - 1; i >= 0; --i) {
    if (out.strides[i] == 0) continue;
    out.strides[i] = step;
    step *= shape[i];
  }
  return out;
}

// Axes of size 1 do not move.
void still_single_axes(AllAxes& axes) {
  for (Labelled& axis : axes)
    if (axis.size == 1) axis.a = axis.b = 0;
}

int64_t moving_size(const Layout& out) {
  int64_t n = 1;
  for (int i = 0; i < out.ndim(); ++i)
    if (out.strides[i] != 0) n *= out.shape[i];
  return n;
}

Tensor allocate(DType dtype, Layout layout) {
  Tensor flat = empty(dtype, Dims{moving_size(layout)});
  return view(flat, std::move(layout));
}

// The contraction of what moves, into `out`; an axis along which only the output moves is one of A.
Contraction contraction(const Tensor& a, const Tensor& b, const Tensor& out, const AllAxes& axes) {
  Contraction p{out.dtype, a.data, b.data, out.data, false, false, false, nullptr, {}, {}, {}, {}};
  for (const Labelled& axis : axes) {
    const int64_t c = axis.out < 0 ? 0 : out.strides()[axis.out];
    if (axis.size == 1 || (axis.a == 0 && axis.b == 0 && c == 0)) continue;
    Axes& group = axis.out < 0 ? p.k : axis.b == 0 ? p.m : axis.a == 0 ? p.n : p.batch;
    group.push_back({axis.size, axis.a, axis.b, c});
  }
  return p;
}

// ---- contracted axes along which an operand does not move

// Sums an operand over the contracted axes along which the other one does not move.
Tensor presummed(const Tensor& t, AllAxes& axes, int64_t Axis::* mine, int64_t Axis::* other) {
  Layout kept, all;
  Dims targets;
  for (Labelled& axis : axes) {
    if (axis.*mine == 0) continue;
    all.shape.push_back(axis.size);
    all.strides.push_back(axis.*mine);
    const bool summed = axis.out < 0 && axis.*other == 0;
    targets.push_back(summed ? 1 : axis.size);
    if (summed) axis.size = 1;
  }
  const Tensor whole = view(t, std::move(all));
  const Tensor* in[] = {&whole};
  Tensor sum;
  static const Primitive& sum_to = primitive("sum_to");
  sum_to.kernel(Call{in, Attrs::none(), targets, 1}, &sum);
  int i = 0;
  for (Labelled& axis : axes)
    if (axis.*mine != 0) axis.*mine = sum.strides()[i++];
  still_single_axes(axes);
  return sum;
}

bool needs_presum(const AllAxes& axes, int64_t Axis::* mine, int64_t Axis::* other) {
  return std::any_of(axes.begin(), axes.end(),
                     [=](const Labelled& x) { return x.out < 0 && x.*mine != 0 && x.*other == 0; });
}

// The product of the sizes of contracted axes along which neither moves.
double repetitions(const AllAxes& axes) {
  double n = 1;
  for (const Labelled& x : axes)
    if (x.out < 0 && x.a == 0 && x.b == 0) n *= static_cast<double>(x.size);
  return n;
}

constexpr double kWorthUnlocking = 1e5;

// Nothing is contracted: a broadcast multiplication.
Tensor outer_product(const Tensor& a, const Tensor& b, const AllAxes& axes, const Dims& shape) {
  Layout of_a, of_b, out{shape, Dims(shape.size(), 0)};
  for (const Labelled& axis : axes) {
    if (axis.a == 0 && axis.b == 0) continue;
    of_a.shape.push_back(axis.size);
    of_a.strides.push_back(axis.a);
    of_b.strides.push_back(axis.b);
  }
  of_b.shape = of_a.shape;
  const Tensor moving_a = view(a, std::move(of_a)), moving_b = view(b, std::move(of_b));
  const Tensor* in[] = {&moving_a, &moving_b};
  Tensor product;
  static const Primitive& multiply = primitive("multiply");
  multiply.kernel(Call{in, Attrs::none(), {}, 1}, &product);
  int i = 0;
  for (const Labelled& axis : axes)
    if (axis.a != 0 || axis.b != 0) out.strides[axis.out] = product.strides()[i++];
  return view(product, std::move(out));
}

bool contracts(const AllAxes& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const Labelled& x) { return x.out < 0 && (x.a || x.b); });
}

bool conjugates(const Call& c, int operand) {
  return is_complex(c.in[operand]->dtype) && c.attrs.scalar(4 + operand);
}

// An element of a dtype, as kernels want it.
struct Element {
  alignas(16) char bytes[16];
  Element(DType t, std::complex<double> value) {
    visit(t, [&]<class T>(Type<T>) {
      if constexpr (is_complex_v<T>)
        *reinterpret_cast<T*>(bytes) = T(value);
      else if constexpr (std::is_floating_point_v<T>)
        *reinterpret_cast<T*>(bytes) = T(value.real());
      else
        *reinterpret_cast<T*>(bytes) = T(static_cast<int64_t>(value.real()));  // which wraps
    });
  }
};

// Integers wrap in any order: an operand takes the factor.
Tensor multiplied(const Tensor& t, AllAxes& axes, double factor) {
  Layout moving;
  for (const Labelled& axis : axes)
    if (axis.a != 0) moving.shape.push_back(axis.size), moving.strides.push_back(axis.a);
  const Tensor whole = view(t, std::move(moving)), by = empty(t.dtype, Dims{});
  std::memcpy(by.data, Element(t.dtype, factor).bytes, itemsize(t.dtype));
  const Tensor* in[] = {&whole, &by};
  Tensor out;
  static const Primitive& multiply = primitive("multiply");
  multiply.kernel(Call{in, Attrs::none(), {}, 1}, &out);
  int i = 0;
  for (Labelled& axis : axes)
    if (axis.a != 0) axis.a = out.strides()[i++];
  return out;
}

// The operands with what can be summed before, and the axes as they are then.
struct Summed {
  Tensor a, b;
  double factor;

  Summed(const Call& call, AllAxes& axes) {
    still_single_axes(axes);
    factor = repetitions(axes);
    a = view(*call.in[0], call.in[0]->layout), b = view(*call.in[1], call.in[1]->layout);
    is_inexact(a.dtype) ? presum(axes) : multiply(axes);
  }

 private:
  void presum(AllAxes& axes) {
    if (needs_presum(axes, &Axis::a, &Axis::b)) a = presummed(a, axes, &Axis::a, &Axis::b);
    if (needs_presum(axes, &Axis::b, &Axis::a)) b = presummed(b, axes, &Axis::b, &Axis::a);
  }
  // Sums of integers would be wider, and kernels for them know no factor.
  void multiply(AllAxes& axes) {
    if (factor != 1 && !is_bool(a.dtype)) a = multiplied(a, axes, factor);
    factor = 1;
  }
};

// out = alpha * sum + (accumulate ? out : 0), for operands of which neither is empty.
void contract(const Call& call, const Summed& x, const AllAxes& axes, const Tensor& out,
              std::complex<double> alpha, bool accumulate) {
  Contraction p = contraction(x.a, x.b, out, axes);
  const Element factor(out.dtype, alpha * x.factor);
  p.conj_a = conjugates(call, 0), p.conj_b = conjugates(call, 1);
  p.accumulate = accumulate;
  p.alpha = alpha * x.factor == 1.0 ? nullptr : factor.bytes;
  Unlocked unlocked(work(p) > kWorthUnlocking);
  contract(p);
}

Tensor contract(const Call& call, const Meta& meta, AllAxes& axes) {
  const Summed x(call, axes);
  if (!contracts(axes) && !conjugates(call, 0) && !conjugates(call, 1) && x.factor == 1)
    return outer_product(x.a, x.b, axes, meta.shape);
  Tensor out = allocate(meta.dtype, output_layout(meta.shape, axes));
  contract(call, x, axes, out, 1, false);
  return out;
}

bool is_empty(const AllAxes& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const Labelled& axis) { return axis.size == 0; });
}

// Multiplies what is there; by 0, whatever it is.
void scale(const Tensor& t, std::complex<double> factor) {
  const Element by(t.dtype, factor);
  if (factor == 0.0) return fill(t, by.bytes);
  const auto item = static_cast<int64_t>(itemsize(t.dtype));
  Nest<1> elements{{}, {}, {t.data}};
  for (int i = 0; i < t.ndim(); ++i) elements.add(t.shape()[i], {t.strides()[i] * item});
  elements.simplify();
  const int last = elements.ndim() - 1;
  const bool rows = last >= 0 && elements.strides[0][last] == item;
  const auto n = static_cast<size_t>(rows ? elements.shape[last] : 1);
  const BinaryFn multiply = kernels().at(BinaryOp::multiply, t.dtype).vs;
  elements.each(rows, [&](auto& at) { multiply(at[0], by.bytes, at[0], n); });
}

// Two matrices without repeated elements, which is nearly every call.
bool plain_matrices(const Call& c, MatMul& x) {
  const Tensor &a = *c.in[0], &b = *c.in[1];
  if (a.ndim() != 2 || b.ndim() != 2 || a.dtype != b.dtype) return false;
  if (c.attrs.list(0).size() != 1 || c.attrs.list(1).size() != 1 || !c.attrs.list(2).empty()) return false;
  const int ka = static_cast<int>(c.attrs.scalar(0)), kb = static_cast<int>(c.attrs.scalar(1));
  if ((ka & ~1) || (kb & ~1) || a.shape()[ka] != b.shape()[kb]) return false;
  const int m = 1 - ka, n = 1 - kb;
  for (int i : {0, 1})
    if (a.strides()[i] == 0 || b.strides()[i] == 0) return false;
  x = {a.shape()[m],     b.shape()[n],     a.shape()[ka],  a.data,  a.strides()[m], a.strides()[ka],
       b.data,           b.strides()[kb],  b.strides()[n], nullptr, b.shape()[n],   1,
       conjugates(c, 0), conjugates(c, 1), false,          nullptr};
  return x.m > 0 && x.n > 0 && x.k > 0 && multiplies_directly(a.dtype, x);
}

void dot(const Call& call, Tensor* out) {
  MatMul x;
  if (plain_matrices(call, x)) {
    *out = empty(call.in[0]->dtype, Dims{x.m, x.n});
    x.c = out->data;
    Unlocked unlocked(work(x) > kWorthUnlocking);
    return multiply_matrices(out->dtype, x);
  }
  Meta meta;
  infer_dot(call, &meta);
  AllAxes axes = axes_of(call);
  if (product(meta.shape) == 0)
    *out = empty(meta);
  else if (is_empty(axes))
    *out = zeros(meta);
  else
    *out = contract(call, meta, axes);
}

}  // namespace

void contract_into(const Call& call, const Tensor& out, std::complex<double> alpha,
                   std::complex<double> beta) {
  Meta meta;
  infer_dot(call, &meta);
  if (!(meta.shape == out.shape()))
    fail(ErrorKind::Value, "contract_into: out must have the shape ", show(meta.shape), ", got ",
         show(out.shape()), ".");
  AllAxes axes = axes_of(call);
  const bool adds = beta != 0.0 && product(meta.shape) != 0;
  if (adds && beta != 1.0) scale(out, beta);
  if (product(meta.shape) == 0) return;
  if (is_empty(axes)) return adds ? void() : fill_zero(out);
  const Summed x(call, axes);
  contract(call, x, axes, out, alpha, adds);
}

void register_contraction() { register_primitive({"dot_general", 2, 1, infer_dot, dot}); }

}  // namespace tn
