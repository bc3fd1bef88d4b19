// What tn.observe() counts: provider calls by routine, and copies, fills, materialisations and allocations
// with their bytes. Counters only grow and belong to the process; an observer is the difference of two
// snapshots, so observers nest and overlap freely. With no observer open, each hook costs one load and one
// branch.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tn::observe {

constexpr int kRoutineSlots = 64;  // indexed by providers::Routine
constexpr int kMaxDims = 4;

struct Tally {
  std::atomic<int64_t> count{0};
  std::atomic<int64_t> amount{0};  // bytes, or nanoseconds for calls
};

struct State {
  std::atomic<int> observers{0};
  std::atomic<int> shape_logs{0};
  Tally copies, fills, materialisations, allocations, workspace_queries;
  Tally calls[kRoutineSlots];
  Tally workspaces[kRoutineSlots];
};
extern State state;

inline bool on() { return state.observers.load(std::memory_order_relaxed) != 0; }
inline void add(Tally& tally, int64_t amount) {
  tally.count.fetch_add(1, std::memory_order_relaxed);
  tally.amount.fetch_add(amount, std::memory_order_relaxed);
}
inline void record(Tally& tally, size_t bytes) {
  if (on()) [[unlikely]]
    add(tally, static_cast<int64_t>(bytes));
}

// A copy reads an operand and writes the same elements elsewhere; a materialisation writes out a view that an
// operand was only described by (a broadcast, a stride pattern no kernel takes); a fill writes one value.
inline void copy(size_t bytes) { record(state.copies, bytes); }
inline void fill(size_t bytes) { record(state.fills, bytes); }
inline void materialise(size_t bytes) { record(state.materialisations, bytes); }
inline void workspace_query() { record(state.workspace_queries, 0); }
inline void workspace(int routine, size_t bytes) { record(state.workspaces[routine], bytes); }
inline void alloc(size_t bytes) { record(state.allocations, bytes); }

// The dimensions of one call, kept while an observer asked for shapes.
struct Shape {
  int routine;
  char type;  // s, d, c, z
  int rank;
  int64_t dims[kMaxDims];
};
void log_shape(int routine, char type, std::initializer_list<int64_t> dims);
size_t shape_count();
std::vector<Shape> shapes_since(size_t first);
void open(bool with_shapes);
void close(bool with_shapes);  // the last observer with shapes drops the log

// Counts and times the provider call that runs during its life.
class Call {
 public:
  Call(int routine, char type, std::initializer_list<int64_t> dims) : routine_(on() ? routine : -1) {
    if (routine_ >= 0) [[unlikely]]
      begin(type, dims);
  }
  ~Call() {
    if (routine_ >= 0) [[unlikely]]
      end();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  void begin(char type, std::initializer_list<int64_t> dims);
  void end();
  int routine_;
  Clock::time_point start_;
};

}  // namespace tn::observe
