#include "kernels/gemm.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/pool.h"

namespace tn {
namespace {

int64_t cache_size(int level, int64_t otherwise) {
  const long found = sysconf(level);
  return found > 0 ? found : otherwise;
}

struct Caches {
  int64_t l1 = cache_size(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  int64_t l2 = cache_size(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
};
const Caches& caches() {
  static const Caches found;
  return found;
}

constexpr int64_t kMostOfB = 8 << 20;  // bytes of a packed block of B, which is read from the last cache

// ---- reading in place

bool plain(const Offsets& rows, const Offsets& columns) { return !rows.list && !columns.list; }

// Whether lines that are `step` bytes apart stay in L1 together: a power of two sends them to a few sets.
bool spread_out(int64_t lines, int64_t step) {
  constexpr int64_t page = 4096, ways = 8;
  const int64_t common = std::gcd(std::abs(step), page);
  return lines * common <= ways * page;
}

bool reads_a_in_place(const Gemm& g, const GemmKernel& kernel, int64_t item) {
  if (!plain(g.a_rows, g.a_columns)) return false;
  const bool along_k = g.a_columns.step == 1, along_m = g.a_rows.step == 1;
  if (g.n <= kernel.columns) return along_k || along_m || g.k * g.m * item <= caches().l2;
  if (along_k && g.n <= 4 * kernel.columns) return true;
  const int64_t bytes = g.m * g.k * item;
  if (along_k) return bytes <= caches().l2;
  return 2 * bytes <= caches().l2 || (bytes <= caches().l2 && spread_out(g.k_block, g.a_columns.step * item));
}

bool reads_b_in_place(const Gemm& g, const GemmKernel& kernel, int64_t item) {
  if (g.scale || !plain(g.b_rows, g.b_columns) || g.b_columns.step != 1) return false;
  if (g.m <= 4 * kernel.rows) return true;
  const int64_t step = std::abs(g.b_rows.step) * item;
  return 4 * g.k_block * step <= 3 * caches().l2 && spread_out(g.k_block, step);
}

// ---- blocks

// n in equal parts of at most `most`, in multiples of `unit`.
int64_t even_parts(int64_t n, int64_t most, int64_t unit) {
  const int64_t parts = (n + most - 1) / most, each = (n + parts - 1) / parts;
  return (each + unit - 1) / unit * unit;
}

// A large C of short sums: what is written decides, and B stays in L2.
bool writes_more_than_it_reads(const Gemm& g, int64_t item) {
  return g.k <= 32 && g.n <= g.n_block && 2 * g.k * g.n * item <= caches().l2 &&
         g.m * g.n * item > caches().l2;
}

// Everything fits everywhere: deciding would take longer than multiplying.
bool is_tiny(const Gemm& g) { return g.m <= 16 && g.n <= 16 && g.k <= 16; }

void choose_one_block(Gemm& g) {
  g.m_block = g.m, g.n_block = g.n, g.k_block = g.k;
  g.a_in_place = plain(g.a_rows, g.a_columns);
  g.b_in_place = !g.scale && plain(g.b_rows, g.b_columns) && g.b_columns.step == 1;
  g.by_rows = g.b_is_far = false;
  g.one_panel = true;
}

void choose_blocks(Gemm& g, const GemmKernel& kernel, int64_t item) {
  g.k_block = even_parts(g.k, std::max<int64_t>(3 * caches().l1 / 4 / (kernel.columns * item), 16), 1);
  g.a_in_place = reads_a_in_place(g, kernel, item);
  g.b_in_place = reads_b_in_place(g, kernel, item);
  const int64_t rows = std::max<int64_t>(caches().l2 / 4 / (g.k_block * item), kernel.rows);
  const bool one_block = 2 * g.m <= 3 * rows || (g.a_in_place && g.m * g.k_block * item <= caches().l2 / 2);
  g.m_block = one_block ? g.m : even_parts(g.m, rows, kernel.rows);
  const int64_t columns = std::max<int64_t>(kMostOfB / (g.k_block * item), kernel.columns);
  g.n_block = one_block ? g.n : even_parts(g.n, columns, kernel.columns);
  g.b_is_far = plain(g.b_rows, g.b_columns) && g.b_columns.step == 1 && g.n * g.k_block * item > caches().l2;
  g.by_rows = writes_more_than_it_reads(g, item);
  g.one_panel = g.b_in_place || (g.m <= g.m_block && !g.by_rows);
}

int64_t panels_of_b(const Gemm& g, const GemmKernel& kernel) {
  return g.one_panel ? 1 : (std::min(g.n, g.n_block) + kernel.columns - 1) / kernel.columns;
}

constexpr int64_t kOnStack = 8 << 10;  // bytes

void multiply(Gemm& g, const GemmKernel& kernel, int64_t item) {
  const int64_t of_b = panels_of_b(g, kernel) * kernel.columns * g.k_block * item;
  const int64_t of_a = g.a_in_place ? 0 : std::min(g.m, g.m_block) * g.k_block * item;
  alignas(64) char small[kOnStack];
  const Scratch large(of_a + of_b > kOnStack ? static_cast<size_t>(of_a + of_b) : 0);
  char* room = of_a + of_b > kOnStack ? large.as<char>() : small;
  g.packed_b = room;
  g.packed_a = room + of_b;
  kernel.multiply(g);
}

// ---- one row

// Whether B is read along its rows, else along its columns.
bool reads_rows(const Gemm& g) {
  return g.b_columns.step == 1 && g.c_columns.step == 1 && (g.n > 1 || g.b_rows.step != 1);
}

bool is_row_product(const Gemm& g) {
  if (g.m != 1 || g.scale || !plain(g.a_rows, g.a_columns) || !plain(g.b_rows, g.b_columns) ||
      g.c_columns.list)
    return false;
  return g.b_rows.step == 1 || reads_rows(g);
}

void row_product(DType dtype, Gemm& g, int64_t item) {
  const GemvKernels& kernel = kernels().gemv[static_cast<int>(dtype)];
  const auto gemv = reads_rows(g) ? kernel.by_rows : kernel.by_columns;
  const bool copies = !reads_rows(g) && g.a_columns.step != 1;
  const Scratch contiguous(copies ? static_cast<size_t>(g.k * item) : 0);
  const auto n = static_cast<size_t>(g.k);
  for (int64_t i = 0; i < g.count; ++i) {
    Gemm one = g;
    one.a = static_cast<const char*>(g.a) + i * g.a_step * item;
    one.b = static_cast<const char*>(g.b) + i * g.b_step * item;
    one.c = static_cast<char*>(g.c) + i * g.c_step * item;
    if (copies) {
      kernels().load_strided[size_index(dtype)](one.a, g.a_columns.step * item, contiguous.as<char>(), n);
      one.a = contiguous.as<char>();
      one.a_columns.step = 1;
    }
    gemv(one);
  }
}

}  // namespace

void gemm_in_blocks(DType dtype, Gemm g) {
  const auto item = static_cast<int64_t>(itemsize(dtype));
  if (g.k == 1) g.a_columns = g.b_rows = {1, nullptr};
  if (g.n == 1 && !g.b_columns.list) g.b_columns.step = g.c_columns.step = 1;
  if (is_row_product(g)) return row_product(dtype, g, item);
  const GemmKernel& kernel = kernels().gemm[static_cast<int>(dtype)];
  is_tiny(g) ? choose_one_block(g) : choose_blocks(g, kernel, item);
  multiply(g, kernel, item);
}

}  // namespace tn
