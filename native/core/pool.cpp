#include "core/pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <bit>
#include <cstdlib>
#include <mutex>

#include "core/error.h"
#include "core/observe.h"

namespace tn::pool {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kHuge = size_t{2} << 20;
constexpr int kClasses = 4 * 42;  // four sizes a doubling

// Sizes grow by a quarter of a power of two: at most 25 % is wasted. Every block has room for a header of
// kAlign more, so that a tensor of 2^k bytes with its header does not fall into the next class.
struct SizeClass {
  int index;
  size_t bytes;
};

constexpr size_t class_bytes(int index) {
  if (index < 4) return (index + 2) * kAlign;
  return kAlign + (size_t{1} << ((index - 4) / 4 + 8)) * (5 + (index - 4) % 4) / 4;
}

SizeClass size_class(size_t bytes) {
  size_t body = bytes > kAlign ? bytes - kAlign : 1;
  if (body <= 4 * kAlign) {
    int index = static_cast<int>((body + kAlign - 1) / kAlign) - 1;
    return {index, class_bytes(index)};
  }
  int log = std::bit_width(body - 1) - 1;                     // 2^log < body <= 2^(log+1)
  size_t step = size_t{1} << (log - 2);                       // a quarter of 2^log
  size_t up = (body - (size_t{1} << log) + step - 1) / step;  // 1..4
  int index = 4 * (log - 8) + 4 + static_cast<int>(up) - 1;
  return {index, class_bytes(index)};
}

struct FreeBlock {
  FreeBlock* next;
};

class SpinLock {
 public:
  void lock() {
    while (__atomic_test_and_set(&flag_, __ATOMIC_ACQUIRE)) {
    }
  }
  void unlock() { __atomic_clear(&flag_, __ATOMIC_RELEASE); }

 private:
  bool flag_ = false;
};

SpinLock lock;

// A child that is forked while another thread holds the lock would wait for ever.
[[maybe_unused]] const int forks_unlocked =
    pthread_atfork([] { lock.lock(); }, [] { lock.unlock(); }, [] { lock.unlock(); });
FreeBlock* free_list[kClasses];
Stats state{0, 0, 0, 0, 0, size_t{8} << 30};

void* from_system(size_t bytes) {
  void* p = nullptr;
  if (posix_memalign(&p, bytes >= kHuge ? kHuge : kAlign, bytes) != 0) return nullptr;
  if (bytes >= kHuge) madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

}  // namespace

void* take(size_t bytes) {
  observe::alloc(bytes);
  SizeClass c = size_class(bytes);
  void* block = nullptr;
  {
    std::lock_guard guard(lock);
    ++state.takes;
    state.bytes_in_use += c.bytes;
    if (state.bytes_in_use > state.peak_bytes_in_use) state.peak_bytes_in_use = state.bytes_in_use;
    if (FreeBlock* head = free_list[c.index]) {
      free_list[c.index] = head->next;
      state.bytes_cached -= c.bytes;
      ++state.reuses;
      return head;
    }
  }
  block = from_system(c.bytes);
  if (!block && trim(0)) block = from_system(c.bytes);
  if (!block) {
    std::lock_guard guard(lock);
    state.bytes_in_use -= c.bytes;
    fail(ErrorKind::Memory, "pool: the system has no block of ", c.bytes, " bytes.");
  }
  return block;
}

void give(void* block, size_t bytes) noexcept {
  SizeClass c = size_class(bytes);
  {
    std::lock_guard guard(lock);
    state.bytes_in_use -= c.bytes;
    if (state.bytes_cached + c.bytes <= state.cap_bytes) {
      auto* head = static_cast<FreeBlock*>(block);
      head->next = free_list[c.index];
      free_list[c.index] = head;
      state.bytes_cached += c.bytes;
      return;
    }
  }
  std::free(block);
}

Stats stats() {
  std::lock_guard guard(lock);
  return state;
}

void reset_peak() {
  std::lock_guard guard(lock);
  state.peak_bytes_in_use = state.bytes_in_use;
}

size_t trim(size_t keep) {
  FreeBlock* doomed = nullptr;
  size_t freed = 0;
  {
    std::lock_guard guard(lock);
    for (int i = kClasses - 1; i >= 0 && state.bytes_cached > keep; --i) {
      size_t bytes = class_bytes(i);
      while (free_list[i] && state.bytes_cached > keep) {
        FreeBlock* head = free_list[i];
        free_list[i] = head->next;
        state.bytes_cached -= bytes;
        freed += bytes;
        head->next = doomed;
        doomed = head;
      }
    }
  }
  while (doomed) {
    FreeBlock* next = doomed->next;
    std::free(doomed);
    doomed = next;
  }
  return freed;
}

void set_cap(size_t bytes) {
  {
    std::lock_guard guard(lock);
    state.cap_bytes = bytes;
  }
  trim(bytes);
}

}  // namespace tn::pool
