// A vector whose first N entries need no allocation. Entries do not move except when it grows.
#pragma once
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace tn {

template <class T, int N>
class SmallVector {
 public:
  SmallVector() = default;
  explicit SmallVector(int n) { resize(n); }
  SmallVector(const SmallVector& o) { *this = o; }
  SmallVector& operator=(const SmallVector& o) {
    if (this == &o) return *this;
    clear();
    reserve(o.n_);
    for (const T& v : o) push_back(v);
    return *this;
  }
  ~SmallVector() {
    clear();
    if (data_ != local()) ::operator delete(data_);
  }

  int size() const { return n_; }
  bool empty() const { return n_ == 0; }
  T& operator[](int i) { return data_[i]; }
  const T& operator[](int i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + n_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + n_; }
  operator std::span<T>() { return {data_, static_cast<size_t>(n_)}; }
  operator std::span<const T>() const { return {data_, static_cast<size_t>(n_)}; }

  template <class... Args>
  T& emplace_back(Args&&... args) {
    reserve(n_ + 1);
    return *new (data_ + n_++) T(std::forward<Args>(args)...);
  }
  void push_back(const T& v) { emplace_back(v); }
  void push_back(T&& v) { emplace_back(std::move(v)); }
  void resize(int n) {
    reserve(n);
    while (n_ < n) new (data_ + n_++) T();
    while (n_ > n) data_[--n_].~T();
  }
  void erase(int i) {
    for (; i + 1 < n_; ++i) data_[i] = std::move(data_[i + 1]);
    data_[--n_].~T();
  }
  void clear() {
    while (n_ > 0) data_[--n_].~T();
  }
  void reserve(int n) {
    if (n <= capacity_) return;
    int capacity = n > 2 * capacity_ ? n : 2 * capacity_;
    T* grown = static_cast<T*>(::operator new(sizeof(T) * capacity));
    for (int i = 0; i < n_; ++i) {
      new (grown + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (data_ != local()) ::operator delete(data_);
    data_ = grown;
    capacity_ = capacity;
  }

 private:
  T* local() { return reinterpret_cast<T*>(bytes_); }

  int n_ = 0;
  int capacity_ = N;
  T* data_ = local();
  alignas(T) unsigned char bytes_[N * sizeof(T)];
};

}  // namespace tn
