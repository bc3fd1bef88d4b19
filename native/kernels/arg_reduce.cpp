// The position of the largest or smallest element.
#include "core/error.h"
#include "kernels/block.h"
#include "kernels/copy.h"
#include "kernels/loop.h"
#include "kernels/reduce.h"

namespace tn::reductions {
namespace {

struct Pointers {
  char* p[2];  // operand, result
  char*& operator[](int i) { return p[i]; }
};

// A run of n elements, `stride` bytes apart.
struct Run {
  int64_t n, stride;
};

class ArgPass {
 public:
  ArgPass(bool largest, const Tensor& x, Run run, Loop<2> lanes)
      : x_(x), run_(run), lanes_(std::move(lanes)), item_(itemsize(x.dtype)) {
    const KernelTable& k = kernels();
    const int t = int(x.dtype);
    along_ = (largest ? k.argmax : k.argmin)[t];
    across_ = (largest ? k.argmax_accumulate : k.argmin_accumulate)[t];
  }

  void run(char* out) {
    constexpr int64_t kFewLanes = 4;
    if (run_.stride == item_ || lane_count() < kFewLanes)
      lanes_.for_each_outer(Pointers{{x_.data, out}}, 0, [&](Pointers at) { search(at); });
    else
      lanes_.for_each_outer(Pointers{{x_.data, out}}, 1, [&](Pointers at) { search_columns(at); });
  }

 private:
  int64_t lane_count() const { return lanes_.size(lanes_.ndim() - 1); }
  int64_t lane_stride(int k) const { return lanes_.stride(k, lanes_.ndim() - 1); }

  void search(Pointers at) {
    int64_t index;
    if (run_.stride == item_) {
      index = along_(at[0], run_.n);
    } else {
      Scratch gathered(run_.n * item_);
      kernels().load_strided[size_index(x_.dtype)](at[0], run_.stride, gathered.as<char>(), run_.n);
      index = along_(gathered.as<char>(), run_.n);
    }
    *reinterpret_cast<int64_t*>(at[1]) = index;
  }

  void search_columns(Pointers at) {
    BlockReader reader;
    reader.open(x_.dtype, x_.dtype, 0, lane_stride(0), false);
    alignas(64) char best[kTile * 16];
    int64_t index[kTile];
    for (int64_t c = 0; c < lane_count(); c += kTile) {
      const int64_t n = std::min(kTile, lane_count() - c);
      const char* column = at[0] + c * lane_stride(0);
      kernels().load_strided[size_index(x_.dtype)](column, lane_stride(0), best, n);
      std::fill(index, index + n, 0);
      for (int64_t k = 1; k < run_.n; ++k)
        across_(reader.read(column + k * run_.stride, {1, n}, true).data, best, index, k, n);
      kernels().store_strided[size_index(DType::I64)](index, at[1] + c * lane_stride(1), lane_stride(1), n);
    }
  }

  const Tensor& x_;
  Run run_;
  Loop<2> lanes_;
  int64_t item_;
  ArgFn along_;
  ArgAccumulateFn across_;
};

Tensor flattened(const Tensor& x) { return view(contiguous(x), Layout{{x.numel()}, {1}}); }

}  // namespace

void require_order(bool largest, DType t) {
  if (!kernels().argmax[int(t)])
    fail(ErrorKind::Type, largest ? "argmax" : "argmin", ": ", name(t), " is not supported.");
}

Tensor arg_reduce(bool largest, const Tensor& x, std::span<const int64_t> axes) {
  require_order(largest, x.dtype);
  if (static_cast<int>(axes.size()) == x.ndim() && x.ndim() != 1) {
    const int64_t only[] = {0};
    return arg_reduce(largest, flattened(x), only);
  }
  if (axes.size() != 1)
    fail(ErrorKind::Value, largest ? "argmax" : "argmin", ": takes one axis or all, got ", show(axes), ".");
  const int axis = static_cast<int>(axes[0]);
  Tensor out = empty(DType::I64, reduced_shape(x.shape(), axes));
  if (out.numel() == 0) return out;
  if (x.shape()[axis] == 0)
    fail(ErrorKind::Value, largest ? "argmax" : "argmin", ": there is no element to choose from in shape ",
         show(x.shape()), ".");
  Dims strides(x.strides());
  strides.erase(axis);
  const auto item = static_cast<int64_t>(itemsize(x.dtype));
  Loop<2> lanes(out.shape(), 2);
  lanes.set_strides(0, strides, item);
  lanes.set_strides(1, out.strides(), sizeof(int64_t));
  lanes.merge();
  lanes.pad_to(1);
  ArgPass pass(largest, x, {x.shape()[axis], x.strides()[axis] * item}, lanes);
  Unlocked unlocked(x.numel() >= kWorthUnlocking);
  pass.run(out.data);
  return out;
}

}  // namespace tn::reductions
