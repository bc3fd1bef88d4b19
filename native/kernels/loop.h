// The common index space of some operands: axes in the order of iteration, merged where they can be, ending
// in a plane of rows x columns.
#pragma once
#include <cstdlib>

#include "core/dims.h"

namespace tn {

// Strides are in bytes.
template <int kMaxOperands>
class Loop {
 public:
  Loop(std::span<const int64_t> shape, int operands) : shape_(shape), operands_(operands) {}

  int ndim() const { return shape_.size(); }
  int64_t size(int axis) const { return shape_[axis]; }
  int64_t stride(int operand, int axis) const { return strides_[operand][axis]; }
  void set_strides(int operand, std::span<const int64_t> strides, int64_t item) {
    strides_[operand] = Dims(strides);
    for (int64_t& s : strides_[operand]) s *= item;
  }

  // Drops axes of size 1 and merges neighbours that every operand walks through in one stride.
  void merge() {
    for (int i = ndim() - 1; i >= 0; --i)
      if (shape_[i] == 1) erase(i);
    for (int i = ndim() - 2; i >= 0; --i)
      if (mergeable(i)) {
        shape_[i + 1] *= shape_[i];
        erase(i);
      }
  }
  // Adds leading axes of size 1.
  void pad_to(int n) {
    while (ndim() < n) {
      shape_.insert(0, 1);
      for (int k = 0; k < operands_; ++k) strides_[k].insert(0, 0);
    }
  }
  void move_axis(int from, int to) {
    move(shape_, from, to);
    for (int k = 0; k < operands_; ++k) move(strides_[k], from, to);
  }
  void reorder(std::span<const int64_t> axes) {
    permute(shape_, axes);
    for (int k = 0; k < operands_; ++k) permute(strides_[k], axes);
  }

  // Calls body(pointers) at the origin of each plane: for every index of all but the last `inner` axes.
  template <class Pointers, class Body>
  void for_each_outer(Pointers pointers, int inner, Body body) const {
    const int outer = ndim() - inner;
    Dims index(outer);
    while (true) {
      body(pointers);
      int i = outer - 1;
      for (; i >= 0; --i) {
        for (int k = 0; k < operands_; ++k) pointers[k] += strides_[k][i];
        if (++index[i] < shape_[i]) break;
        for (int k = 0; k < operands_; ++k) pointers[k] -= strides_[k][i] * shape_[i];
        index[i] = 0;
      }
      if (i < 0) return;
    }
  }

 private:
  bool mergeable(int i) const {
    for (int k = 0; k < operands_; ++k)
      if (strides_[k][i] != strides_[k][i + 1] * shape_[i + 1]) return false;
    return true;
  }
  void erase(int i) {
    shape_.erase(i);
    for (int k = 0; k < operands_; ++k) strides_[k].erase(i);
  }
  static void permute(Dims& d, std::span<const int64_t> axes) {
    const Dims old = d;
    for (int i = 0; i < d.size(); ++i) d[i] = old[axes[i]];
  }
  static void move(Dims& d, int from, int to) {
    int64_t v = d[from];
    d.erase(from);
    d.insert(to, v);
  }

  Dims shape_;
  Dims strides_[kMaxOperands];
  int operands_;
};

// The axes by descending size of their strides; equal ones stay in order.
inline Dims axes_by_stride(std::span<const int64_t> strides) {
  Dims axes(static_cast<int>(strides.size()));
  for (int i = 0; i < axes.size(); ++i) {
    int at = i;
    for (; at > 0 && std::abs(strides[axes[at - 1]]) < std::abs(strides[i]); --at) axes[at] = axes[at - 1];
    axes[at] = i;
  }
  return axes;
}

}  // namespace tn
