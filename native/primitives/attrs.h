// Static attributes of a primitive: axes, flags, enumerations; never sizes. A list of integers or lists of
// integers, interned, so that equal attributes are one object and compare by pointer.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tn {

class Attrs {
 public:
  using Lists = std::vector<std::vector<int64_t>>;

  static const Attrs& none();
  static const Attrs& intern(Lists lists);

  int size() const { return static_cast<int>(lists_.size()); }
  std::span<const int64_t> list(int i) const { return lists_[i]; }
  int64_t scalar(int i) const { return lists_[i][0]; }
  const Lists& lists() const { return lists_; }

 private:
  explicit Attrs(Lists lists) : lists_(std::move(lists)) {}
  Lists lists_;
};

}  // namespace tn
