#include "kernels/scan.h"

#include "core/visit.h"
#include "kernels/block.h"
#include "kernels/copy.h"
#include "kernels/loop.h"

namespace tn {
namespace {

struct Pointers {
  char* p[3];  // a, b, s
  char*& operator[](int i) { return p[i]; }
};

// Steps in bytes along one axis for a, b and s.
struct Steps {
  int64_t a, b, s;
};

template <class T>
T& at(char* p, int64_t offset) {
  return *reinterpret_cast<T*>(p + offset);
}

// One step of many recurrences side by side; `first` has no predecessor.
template <class T>
void advance(Pointers p, const Steps& lane, int64_t lanes, int64_t previous, bool first) {
  for (int64_t i = 0; i < lanes; ++i) {
    const T b = at<T>(p[1], i * lane.b);
    T& s = at<T>(p[2], i * lane.s);
    s = first ? b : T(at<T>(p[0], i * lane.a) * at<T>(p[2], i * lane.s + previous) + b);
  }
}

template <class T>
void scan(Pointers p, const Steps& step, int64_t n, const Steps& lane, int64_t lanes) {
  for (int64_t k = 0; k < n; ++k) {
    advance<T>(p, lane, lanes, -step.s, k == 0);
    p[0] += step.a;
    p[1] += step.b;
    p[2] += step.s;
  }
}

Dims without(std::span<const int64_t> dims, int axis) {
  Dims out(dims);
  out.erase(axis);
  return out;
}

}  // namespace

Tensor linear_scan(const Tensor& a, const Tensor& b, int axis, bool reverse) {
  Tensor s = empty(b.dtype, b.shape());
  const int64_t n = b.shape()[axis];
  if (s.numel() == 0) return s;
  const auto item = static_cast<int64_t>(itemsize(b.dtype));
  const Tensor* operands[3] = {&a, &b, &s};
  Loop<3> loop(without(b.shape(), axis), 3);
  Pointers origin{};
  int64_t step[3];
  for (int i = 0; i < 3; ++i) {
    const int64_t stride = operands[i]->strides()[axis] * item;
    loop.set_strides(i, without(operands[i]->strides(), axis), item);
    origin[i] = operands[i]->data + (reverse ? (n - 1) * stride : 0);
    step[i] = reverse ? -stride : stride;
  }
  loop.merge();
  loop.pad_to(1);
  const int last = loop.ndim() - 1;
  const Steps along{step[0], step[1], step[2]};
  const Steps lane{loop.stride(0, last), loop.stride(1, last), loop.stride(2, last)};
  const bool lanes_outside = std::abs(along.s) < std::abs(lane.s);
  Unlocked unlocked(s.numel() >= kWorthUnlocking);
  visit(b.dtype, [&]<class T>(Type<T>) {
    if (lanes_outside)
      loop.for_each_outer(origin, 0, [&](Pointers p) { scan<T>(p, along, n, lane, 1); });
    else
      loop.for_each_outer(origin, 1, [&](Pointers p) { scan<T>(p, along, n, lane, loop.size(last)); });
  });
  return s;
}

Tensor shift(const Tensor& x, int axis, int64_t by) {
  const int64_t n = x.shape()[axis], lost = std::min(std::abs(by), n);
  Tensor y = empty(x.dtype, x.shape());
  auto part = [&](const Tensor& t, int64_t start, int64_t count) {
    Layout layout = t.layout;
    layout.shape[axis] = count;
    return view(t, layout, start * t.strides()[axis]);
  };
  copy_into(part(y, by > 0 ? lost : 0, n - lost), part(x, by > 0 ? 0 : lost, n - lost));
  fill_zero(part(y, by > 0 ? 0 : n - lost, lost));
  return y;
}

}  // namespace tn
