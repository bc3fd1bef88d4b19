// A loop nest over operands of one shape: axes ordered and merged so that few, long loops remain.
#pragma once
#include <array>

#include "core/dims.h"

namespace tn {

// Operand 0 is the one written; strides are in bytes. Axes run from the outermost to the innermost.
template <int N>
struct Nest {
  Dims shape;
  std::array<Dims, N> strides;
  std::array<char*, N> data;

  int ndim() const { return shape.size(); }
  bool empty() const { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

  void add(int64_t size, std::array<int64_t, N> steps) {
    if (size == 1) return;
    shape.push_back(size);
    for (int i = 0; i < N; ++i) strides[i].push_back(steps[i]);
  }

  // Walks every axis so that operand 0 moves forward, the slowest axis first, and joins what is one loop.
  void simplify() {
    if (empty()) return;
    for (int axis = 0; axis < ndim(); ++axis)
      if (strides[0][axis] < 0) reverse(axis);
    sort();
    for (int axis = ndim() - 2; axis >= 0; --axis)
      if (joins(axis)) join(axis);
  }

  void swap(int i, int j) {
    std::swap(shape[i], shape[j]);
    for (Dims& s : strides) std::swap(s[i], s[j]);
  }

  // Calls inner(data) at every position of the axes before `inner_axes` trailing ones.
  template <class F>
  void each(int inner_axes, F&& inner) const {
    if (empty()) return;
    std::array<char*, N> at = data;
    Dims index(std::max(ndim() - inner_axes, 0), 0);
    while (true) {
      inner(at);
      int axis = index.size() - 1;
      for (; axis >= 0; --axis) {
        if (++index[axis] < shape[axis]) {
          for (int i = 0; i < N; ++i) at[i] += strides[i][axis];
          break;
        }
        index[axis] = 0;
        for (int i = 0; i < N; ++i) at[i] -= strides[i][axis] * (shape[axis] - 1);
      }
      if (axis < 0) return;
    }
  }

 private:
  void reverse(int axis) {
    for (int i = 0; i < N; ++i) {
      data[i] += strides[i][axis] * (shape[axis] - 1);
      strides[i][axis] = -strides[i][axis];
    }
  }
  // a runs outside b.
  bool before(int a, int b) const {
    for (const Dims& s : strides)
      if (std::abs(s[a]) != std::abs(s[b])) return std::abs(s[a]) > std::abs(s[b]);
    return false;
  }
  void sort() {
    for (int i = 1; i < ndim(); ++i)
      for (int j = i; j > 0 && before(j, j - 1); --j) swap(j, j - 1);
  }
  bool joins(int axis) const {
    for (const Dims& s : strides)
      if (s[axis] != s[axis + 1] * shape[axis + 1]) return false;
    return true;
  }
  void join(int axis) {
    shape[axis + 1] *= shape[axis];
    shape.erase(axis);
    for (Dims& s : strides) s.erase(axis);
  }
};

}  // namespace tn
