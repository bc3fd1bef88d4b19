// Contractions on kernels that take plain strides: one run of axes of each of m, n and k goes into the matrix
// product, the rest, with the batch, into loops around it. An operand is packed only where no such choice
// gives strides that the kernel takes, or where the product inside the loops would be too small.
#include "core/observe.h"
#include "core/visit.h"
#include "kernels/contraction.h"
#include "kernels/copy.h"
#include "kernels/nest.h"
#include "kernels/plain_product.h"

namespace tn {
namespace {

// The order of contracted axes is free: the one that leaves fewer runs.
void order_contracted(Axes& k) {
  Axes other = k;
  sort_by(k, &Axis::a);
  join_runs(k);
  sort_by(other, &Axis::b);
  join_runs(other);
  if (other.size() < k.size()) k = other;
}

void simplify(Contraction& p) {
  order_contracted(p.k);
  for (Axes* group : {&p.batch, &p.m, &p.n}) join_runs(*group);
}

// Which axis of each group is in the product; -1 where the group is empty.
struct Choice {
  int m = -1, n = -1, k = -1;
  double volume = 0;  // multiplications in the product
};

constexpr Axis kNone{1, 0, 0, 0};
const Axis& at(const Axes& axes, int i) { return i < 0 ? kNone : axes[i]; }

MatMul product_of(const Contraction& p, const Choice& choice) {
  const Axis &m = at(p.m, choice.m), &n = at(p.n, choice.n), &k = at(p.k, choice.k);
  return {m.size, n.size, k.size, p.a, m.a,      k.a,      p.b,          k.b,
          n.b,    p.c,    m.c,    n.c, p.conj_a, p.conj_b, p.accumulate, p.alpha};
}

template <class F>
void each_choice(const Contraction& p, F&& f) {
  auto first = [](const Axes& axes) { return axes.empty() ? -1 : 0; };
  for (int m = first(p.m); m < p.m.size(); ++m)
    for (int n = first(p.n); n < p.n.size(); ++n)
      for (int k = first(p.k); k < p.k.size(); ++k) f(Choice{m, n, k});
}

// The largest product that can run; volume 0 if there is none.
Choice best_choice(const Contraction& p) {
  Choice best;
  each_choice(p, [&](Choice choice) {
    const MatMul product = product_of(p, choice);
    choice.volume = work(product);
    if (choice.volume > best.volume && takes(p.dtype, product)) best = choice;
  });
  return best;
}

// Around a product of this size, a loop costs little.
constexpr double kWorthALoop = 32 * 32 * 32;

bool good(const Contraction& p, const Choice& choice) {
  const double whole = volume(p.m) * volume(p.n) * volume(p.k);
  return choice.volume > 0 && (choice.volume >= std::min(whole, kWorthALoop) || !is_inexact(p.dtype));
}

// ---- packing

struct Packing {
  bool a = false, b = false;
};

template <class F>
void each_axis(Contraction& p, Axes Contraction::* free, F&& f) {
  for (Axes* group : {&p.batch, &(p.*free), &p.k})
    for (Axis& axis : *group) f(axis);
}

Layout layout_of(Contraction& p, Axes Contraction::* free, int64_t Axis::* stride) {
  Layout out;
  each_axis(p, free, [&](Axis& axis) {
    out.shape.push_back(axis.size);
    out.strides.push_back(axis.*stride);
  });
  return out;
}

// Row-major in the order batch, free, contracted.
void lay_out(Contraction& p, Axes Contraction::* free, int64_t Axis::* stride) {
  const Layout packed = Layout::c_contiguous(layout_of(p, free, stride).shape);
  int i = 0;
  each_axis(p, free, [&](Axis& axis) { axis.*stride = packed.strides[i++]; });
}

void order_for_packing(Contraction& p, Packing which) {
  if (which.a != which.b) sort_by(p.k, which.a ? &Axis::b : &Axis::a);
}

// The problem as it would be with those operands packed.
Contraction assume_packed(Contraction p, Packing which) {
  order_for_packing(p, which);
  if (which.a) lay_out(p, &Contraction::m, &Axis::a);
  if (which.b) lay_out(p, &Contraction::n, &Axis::b);
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

Tensor packed_copy(DType dtype, const char* data, Layout layout, bool conj) {
  Tensor source;
  source.dtype = dtype;
  source.data = const_cast<char*>(data);
  source.layout = std::move(layout);
  Tensor out = empty(dtype, source.shape());
  move_into(out, source);
  observe::materialise(out.storage->bytes);
  if (conj) conjugate(out);
  return out;
}

// Packs; the copies live as long as `held`.
void pack(Contraction& p, Packing which, Tensor (&held)[2]) {
  order_for_packing(p, which);
  Contraction packed = assume_packed(p, which);
  if (which.a) {
    held[0] = packed_copy(p.dtype, p.a, layout_of(p, &Contraction::m, &Axis::a), p.conj_a);
    packed.a = held[0].data;
  }
  if (which.b) {
    held[1] = packed_copy(p.dtype, p.b, layout_of(p, &Contraction::n, &Axis::b), p.conj_b);
    packed.b = held[1].data;
  }
  p = packed;
}

// Packs where that makes the choice better, the smaller operand rather than the larger one.
Choice plan(Contraction& p, Tensor (&held)[2]) {
  simplify(p);
  Choice best = best_choice(p);
  Packing packing;
  const bool a_smaller = volume(p.m) < volume(p.n);
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
  for (int i = 0; i < axes.size(); ++i)
    if (i != inside) loops.add(axes[i].size, {axes[i].c * item, axes[i].a * item, axes[i].b * item});
}

void run(const Contraction& p, const Choice& choice) {
  const auto item = static_cast<int64_t>(itemsize(p.dtype));
  Loops outer{{}, {}, {p.c, const_cast<char*>(p.a), const_cast<char*>(p.b)}}, sums;
  add_loops(outer, p.batch, -1, item);
  add_loops(outer, p.m, choice.m, item);
  add_loops(outer, p.n, choice.n, item);
  add_loops(sums, p.k, choice.k, item);
  MatMul product = product_of(p, choice);
  outer.each(0, [&](auto& at) {
    sums.data = at;
    product.accumulate = p.accumulate;
    sums.each(0, [&](auto& inner) {
      product.c = inner[0];
      product.a = inner[1];
      product.b = inner[2];
      plain_product(p.dtype, product);
      product.accumulate = true;
    });
  });
}

}  // namespace

void contract_in_loops(Contraction p) {
  Tensor held[2];
  const Choice choice = plan(p, held);
  run(p, choice);
}

}  // namespace tn
