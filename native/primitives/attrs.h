// Static attributes of a primitive: axes, flags, enumerations; never sizes. Each is an integer or a list of
// integers. They are interned, so that equal attributes are one object and compare by pointer.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tn {

class Attrs {
 public:
  using Lists = std::vector<std::vector<int64_t>>;

  static const Attrs& none();
  // Bit i of `scalars`: attribute i is an integer, given as a list of one.
  static const Attrs& intern(Lists lists, uint32_t scalars = 0);
  bool is_scalar(int i) const { return scalars_ >> i & 1; }

  int size() const { return static_cast<int>(lists_.size()); }
  std::span<const int64_t> list(int i) const { return lists_[i]; }
  int64_t scalar(int i) const { return lists_[i][0]; }
  const Lists& lists() const { return lists_; }

 private:
  Attrs(Lists lists, uint32_t scalars) : lists_(std::move(lists)), scalars_(scalars) {}
  Lists lists_;
  uint32_t scalars_;
};

}  // namespace tn
