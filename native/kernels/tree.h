// Partial results of a reduction, combined in a tree so that rounding errors stay logarithmic.
#pragma once
#include <algorithm>

#include "kernels/table.h"

namespace tn {

class Tree {
 public:
  static constexpr int kFan = 64, kLevels = 12;
  Tree(ReduceOp op, DType t) : combine_(kernels().reduce[int(op)][int(t)]), item_(itemsize(t)) {}

  // Where the next value is to be written; `added` says that it was.
  void* next() { return slot(0, count_[0]); }
  void added() {
    ++count_[0];
    for (int level = 0; count_[level] == kFan; ++level) fold(level);
  }
  void finish(void* out) {
    for (int level = 0; level < top_; ++level)
      if (count_[level] > 0) fold(level);
    combine_(values_[top_], out, count_[top_]);
  }

 private:
  void* slot(int level, int i) { return values_[level] + i * item_; }
  void fold(int level) {
    combine_(values_[level], slot(level + 1, count_[level + 1]++), count_[level]);
    count_[level] = 0;
    top_ = std::max(top_, level + 1);
  }

  ReduceFn combine_;
  size_t item_;
  int top_ = 0;
  int count_[kLevels] = {};
  alignas(16) char values_[kLevels][kFan * 16];
};

}  // namespace tn
