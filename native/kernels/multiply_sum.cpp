// Sums of elementwise products, tile by tile along one contiguous axis: what would be a matrix product with
// sizes of one.
#include "kernels/contraction.h"
#include "kernels/nest.h"
#include "kernels/table.h"

namespace tn {
namespace {

constexpr int64_t kTile = 512;

// One operand along the inner axis, contiguous and conjugated where that is asked for.
struct Reader {
  DType dtype;
  int64_t step;  // in bytes
  bool conj;
  alignas(64) char tile[kTile * 16];

  const char* read(const char* p, int64_t n) {
    const auto item = static_cast<int64_t>(itemsize(dtype));
    if (step == item && !conj) return p;
    kernels().load_strided[size_index(dtype)](p, step, tile, static_cast<size_t>(n));
    if (conj) kernels().at(UnaryOp::conj, dtype)(tile, tile, static_cast<size_t>(n));
    return tile;
  }
};

using Loops = Nest<3>;

struct Sums {
  DType dtype;
  Reader a, b;
  int64_t c_step;  // in bytes
  bool accumulate;
  const void* alpha;
  BinaryOp add;
  alignas(64) char products[kTile * 16];
  alignas(64) char total[kTile * 16];

  // c[0..n) (+)= alpha times the sum over `k` of a * b, along the inner axis.
  void along_output(const Loops& k, const std::array<char*, 3>& at, int64_t n) {
    const KernelTable& table = kernels();
    const auto size = static_cast<size_t>(n);
    bool first = true;
    Loops sums = k;
    sums.data = at;
    sums.each(0, [&](auto& x) {
      const char *left = a.read(x[1], n), *right = b.read(x[2], n);
      table.at(BinaryOp::multiply, dtype).vv(left, right, first ? total : products, size);
      if (!first) table.at(add, dtype).vv(total, products, total, size);
      first = false;
    });
    finish(at[0], n);
  }

  // One element of c: the sum along the inner axis, of length n, and over `k`.
  void along_sum(const Loops& k, const std::array<char*, 3>& at, int64_t n) {
    const KernelTable& table = kernels();
    bool first = true;
    Loops sums = k;
    sums.data = at;
    sums.each(0, [&](auto& x) {
      for (int64_t i = 0; i < n; i += kTile) {
        const int64_t some = std::min(n - i, kTile);
        const char *left = a.read(x[1] + i * a.step, some), *right = b.read(x[2] + i * b.step, some);
        table.dot[static_cast<int>(dtype)](left, right, first ? total : products, static_cast<size_t>(some));
        if (!first) table.at(add, dtype).vv(total, products, total, 1);
        first = false;
      }
    });
    finish(at[0], 1);
  }

  void finish(char* c, int64_t n) {
    const KernelTable& table = kernels();
    const auto size = static_cast<size_t>(n);
    if (alpha) table.at(BinaryOp::multiply, dtype).vs(total, alpha, total, size);
    if (accumulate) {
      table.load_strided[size_index(dtype)](c, c_step, products, size);
      table.at(add, dtype).vv(products, total, total, size);
    }
    table.store_strided[size_index(dtype)](total, c, c_step, size);
  }
};

// Which axis runs inside: the one along which most operands are contiguous.
int contiguous(const Axis& x) { return (x.a == 1) + (x.b == 1) + (x.c == 1); }

struct Inner {
  const Axes* group = nullptr;
  int index = -1;
  int score = -1;
  void consider(const Axes& axes) {
    for (int i = 0; i < axes.size(); ++i) {
      const int found = contiguous(axes[i]) * (axes[i].size >= 4 ? 2 : 1);
      if (found > score) *this = {&axes, i, found};
    }
  }
};

void add(Loops& loops, const Axes& axes, const Inner& inner, int64_t item) {
  for (int i = 0; i < axes.size(); ++i)
    if (&axes != inner.group || i != inner.index)
      loops.add(axes[i].size, {axes[i].c * item, axes[i].a * item, axes[i].b * item});
}

}  // namespace

void multiply_and_sum(const Contraction& p) {
  const auto item = static_cast<int64_t>(itemsize(p.dtype));
  const bool dots = is_inexact(p.dtype);
  Inner inner;
  for (const Axes* group : {&p.batch, &p.m, &p.n}) inner.consider(*group);
  if (dots) inner.consider(p.k);
  const Axis& axis = (*inner.group)[inner.index];
  Loops outer{{}, {}, {p.c, const_cast<char*>(p.a), const_cast<char*>(p.b)}}, sums{};
  for (const Axes* group : {&p.batch, &p.m, &p.n}) add(outer, *group, inner, item);
  add(sums, p.k, inner, item);
  Sums s;  // its tiles stay unset
  s.dtype = s.a.dtype = s.b.dtype = p.dtype;
  s.c_step = axis.c * item;
  s.accumulate = p.accumulate, s.alpha = p.alpha;
  s.add = is_bool(p.dtype) ? BinaryOp::bitwise_or : BinaryOp::add;
  s.a.step = axis.a * item, s.b.step = axis.b * item;
  s.a.conj = p.conj_a, s.b.conj = p.conj_b;
  if (inner.group == &p.k) return outer.each(0, [&](auto& at) { s.along_sum(sums, at, axis.size); });
  for (int64_t i = 0; i < axis.size; i += kTile) {
    const int64_t n = std::min(axis.size - i, kTile);
    Loops part = outer;
    part.data = {outer.data[0] + i * axis.c * item, outer.data[1] + i * axis.a * item,
                 outer.data[2] + i * axis.b * item};
    part.each(0, [&](auto& at) { s.along_output(sums, at, n); });
  }
}

}  // namespace tn
