#include "core/observe.h"

#include <algorithm>
#include <mutex>

namespace tn::observe {
namespace {

std::mutex log_mutex;
std::vector<Shape> shape_log;

}  // namespace

State state;

void log_shape(int routine, char type, std::initializer_list<int64_t> dims) {
  Shape shape{routine, type, static_cast<int>(std::min<size_t>(dims.size(), kMaxDims)), {}};
  std::copy_n(dims.begin(), shape.rank, shape.dims);
  std::lock_guard lock(log_mutex);
  shape_log.push_back(shape);
}

size_t shape_count() {
  std::lock_guard lock(log_mutex);
  return shape_log.size();
}

std::vector<Shape> shapes_since(size_t first) {
  std::lock_guard lock(log_mutex);
  first = std::min(first, shape_log.size());
  return {shape_log.begin() + static_cast<std::ptrdiff_t>(first), shape_log.end()};
}

void open(bool with_shapes) {
  std::lock_guard lock(log_mutex);
  state.shape_logs += with_shapes;
  ++state.observers;
}

void close(bool with_shapes) {
  std::lock_guard lock(log_mutex);
  --state.observers;
  if (with_shapes && --state.shape_logs == 0) shape_log.clear();
}

void Call::begin(char type, std::initializer_list<int64_t> dims) {
  if (state.shape_logs.load(std::memory_order_relaxed)) log_shape(routine_, type, dims);
  start_ = Clock::now();
}

void Call::end() {
  auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start_);
  add(state.calls[routine_], elapsed.count());
}

}  // namespace tn::observe
