// Storage, and Tensor: a strided window on it. A Tensor here is a plain value; what differentiation adds
// to it is in tape/value.h.
#pragma once
#include "core/dtype.h"
#include "core/layout.h"
#include "core/pool.h"
#include "core/ref.h"

namespace tn {

// One block of memory. Its header and, unless it is foreign, its bytes are one pool block.
struct Storage {
  RefCount refs = 0;
  uint32_t version = 0;  // bumped by every native writer
  bool readonly = false;
  size_t bytes = 0;
  char* data = nullptr;
  void (*release)(void* owner) = nullptr;  // foreign memory only
  void* owner = nullptr;

  static Ref<Storage> allocate(size_t bytes);
  static Ref<Storage> foreign(void* data, size_t bytes, bool readonly, void* owner, void (*release)(void*));
  static void destroy(Storage* s);
};

struct Tensor {
  Ref<Storage> storage;
  char* data = nullptr;  // the first element; null where only the shape is known
  Layout layout;
  DType dtype = DType::F64;

  Tensor() {}  // not defaulted: Tensor() would then clear all of its bytes first
  const Dims& shape() const { return layout.shape; }
  const Dims& strides() const { return layout.strides; }
  int ndim() const { return layout.ndim(); }
  int64_t numel() const { return layout.numel(); }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// dtype and shape without data: what inference computes.
struct Meta {
  DType dtype = DType::F64;
  Dims shape;
};

// Uninitialised tensors.
Tensor empty(DType dtype, std::span<const int64_t> shape);
Tensor empty(DType dtype, const Layout& dense);
inline Tensor empty(const Meta& meta) { return empty(meta.dtype, meta.shape); }
Tensor scalar(DType dtype, double value);
// The same storage seen through another layout; `offset` in elements from the first element of `of`.
Tensor view(const Tensor& of, Layout layout, int64_t offset = 0);
// `shape` must be one that `of` broadcasts to.
Tensor broadcast_view(const Tensor& of, std::span<const int64_t> shape);

// Set by the bindings: leave and take the interpreter lock. Native code must not touch reference counts of
// shared tensors while it is unlocked.
struct LockHooks {
  void* (*leave)() = nullptr;
  void (*take)(void*) = nullptr;
  void (*warn)(const char* category, const char* message) = nullptr;  // category: a class of taenite.errors
};
extern LockHooks lock_hooks;

class Unlocked {
 public:
  explicit Unlocked(bool worthwhile = true)
      : state_(worthwhile && lock_hooks.leave ? lock_hooks.leave() : nullptr) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    if (state_) lock_hooks.take(state_);
  }

 private:
  void* state_;
};

}  // namespace tn
