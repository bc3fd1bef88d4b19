// A short list of 64-bit integers (a shape, strides, axes), without a heap allocation up to six entries.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>

namespace tn {

class Dims {
 public:
  static constexpr int kInline = 6;

  Dims() = default;
  explicit Dims(int n, int64_t value = 0) {
    resize(n);
    std::fill(begin(), end(), value);
  }
  Dims(std::initializer_list<int64_t> v) : Dims(std::span<const int64_t>(v.begin(), v.size())) {}
  explicit Dims(std::span<const int64_t> v) {
    resize(static_cast<int>(v.size()));
    std::copy(v.begin(), v.end(), begin());
  }
  Dims(const Dims& o) { copy(o); }
  Dims(Dims&& o) noexcept { take(o); }
  Dims& operator=(const Dims& o) {
    if (this == &o) return *this;
    copy(o);
    return *this;
  }
  Dims& operator=(Dims&& o) noexcept {
    if (this == &o) return *this;
    drop();
    take(o);
    return *this;
  }
  ~Dims() { drop(); }

  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  int64_t* begin() { return heap_ ? heap_ : small_; }
  int64_t* end() { return begin() + n_; }
  const int64_t* begin() const { return heap_ ? heap_ : small_; }
  const int64_t* end() const { return begin() + n_; }
  int64_t& operator[](int i) { return begin()[i]; }
  int64_t operator[](int i) const { return begin()[i]; }
  int64_t back() const { return begin()[n_ - 1]; }
  operator std::span<const int64_t>() const { return {begin(), static_cast<size_t>(n_)}; }

  // Keeps the leading entries; new ones are unset.
  void resize(int n);
  void push_back(int64_t v) {
    resize(n_ + 1);
    begin()[n_ - 1] = v;
  }
  void erase(int i) {
    std::copy(begin() + i + 1, end(), begin() + i);
    --n_;
  }
  void insert(int i, int64_t v) {
    push_back(v);
    std::rotate(begin() + i, end() - 1, end());
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.n_ == b.n_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  // All of it, whatever n_ is: moves of a constant size need no call.
  void copy_small(const Dims& o) { std::memcpy(small_, o.small_, sizeof small_); }
  void copy(const Dims& o) {
    if (!heap_ && !o.heap_) {
      n_ = o.n_;
      return copy_small(o);
    }
    resize(o.n_);
    std::copy(o.begin(), o.end(), begin());
  }
  void take(Dims& o) {
    n_ = o.n_;
    heap_ = o.heap_;
    capacity_ = o.capacity_;
    if (!heap_) copy_small(o);
    o.heap_ = nullptr;
    o.capacity_ = kInline;
    o.n_ = 0;
  }
  void drop() {
    if (heap_) delete[] heap_;
    heap_ = nullptr;
    capacity_ = kInline;
  }

  int n_ = 0;
  int capacity_ = kInline;
  int64_t* heap_ = nullptr;
  int64_t small_[kInline];
};

inline void Dims::resize(int n) {
  if (n > capacity_) {
    int capacity = std::max(n, 2 * capacity_);
    int64_t* grown = new int64_t[capacity];
    std::copy(begin(), begin() + n_, grown);
    delete[] heap_;
    heap_ = grown;
    capacity_ = capacity;
  }
  n_ = n;
}

// "(2, 3)", "(4,)", "()": a shape as Python writes it.
std::string show(std::span<const int64_t> dims);

int64_t product(std::span<const int64_t> dims);

}  // namespace tn
