// The native contraction: axes become lists of offsets, and one packed matrix product does the rest.
#include "kernels/contraction.h"

#include <algorithm>
#include <cmath>

#include "core/observe.h"
#include "core/pool.h"
#include "core/visit.h"
#include "kernels/gemm.h"
#include "kernels/nest.h"
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

// ---- threads

constexpr double kWorthAThread = 96.0 * 96 * 96;  // multiplications for each

int threads_for(double multiplications) {
  if (multiplications < 2 * kWorthAThread) return 1;
  return static_cast<int>(std::min<double>(threads::budget(), multiplications / kWorthAThread));
}

// Moves the beginning of an operand along an axis of it.
template <class P>
void start_at(P& data, Offsets& of, int64_t first, int64_t item) {
  if (of.list)
    of.list += first;
  else
    data = static_cast<char*>(const_cast<void*>(data)) + first * of.step * item;
}

// The rows, columns or products of the batch [first, first + size).
Gemm part_of_rows(Gemm g, int64_t first, int64_t size, int64_t item) {
  start_at(g.a, g.a_rows, first, item);
  start_at(g.c, g.c_rows, first, item);
  g.m = size;
  return g;
}
Gemm part_of_columns(Gemm g, int64_t first, int64_t size, int64_t item) {
  start_at(g.b, g.b_columns, first, item);
  start_at(g.c, g.c_columns, first, item);
  g.n = size;
  return g;
}
Gemm part_of_batch(Gemm g, int64_t first, int64_t size, int64_t item) {
  g.a = static_cast<const char*>(g.a) + first * g.a_step * item;
  g.b = static_cast<const char*>(g.b) + first * g.b_step * item;
  g.c = static_cast<char*>(g.c) + first * g.c_step * item;
  g.count = size;
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

void on_threads(DType dtype, const Gemm& g, int workers) {
  if (workers < 2) return gemm_in_blocks(dtype, g);
  const GemmKernel& kernel = kernels().gemm[static_cast<int>(dtype)];
  const auto item = static_cast<int64_t>(itemsize(dtype));
  const auto parts_of = [=](const Gemm& whole, auto part) {
    return [=](int64_t first, int64_t size) { gemm_in_blocks(dtype, part(whole, first, size, item)); };
  };
  if (g.count >= workers) return share(g.count, 1, 1, workers, parts_of(g, part_of_batch));
  for (int64_t i = 0; i < g.count; ++i) {
    const Gemm one = part_of_batch(g, i, 1, item);
    if (one.m >= one.n)
      share(one.m, kernel.rows, kTwoRows, workers, parts_of(one, part_of_rows));
    else
      share(one.n, kernel.columns, 1, workers, parts_of(one, part_of_columns));
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
  Axes outer = p.batch;
  const Axis inner = take_inner(outer);
  Gemm g{};
  g.m = count(p.m), g.n = count(p.n), g.k = count(p.k);
  g.count = inner.size, g.a_step = inner.a, g.b_step = inner.b, g.c_step = inner.c;
  g.a_rows = am.get(), g.a_columns = ak.get();
  g.b_rows = bk.get(), g.b_columns = bn.get();
  g.c_rows = cm.get(), g.c_columns = cn.get();
  g.conj_a = p.conj_a, g.conj_b = p.conj_b, g.accumulate = p.accumulate;
  g.scale = p.alpha;
  const int workers = threads_for(work(p) / volume(outer));
  const auto item = static_cast<int64_t>(itemsize(p.dtype));
  Nest<3> loops{{}, {}, {p.c, const_cast<char*>(p.a), const_cast<char*>(p.b)}};
  for (const Axis& axis : outer) loops.add(axis.size, {axis.c * item, axis.a * item, axis.b * item});
  loops.each(0, [&](auto& at) {
    g.c = at[0], g.a = at[1], g.b = at[2];
    on_threads(p.dtype, g, workers);
  });
}

// The sums of products along a contiguous batch, or of single elements.
bool is_multiply_and_sum(const Contraction& p) {
  if (p.m.empty() && p.n.empty()) return !p.batch.empty() || (!p.k.empty() && is_inexact(p.dtype));
  if (p.batch.empty()) return false;
  const Axis& last = p.batch[p.batch.size() - 1];
  constexpr double kTiny = 8 * 8 * 8;
  return last.a == 1 && last.b == 1 && last.size >= 16 && volume(p.m) * volume(p.n) * volume(p.k) <= kTiny;
}

// Not worth a call of a provider, nor a line in a report.
bool is_tiny(DType dtype, double multiplications) {
  return multiplications <= (is_complex(dtype) ? 8 * 8 * 8 : 16 * 16 * 16);
}

// Whether the native kernels have the vectors of AVX2 at least: else a provider's product is faster.
bool has_wide_vectors(DType dtype) {
  constexpr size_t kThreeVectors = 3 * 32;  // the columns of a tile
  return kernels().gemm[static_cast<int>(dtype)].columns * itemsize(dtype) >= kThreeVectors;
}

bool provider_is_chosen(DType dtype, double multiplications) {
  const providers::Selection& chosen = *providers::selected();
  if (chosen.native_products) return false;
  if (chosen.of[providers::index(providers::Routine::gemm)]) return true;
  return !has_wide_vectors(dtype) && !is_tiny(dtype, multiplications);
}

char letter(DType dtype) {
  return visit_inexact(dtype,
                       []<class T>(Type<T>) { return providers::kTypeLetters[providers::TypeOf<T>::index]; });
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
  observed(dtype, x.m, x.n, x.k, [&] { on_threads(dtype, g, threads_for(work(x))); });
}

void contract(const Contraction& p) {
  if (is_multiply_and_sum(p)) return multiply_and_sum(p);
  if (!is_inexact(p.dtype) || provider_is_chosen(p.dtype, work(p))) return contract_in_loops(p);
  const Contraction x = oriented(p);
  observed(p.dtype, count(x.m), count(x.n), count(x.k), [&] { run(x); });
}

}  // namespace tn
