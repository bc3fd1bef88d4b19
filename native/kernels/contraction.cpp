// The native contraction: axes become lists of offsets, and one packed matrix product does the rest.
#include "kernels/contraction.h"

#include <algorithm>
#include <cmath>

#include "core/observe.h"
#include "core/pool.h"
#include "kernels/gemm.h"
#include "kernels/plain_product.h"
#include "kernels/table.h"
#include "providers/routine.h"
#include "providers/select.h"
#include "threads/budget.h"
#include "threads/workers.h"

namespace tn {

double volume(const Axes& axes) {
  double n = 1;
  for (const Axis& axis : axes) n *= static_cast<double>(axis.size);
  return n;
}

void join_runs(Axes& axes) {
  for (int i = axes.size() - 2; i >= 0; --i) {
    const Axis &outer = axes[i], &inner = axes[i + 1];
    const int64_t n = inner.size;
    if (outer.a != inner.a * n || outer.b != inner.b * n || outer.c != inner.c * n) continue;
    axes[i] = {outer.size * n, inner.a, inner.b, inner.c};
    axes.erase(i + 1);
  }
}

void sort_by(Axes& axes, int64_t Axis::* stride) {
  std::stable_sort(axes.begin(), axes.end(),
                   [=](const Axis& x, const Axis& y) { return std::abs(x.*stride) > std::abs(y.*stride); });
}

Contraction transposed(Contraction p) {
  std::swap(p.a, p.b);
  std::swap(p.conj_a, p.conj_b);
  std::swap(p.m, p.n);
  for (Axes* group : {&p.batch, &p.m, &p.n, &p.k})
    for (Axis& axis : *group) std::swap(axis.a, axis.b);
  return p;
}

namespace {

int64_t count(const Axes& axes) {
  int64_t n = 1;
  for (const Axis& axis : axes) n *= axis.size;
  return n;
}

// ---- which operand gives the rows

// How the elements of an operand lie along the two groups of axes that it has.
enum class Lie { kAlongFirst, kAlongSecond, kScattered };

constexpr int64_t kShortRun = 4;

bool has_runs(const Axes& axes, int64_t Axis::* stride) {
  return axes.empty() || (axes[axes.size() - 1].*stride == 1 && axes[axes.size() - 1].size >= kShortRun);
}

Lie lie(const Axes& first, const Axes& second, int64_t Axis::* stride) {
  if (!first.empty() && has_runs(first, stride)) return Lie::kAlongFirst;
  return has_runs(second, stride) ? Lie::kAlongSecond : Lie::kScattered;
}

// Cycles per element, as measured; what matters is their order.
double cost_of_rows(Lie b_from_n) {
  return b_from_n == Lie::kAlongFirst ? 0.35 : b_from_n == Lie::kAlongSecond ? 0.7 : 1.5;
}

bool is_plain(const Axes& axes) { return axes.size() < 2; }

double cost(const Contraction& p) {
  const double m = volume(p.m), n = volume(p.n), k = volume(p.k);
  const GemmKernel& kernel = kernels().gemm[static_cast<int>(p.dtype)];
  const double lanes = kernel.columns / 3, columns = std::ceil(n / lanes) * lanes;
  const Lie of_a = lie(p.m, p.k, &Axis::a);
  const double multiply = m * columns * k / (2 * lanes);
  const double pack_b = n * k * cost_of_rows(lie(p.n, p.k, &Axis::b));
  const double pack_a = m * k * (of_a == Lie::kScattered ? 1.5 : is_plain(p.m) && is_plain(p.k) ? 0 : 0.35);
  const double store = m * n * (has_runs(p.n, &Axis::c) ? 0.25 : 1.5);
  return multiply + pack_a + pack_b + store;
}

// The order of contracted axes is free: runs in A or, if that has its runs elsewhere, in B.
void order_contracted(Contraction& p) {
  const bool a_elsewhere = std::any_of(p.m.begin(), p.m.end(), [](const Axis& x) { return x.a == 1; });
  sort_by(p.k, a_elsewhere ? &Axis::b : &Axis::a);
  join_runs(p.k);
}

Contraction oriented(Contraction p) {
  for (Axes* group : {&p.batch, &p.m, &p.n}) join_runs(*group);
  order_contracted(p);
  if (p.n.empty()) return transposed(std::move(p));
  if (p.m.empty()) return p;
  Contraction other = transposed(p);
  order_contracted(other);
  return cost(other) < cost(p) ? other : p;
}

// ---- lists of offsets

// An axis as it is, or the offsets of several.
class OffsetList {
 public:
  OffsetList(const Axes& axes, int64_t Axis::* stride)
      : scratch_(axes.size() > 1 ? static_cast<size_t>(count(axes)) * sizeof(int64_t) : 0) {
    if (axes.size() == 1) step_ = axes[0].*stride;
    if (axes.size() > 1) fill(axes, stride);
  }
  Offsets get() const { return {step_, list_}; }

 private:
  void fill(const Axes& axes, int64_t Axis::* stride) {
    int64_t* list = scratch_.as<int64_t>();
    list_ = list;
    list[0] = 0;
    int64_t n = 1;
    for (int i = axes.size() - 1; i >= 0; n *= axes[i--].size)
      for (int64_t j = 1; j < axes[i].size; ++j)
        for (int64_t q = 0; q < n; ++q) list[j * n + q] = list[q] + j * (axes[i].*stride);
  }
  Scratch scratch_;
  int64_t step_ = 0;
  const int64_t* list_ = nullptr;
};

// The positions of a batch, from any one on.
class Batch {
 public:
  Batch(const Axes& axes, int64_t position) : axes_(axes) {
    index_.resize(axes.size());
    for (int i = axes.size() - 1; i >= 0; --i) {
      index_[i] = position % axes[i].size;
      position /= axes[i].size;
      move(axes[i], index_[i]);
    }
  }
  void next() {
    for (int i = axes_.size() - 1; i >= 0; --i) {
      move(axes_[i], 1);
      if (++index_[i] < axes_[i].size) return;
      move(axes_[i], -index_[i]);
      index_[i] = 0;
    }
  }
  int64_t a = 0, b = 0, c = 0;

 private:
  void move(const Axis& axis, int64_t steps) {
    a += steps * axis.a;
    b += steps * axis.b;
    c += steps * axis.c;
  }
  const Axes& axes_;
  SmallVector<int64_t, 4> index_;
};

// ---- threads

constexpr double kWorthAThread = 96.0 * 96 * 96;  // multiplications for each

int threads_for(double multiplications) {
  if (multiplications < 2 * kWorthAThread) return 1;
  return static_cast<int>(std::min<double>(threads::budget(), multiplications / kWorthAThread));
}

Offsets skip(const Offsets& of, int64_t n) { return {of.step, of.list ? of.list + n : nullptr}; }

const void* advance(const void* p, const Offsets& of, int64_t n, int64_t item) {
  return static_cast<const char*>(p) + (of.list ? 0 : n * of.step * item);
}

// The rows or columns [first, first + size) of C.
Gemm part_of_rows(Gemm g, int64_t first, int64_t size, int64_t item) {
  g.a = advance(g.a, g.a_rows, first, item);
  g.c = const_cast<void*>(advance(g.c, g.c_rows, first, item));
  g.a_rows = skip(g.a_rows, first);
  g.c_rows = skip(g.c_rows, first);
  g.m = size;
  return g;
}

Gemm part_of_columns(Gemm g, int64_t first, int64_t size, int64_t item) {
  g.b = advance(g.b, g.b_columns, first, item);
  g.c = const_cast<void*>(advance(g.c, g.c_columns, first, item));
  g.b_columns = skip(g.b_columns, first);
  g.c_columns = skip(g.c_columns, first);
  g.n = size;
  return g;
}

// Calls f(first, size) for shares of n in multiples of `unit`; the last one takes what would be less than
// `least`.
template <class F>
void share(int64_t n, int64_t unit, int64_t least, int workers, const F& f) {
  const int64_t units = (n + unit - 1) / unit, each = (units + workers - 1) / workers * unit;
  const auto shares = static_cast<int>(std::max<int64_t>((n - least + each) / each, 1));
  threads::run(shares, workers, [&](int i) { f(i * each, i + 1 < shares ? each : n - i * each); });
}

constexpr int64_t kTwoRows = 2;  // a single one would be summed in the order of another kernel

void product_on_threads(DType dtype, const Gemm& g, int workers) {
  if (workers < 2) return gemm_in_blocks(dtype, g);
  const GemmKernel& kernel = kernels().gemm[static_cast<int>(dtype)];
  const auto item = static_cast<int64_t>(itemsize(dtype));
  if (g.m >= g.n)
    share(g.m, kernel.rows, kTwoRows, workers,
          [&](int64_t first, int64_t size) { gemm_in_blocks(dtype, part_of_rows(g, first, size, item)); });
  else
    share(g.n, kernel.columns, 1, workers,
          [&](int64_t first, int64_t size) { gemm_in_blocks(dtype, part_of_columns(g, first, size, item)); });
}

// Products [first, first + size) of the outer batch; the inner one is in g.
void each_in_batch(const Contraction& p, const Axes& outer, const Gemm& g, int64_t first, int64_t size,
                   int workers) {
  const auto item = static_cast<int64_t>(itemsize(p.dtype));
  Batch at(outer, first);
  for (; size > 0; --size, at.next()) {
    Gemm products = g;
    products.a = p.a + at.a * item;
    products.b = p.b + at.b * item;
    products.c = p.c + at.c * item;
    product_on_threads(p.dtype, products, workers);
  }
}

// The batch axis that the kernel walks itself: the longest.
Axis take_inner(Axes& batch) {
  if (batch.empty()) return {1, 0, 0, 0};
  int longest = 0;
  for (int i = 1; i < batch.size(); ++i)
    if (batch[i].size > batch[longest].size) longest = i;
  const Axis inner = batch[longest];
  batch.erase(longest);
  return inner;
}

void run(const Contraction& p) {
  const OffsetList am(p.m, &Axis::a), cm(p.m, &Axis::c), bn(p.n, &Axis::b), cn(p.n, &Axis::c),
      ak(p.k, &Axis::a), bk(p.k, &Axis::b);
  Gemm g{};
  g.m = count(p.m), g.n = count(p.n), g.k = count(p.k), g.count = 1;
  g.a_rows = am.get(), g.a_columns = ak.get();
  g.b_rows = bk.get(), g.b_columns = bn.get();
  g.c_rows = cm.get(), g.c_columns = cn.get();
  g.conj_a = p.conj_a, g.conj_b = p.conj_b, g.accumulate = p.accumulate;
  g.scale = p.alpha;
  const int workers = threads_for(work(p));
  const int64_t batch = count(p.batch);
  if (workers > 1) {
    if (batch < workers) return each_in_batch(p, p.batch, g, 0, batch, workers);
    return share(batch, 1, 1, workers,
                 [&](int64_t first, int64_t size) { each_in_batch(p, p.batch, g, first, size, 1); });
  }
  Axes outer = p.batch;
  const Axis inner = take_inner(outer);
  g.count = inner.size, g.a_step = inner.a, g.b_step = inner.b, g.c_step = inner.c;
  each_in_batch(p, outer, g, 0, batch / inner.size, 1);
}

// The sums of products along a contiguous batch, or of single elements.
bool is_multiply_and_sum(const Contraction& p) {
  if (p.m.empty() && p.n.empty()) return !p.batch.empty() || (!p.k.empty() && is_inexact(p.dtype));
  if (p.batch.empty()) return false;
  const Axis& last = p.batch[p.batch.size() - 1];
  constexpr double kTiny = 8 * 8 * 8;
  return last.a == 1 && last.b == 1 && last.size >= 16 && volume(p.m) * volume(p.n) * volume(p.k) <= kTiny;
}

// From how many multiplications on the provider's product is faster than the native one: only where the
// native kernels lack the vectors that the provider has.
bool provider_is_chosen(DType dtype, double multiplications) {
  const providers::Selection& chosen = *providers::selected();
  if (chosen.native_products) return false;
  if (chosen.of[providers::index(providers::Routine::gemm)]) return true;
  constexpr double kFrom[] = {0, 0, 4096, 512};  // real, complex: by the target's vectors
  return kernels().gemm[static_cast<int>(dtype)].columns * itemsize(dtype) < 96 &&
         multiplications > kFrom[2 + is_complex(dtype)];
}

// Tiny products are not worth a line in a report.
bool is_tiny(DType dtype, double multiplications) {
  return multiplications <= (is_complex(dtype) ? 8 * 8 * 8 : 16 * 16 * 16);
}

char letter(DType dtype) {
  return dtype == DType::F32 ? 's' : dtype == DType::F64 ? 'd' : dtype == DType::C64 ? 'c' : 'z';
}

// The native product counts as the routine that it stands for.
template <class F>
void observed(DType dtype, int64_t m, int64_t n, int64_t k, const F& f) {
  using providers::Routine;
  if (!observe::on() || is_tiny(dtype, double(m) * double(n) * double(k))) return f();
  const Routine routine = m == 1 || n == 1 ? Routine::gemv : Routine::gemm;
  observe::Call call(providers::index(routine), letter(dtype), {m, n, k});
  f();
}

Gemm as_gemm(const MatMul& x) {
  Gemm g{};
  g.m = x.m, g.n = x.n, g.k = x.k, g.count = 1;
  g.a = x.a, g.b = x.b, g.c = x.c;
  g.a_rows.step = x.a_row, g.a_columns.step = x.a_col;
  g.b_rows.step = x.b_row, g.b_columns.step = x.b_col;
  g.c_rows.step = x.c_row, g.c_columns.step = x.c_col;
  g.conj_a = x.conj_a, g.conj_b = x.conj_b, g.accumulate = x.accumulate;
  g.scale = x.alpha;
  return g;
}

MatMul transposed(const MatMul& x) {
  return {x.n,     x.m, x.k,     x.b,     x.b_col,  x.b_row,  x.a,          x.a_col,
          x.a_row, x.c, x.c_col, x.c_row, x.conj_b, x.conj_a, x.accumulate, x.alpha};
}

constexpr int64_t kFewRows = 16;

}  // namespace

bool multiplies_directly(DType dtype, const MatMul& x) {
  if (!is_inexact(dtype)) return true;
  if (provider_is_chosen(dtype, work(x))) return takes(dtype, x);
  return x.m == 1 || x.n == 1 || x.m >= kFewRows || x.b_col == 1;
}

void multiply_matrices(DType dtype, const MatMul& x) {
  if (!is_inexact(dtype) || provider_is_chosen(dtype, work(x))) return plain_product(dtype, x);
  const Gemm g = as_gemm(x.n == 1 ? transposed(x) : x);
  observed(dtype, x.m, x.n, x.k, [&] { product_on_threads(dtype, g, threads_for(work(x))); });
}

void contract(const Contraction& p) {
  if (is_multiply_and_sum(p)) return multiply_and_sum(p);
  if (!is_inexact(p.dtype)) return contract_in_loops(p);
  if (provider_is_chosen(p.dtype, work(p))) return contract_in_loops(p);
  const Contraction x = oriented(p);
  observed(p.dtype, count(x.m), count(x.n), count(x.k), [&] { run(x); });
}

}  // namespace tn
