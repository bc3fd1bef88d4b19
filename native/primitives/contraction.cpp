// dot_general: out[batch, free of a, free of b] = sum over contracted axes of a * b.
// attrs: contract_a, contract_b, batch_a, batch_b, conj_a, conj_b.
//
// Every axis of the problem has a stride in a, in b and in the output. Axes along which nothing moves are
// summed or broadcast, not multiplied; the others fall into four groups (batch, m, n, k); in each of m, n and
// k one run of axes goes into the matrix product and the rest, with the batch, into loops around it. An
// operand is packed only where no such choice gives a provider strides that it takes, or where the product
// inside the loops would be too small.
#include "core/observe.h"
#include "core/visit.h"
#include "kernels/copy.h"
#include "kernels/gemm.h"
#include "kernels/nest.h"
#include "primitives/primitive.h"

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

// Strides in elements. `out` is the axis of the output, or -1 where the axis is contracted.
struct Axis {
  int64_t size, a, b, c;
  int out;
};
using Axes = std::vector<Axis>;

Axes axes_of(const Call& call) {
  const Tensor &a = *call.in[0], &b = *call.in[1];
  const AxisList ka = call.attrs.list(0), kb = call.attrs.list(1), la = call.attrs.list(2),
                 lb = call.attrs.list(3);
  Axes all;
  all.reserve(a.ndim() + b.ndim());
  int out = 0;
  auto paired = [&](int64_t i, int64_t j, int o) {
    all.push_back({a.shape()[int(i)], a.strides()[int(i)], b.strides()[int(j)], 0, o});
  };
  for (size_t i = 0; i < la.size(); ++i) paired(la[i], lb[i], out++);
  for (int i = 0; i < a.ndim(); ++i)
    if (!holds(ka, i) && !holds(la, i)) all.push_back({a.shape()[i], a.strides()[i], 0, 0, out++});
  for (int i = 0; i < b.ndim(); ++i)
    if (!holds(kb, i) && !holds(lb, i)) all.push_back({b.shape()[i], 0, b.strides()[i], 0, out++});
  for (size_t i = 0; i < ka.size(); ++i) paired(ka[i], kb[i], -1);
  return all;
}

struct Problem {
  DType dtype;
  char *a, *b, *c;
  bool conj_a, conj_b;
  Axes batch, m, n, k;
};

bool joins(const Axis& outer, const Axis& inner) {
  return outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
         outer.c == inner.c * inner.size;
}

// Axes of the output from the slowest to the fastest: row-major, but for axes of b that would keep its last
// ones from being one run: a loop over them is cheaper than a copy, and runs outside.
std::vector<Axis*> memory_order(Axes& axes) {
  std::vector<Axis*> order;
  int run = static_cast<int>(axes.size());
  for (int i = run - 1; i >= 0; --i) {
    if (axes[i].out < 0 || axes[i].a != 0 || axes[i].b == 0) continue;
    if (run < static_cast<int>(axes.size()) && !joins(axes[i], axes[run])) break;
    run = i;
  }
  auto is_loop = [&](int i) { return i < run && axes[i].a == 0; };
  auto is_batch = [&](int i) { return axes[i].a != 0 && axes[i].b != 0; };
  auto add = [&](auto&& chosen) {
    for (int i = 0; i < static_cast<int>(axes.size()); ++i)
      if (axes[i].out >= 0 && (axes[i].a || axes[i].b) && chosen(i)) order.push_back(&axes[i]);
  };
  add(is_batch);
  add([&](int i) { return !is_batch(i) && is_loop(i); });
  add([&](int i) { return !is_batch(i) && !is_loop(i); });
  return order;
}

// Gives the output a layout without gaps, and no stride along axes along which nothing moves.
Layout output_layout(const Dims& shape, Axes& axes) {
  Layout out{shape, Dims(shape.size(), 0)};
  int64_t step = 1;
  const std::vector<Axis*> order = memory_order(axes);
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    out.strides[(*axis)->out] = (*axis)->c = step;
    step *= (*axis)->size;
  }
  return out;
}

// Axes of size 1 do not move.
void still_single_axes(Axes& axes) {
  for (Axis& axis : axes)
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

void group(Problem& p, const Axes& axes) {
  for (const Axis& axis : axes) {
    if (axis.a == 0 && axis.b == 0) continue;
    (axis.out < 0 ? p.k : axis.a == 0 ? p.n : axis.b == 0 ? p.m : p.batch).push_back(axis);
  }
}

// ---- contracted axes along which an operand does not move

// Sums an operand over the contracted axes along which the other one does not move.
Tensor presummed(const Tensor& t, Axes& axes, int64_t Axis::* mine, int64_t Axis::* other) {
  Layout kept, all;
  Dims targets;
  for (Axis& axis : axes) {
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
  for (Axis& axis : axes)
    if (axis.*mine != 0) axis.*mine = sum.strides()[i++];
  still_single_axes(axes);
  return sum;
}

bool needs_presum(const Axes& axes, int64_t Axis::* mine, int64_t Axis::* other) {
  return std::any_of(axes.begin(), axes.end(),
                     [=](const Axis& x) { return x.out < 0 && x.*mine != 0 && x.*other == 0; });
}

// The product of the sizes of contracted axes along which neither moves.
double repetitions(const Axes& axes) {
  double n = 1;
  for (const Axis& x : axes)
    if (x.out < 0 && x.a == 0 && x.b == 0) n *= static_cast<double>(x.size);
  return n;
}

// ---- the product inside, the loops outside

// Joins neighbours that are one run in every operand.
void join_runs(Axes& axes) {
  for (int i = static_cast<int>(axes.size()) - 2; i >= 0; --i) {
    const Axis& inner = axes[i + 1];
    if (!joins(axes[i], inner)) continue;
    axes[i] = {axes[i].size * inner.size, inner.a, inner.b, inner.c, inner.out};
    axes.erase(axes.begin() + i + 1);
  }
}

void sort_by(Axes& axes, int64_t Axis::* stride) {
  std::stable_sort(axes.begin(), axes.end(),
                   [=](const Axis& x, const Axis& y) { return std::abs(x.*stride) > std::abs(y.*stride); });
}

// The order of contracted axes is free: the one that leaves fewer runs.
void order_contracted(Axes& k) {
  Axes other = k;
  sort_by(k, &Axis::a);
  join_runs(k);
  sort_by(other, &Axis::b);
  join_runs(other);
  if (other.size() < k.size()) k = std::move(other);
}

void simplify(Problem& p) {
  order_contracted(p.k);
  for (Axes* group : {&p.batch, &p.m, &p.n}) join_runs(*group);
}

// Which axis of each group is in the product; -1 where the group is empty.
struct Choice {
  int m = -1, n = -1, k = -1;
  double volume = 0;  // multiplications in the product
};

constexpr Axis kNone{1, 0, 0, 0, -1};
const Axis& at(const Axes& axes, int i) { return i < 0 ? kNone : axes[i]; }

MatMul product_of(const Problem& p, const Choice& choice) {
  const Axis &m = at(p.m, choice.m), &n = at(p.n, choice.n), &k = at(p.k, choice.k);
  return {m.size, n.size, k.size, p.a, m.a, k.a, p.b, k.b, n.b, p.c, m.c, n.c, p.conj_a, p.conj_b, false};
}

template <class F>
void each_choice(const Problem& p, F&& f) {
  auto first = [](const Axes& axes) { return axes.empty() ? -1 : 0; };
  for (int m = first(p.m); m < static_cast<int>(p.m.size()); ++m)
    for (int n = first(p.n); n < static_cast<int>(p.n.size()); ++n)
      for (int k = first(p.k); k < static_cast<int>(p.k.size()); ++k) f(Choice{m, n, k});
}

double volume(const MatMul& x) {
  return static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k);
}

// The largest product that can run; volume 0 if there is none.
Choice best_choice(const Problem& p) {
  Choice best;
  each_choice(p, [&](Choice choice) {
    const MatMul product = product_of(p, choice);
    choice.volume = volume(product);
    if (choice.volume > best.volume && (is_tiny(p.dtype, choice.volume) || provider_takes(product)))
      best = choice;
  });
  return best;
}

double volume_of(const Axes& axes) {
  double n = 1;
  for (const Axis& axis : axes) n *= static_cast<double>(axis.size);
  return n;
}

// Around a product of this size, a loop costs little.
constexpr double kWorthALoop = 32 * 32 * 32;

bool good(const Problem& p, const Choice& choice) {
  const double whole = volume_of(p.m) * volume_of(p.n) * volume_of(p.k);
  return choice.volume > 0 && (choice.volume >= std::min(whole, kWorthALoop) || is_tiny(p.dtype, whole));
}

// ---- packing

struct Packing {
  bool a = false, b = false;
};

template <class F>
void each_axis(Problem& p, Axes Problem::* free, F&& f) {
  for (Axes* group : {&p.batch, &(p.*free), &p.k})
    for (Axis& axis : *group) f(axis);
}

Layout layout_of(Problem& p, Axes Problem::* free, int64_t Axis::* stride) {
  Layout out;
  each_axis(p, free, [&](Axis& axis) {
    out.shape.push_back(axis.size);
    out.strides.push_back(axis.*stride);
  });
  return out;
}

// Row-major in the order batch, free, contracted.
void lay_out(Problem& p, Axes Problem::* free, int64_t Axis::* stride) {
  const Layout packed = Layout::c_contiguous(layout_of(p, free, stride).shape);
  int i = 0;
  each_axis(p, free, [&](Axis& axis) { axis.*stride = packed.strides[i++]; });
}

void order_for_packing(Problem& p, Packing which) {
  if (which.a != which.b) sort_by(p.k, which.a ? &Axis::b : &Axis::a);
}

// The problem as it would be with those operands packed.
Problem assume_packed(Problem p, Packing which) {
  order_for_packing(p, which);
  if (which.a) lay_out(p, &Problem::m, &Axis::a);
  if (which.b) lay_out(p, &Problem::n, &Axis::b);
  p.conj_a = p.conj_a && !which.a;
  p.conj_b = p.conj_b && !which.b;
  simplify(p);
  return p;
}

void conjugate(const Tensor& dense) {
  visit(dense.dtype, [&]<class T>(Type<T>) {
    if constexpr (is_complex_v<T>)
      for (int64_t i = 0; i < dense.numel(); ++i) dense.as<T>()[i] = std::conj(dense.as<T>()[i]);
  });
}

Tensor packed_copy(DType dtype, char* data, Layout layout, bool conj) {
  Tensor source;
  source.dtype = dtype;
  source.data = data;
  source.layout = std::move(layout);
  Tensor out = empty(dtype, source.shape());
  move_into(out, source);
  observe::materialise(out.storage->bytes);
  if (conj) conjugate(out);
  return out;
}

// Packs; the copies live as long as `held`.
void pack(Problem& p, Packing which, Tensor (&held)[2]) {
  order_for_packing(p, which);
  Problem packed = assume_packed(p, which);
  if (which.a) {
    held[0] = packed_copy(p.dtype, p.a, layout_of(p, &Problem::m, &Axis::a), p.conj_a);
    packed.a = held[0].data;
  }
  if (which.b) {
    held[1] = packed_copy(p.dtype, p.b, layout_of(p, &Problem::n, &Axis::b), p.conj_b);
    packed.b = held[1].data;
  }
  p = std::move(packed);
}

// Packs where that makes the choice better, the smaller operand rather than the larger one.
Choice plan(Problem& p, Tensor (&held)[2]) {
  simplify(p);
  Choice best = best_choice(p);
  Packing packing;
  const bool a_smaller = volume_of(p.m) < volume_of(p.n);
  for (Packing which : {Packing{a_smaller, !a_smaller}, {!a_smaller, a_smaller}, {true, true}}) {
    if (good(p, best)) break;
    const Choice choice = best_choice(assume_packed(p, which));
    if (choice.volume <= best.volume) continue;
    best = choice;
    packing = which;
  }
  if (packing.a || packing.b) pack(p, packing, held);
  return best;
}

// ---- running

using Loops = Nest<3>;

void add_loops(Loops& loops, const Axes& axes, int inside, int64_t item) {
  for (int i = 0; i < static_cast<int>(axes.size()); ++i)
    if (i != inside) loops.add(axes[i].size, {axes[i].c * item, axes[i].a * item, axes[i].b * item});
}

void run(const Problem& p, const Choice& choice) {
  const auto item = static_cast<int64_t>(itemsize(p.dtype));
  Loops outer{{}, {}, {p.c, p.a, p.b}}, sums;
  add_loops(outer, p.batch, -1, item);
  add_loops(outer, p.m, choice.m, item);
  add_loops(outer, p.n, choice.n, item);
  add_loops(sums, p.k, choice.k, item);
  MatMul product = product_of(p, choice);
  outer.each(0, [&](auto& at) {
    sums.data = at;
    product.accumulate = false;
    sums.each(0, [&](auto& inner) {
      product.c = inner[0];
      product.a = inner[1];
      product.b = inner[2];
      gemm(p.dtype, product);
      product.accumulate = true;
    });
  });
}

void scale(const Tensor& flat, double factor) {
  if (factor == 1) return;
  visit(flat.dtype, [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < flat.numel(); ++i) flat.as<T>()[i] = T(flat.as<T>()[i] * T(factor));
  });
}

double work(const Problem& p) {
  return volume_of(p.batch) * volume_of(p.m) * volume_of(p.n) * volume_of(p.k);
}
constexpr double kWorthUnlocking = 1e5;

// Nothing is contracted: a broadcast multiplication.
Tensor outer_product(const Tensor& a, const Tensor& b, const Axes& axes, const Dims& shape) {
  Layout of_a, of_b, out{shape, Dims(shape.size(), 0)};
  for (const Axis& axis : axes) {
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
  for (const Axis& axis : axes)
    if (axis.a != 0 || axis.b != 0) out.strides[axis.out] = product.strides()[i++];
  return view(product, std::move(out));
}

bool contracts(const Axes& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const Axis& x) { return x.out < 0 && (x.a || x.b); });
}

bool conjugates(const Call& c, int operand) {
  return is_complex(c.in[operand]->dtype) && c.attrs.scalar(4 + operand);
}

// Any operands of which neither is empty.
Tensor contract(const Call& call, const Meta& meta, Axes axes) {
  still_single_axes(axes);
  const double factor = repetitions(axes);
  Tensor a = view(*call.in[0], call.in[0]->layout), b = view(*call.in[1], call.in[1]->layout);
  if (is_inexact(meta.dtype)) {  // sums of integers would be wider
    if (needs_presum(axes, &Axis::a, &Axis::b)) a = presummed(a, axes, &Axis::a, &Axis::b);
    if (needs_presum(axes, &Axis::b, &Axis::a)) b = presummed(b, axes, &Axis::b, &Axis::a);
  }
  const bool conj_a = conjugates(call, 0), conj_b = conjugates(call, 1);
  if (!contracts(axes) && !conj_a && !conj_b && factor == 1) return outer_product(a, b, axes, meta.shape);
  Tensor out = allocate(meta.dtype, output_layout(meta.shape, axes));
  Problem p{meta.dtype, a.data, b.data, out.data, conj_a, conj_b, {}, {}, {}, {}};
  group(p, axes);
  Tensor held[2];
  const Choice choice = plan(p, held);
  {
    Unlocked unlocked(work(p) > kWorthUnlocking);
    run(p, choice);
  }
  scale(view(out, {{moving_size(out.layout)}, {1}}), factor);
  return out;
}

// Two matrices that a kernel takes as they are, which is nearly every call.
bool plain_product(const Call& c, MatMul& x) {
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
       conjugates(c, 0), conjugates(c, 1), false};
  return x.m > 0 && x.n > 0 && x.k > 0 && (is_tiny(a.dtype, volume(x)) || provider_takes(x));
}

void dot(const Call& call, Tensor* out) {
  MatMul x;
  if (plain_product(call, x)) {
    *out = empty(call.in[0]->dtype, Dims{x.m, x.n});
    x.c = out->data;
    Unlocked unlocked(volume(x) > kWorthUnlocking);
    return gemm(out->dtype, x);
  }
  Meta meta;
  infer_dot(call, &meta);
  Axes axes = axes_of(call);
  if (product(meta.shape) == 0)
    *out = empty(meta);
  else if (volume_of(axes) == 0)
    *out = zeros(meta);
  else
    *out = contract(call, meta, std::move(axes));
}

}  // namespace

void register_contraction() { register_primitive({"dot_general", 2, 1, infer_dot, dot}); }

}  // namespace tn
