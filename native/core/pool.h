// The one source of storage and scratch: size classes with free lists, 64-byte alignment, huge pages for
// blocks of 2 MiB and more. Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tn::pool {

// An uninitialised block of at least `bytes`, aligned to 64. Raises Error(Memory) when the system has none.
void* take(size_t bytes);
// `bytes` as asked for when the block was taken.
void give(void* block, size_t bytes) noexcept;

struct Stats {
  uint64_t bytes_in_use, bytes_cached, peak_bytes_in_use, takes, reuses, cap_bytes;
};
Stats stats();
void reset_peak();
// Returns cached blocks to the system until at most `keep` bytes are cached; how many bytes were returned.
size_t trim(size_t keep = 0);
// Blocks beyond this many cached bytes go back to the system when they are given.
void set_cap(size_t bytes);

}  // namespace tn::pool

namespace tn {

// Scratch memory from the pool for the time of a scope.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), data_(bytes ? pool::take(bytes) : nullptr) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (data_) pool::give(data_, bytes_);
  }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace tn
