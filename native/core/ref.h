// Intrusive reference counts. Objects of the tape are counted under the interpreter lock; a free-threaded
// build defines TN_ATOMIC_REFS.
#pragma once
#include <cstdint>
#include <utility>
#ifdef TN_ATOMIC_REFS
#include <atomic>
#endif

namespace tn {

#ifdef TN_ATOMIC_REFS
using RefCount = std::atomic<uint32_t>;
#else
using RefCount = uint32_t;
#endif

// T provides a member `RefCount refs` and a static `void destroy(T*)`.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* p) : p_(p) { retain(); }
  Ref(const Ref& o) : p_(o.p_) { retain(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { release(); }

  static Ref adopt(T* p) {
    Ref r;
    r.p_ = p;
    return r;
  }
  void reset() { Ref().swap(*this); }
  void swap(Ref& o) noexcept { std::swap(p_, o.p_); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool unique() const { return p_ && p_->refs == 1; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.p_ == b.p_; }

 private:
  void retain() {
    if (p_) ++p_->refs;
  }
  void release() {
    if (p_ && --p_->refs == 0) T::destroy(p_);
  }
  T* p_ = nullptr;
};

}  // namespace tn
