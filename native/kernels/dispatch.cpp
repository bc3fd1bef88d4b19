// Which target's kernels run: the best that this CPU has, or the one that was asked for.
#include <atomic>
#include <cstring>

#include "native/kernels/table.h"

namespace tn {

#define TN_DECLARE_TARGET(target)               \
  namespace target {                            \
  void fill_arithmetic(KernelTable& table);     \
  void fill_moves(KernelTable& table);          \
  void fill_permutations(KernelTable& table);   \
  void fill_reductions(KernelTable& table);     \
  void fill_real_math(KernelTable& table);      \
  void fill_chains(KernelTable& table);         \
  void fill_complex_math(KernelTable& table);   \
  void fill_small_matrices(KernelTable& table); \
  void fill_exact_matmul(KernelTable& table);   \
  void fill_small_lu(KernelTable& table);       \
  void fill_gemm(KernelTable& table);           \
  void fill_gemv(KernelTable& table);           \
  void fill_peak(KernelTable& table);           \
  }
TN_DECLARE_TARGET(generic)
#if defined(TN_HAVE_X86_TARGETS)
TN_DECLARE_TARGET(avx2)
TN_DECLARE_TARGET(avx512)
#endif
#undef TN_DECLARE_TARGET

namespace {

struct Target {
  const char* name;
  bool (*runs_here)();
  void (*fill)(KernelTable&);
};

#define TN_FILL(target)             \
  [](KernelTable& t) {              \
    target::fill_arithmetic(t);     \
    target::fill_moves(t);          \
    target::fill_permutations(t);   \
    target::fill_reductions(t);     \
    target::fill_real_math(t);      \
    target::fill_chains(t);         \
    target::fill_complex_math(t);   \
    target::fill_small_matrices(t); \
    target::fill_exact_matmul(t);   \
    target::fill_small_lu(t);       \
    target::fill_gemm(t);           \
    target::fill_gemv(t);           \
    target::fill_peak(t);           \
  }

const Target kTargets[] = {
#if defined(TN_HAVE_X86_TARGETS)
    {"avx512",
     [] {
       return bool(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
     },
     TN_FILL(avx512)},
    {"avx2", [] { return bool(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")); },
     TN_FILL(avx2)},
#endif
    {"generic", [] { return true; }, TN_FILL(generic)},
};
constexpr int kTargetCount = int(sizeof kTargets / sizeof kTargets[0]);

struct Available {
  int count = 0;
  KernelTable tables[kTargetCount] = {};
  const char* names[kTargetCount + 1] = {};

  Available() {
    for (const Target& target : kTargets) {
      if (!target.runs_here()) continue;
      tables[count].name = target.name;
      target.fill(tables[count]);
      names[count++] = target.name;
    }
  }
};

const Available& available() {
  static const Available found;
  return found;
}

std::atomic<const KernelTable*> selected{nullptr};

}  // namespace

const KernelTable& kernels() {
  const KernelTable* table = selected.load(std::memory_order_acquire);
  if (!table) {
    table = &available().tables[0];
    selected.store(table, std::memory_order_release);
  }
  return *table;
}

bool select_target(const char* name) {
  const Available& found = available();
  for (int i = 0; i < found.count; ++i) {
    if (std::strcmp(found.names[i], name) != 0) continue;
    selected.store(&found.tables[i], std::memory_order_release);
    return true;
  }
  return false;
}

const char* const* available_targets() { return available().names; }

#define TN_NAME(op) #op,
const char* name(UnaryOp op) {
  static const char* const names[] = {TN_UNARY_OPS(TN_NAME)};
  return names[static_cast<int>(op)];
}
const char* name(BinaryOp op) {
  static const char* const names[] = {TN_BINARY_OPS(TN_NAME)};
  return names[static_cast<int>(op)];
}
const char* name(CompareOp op) {
  static const char* const names[] = {TN_COMPARE_OPS(TN_NAME)};
  return names[static_cast<int>(op)];
}
const char* name(ReduceOp op) {
  static const char* const names[] = {TN_REDUCE_OPS(TN_NAME)};
  return names[static_cast<int>(op)];
}
#undef TN_NAME

}  // namespace tn
