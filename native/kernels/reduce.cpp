#include "kernels/reduce.h"

#include "core/error.h"
#include "kernels/block.h"
#include "kernels/elementwise.h"
#include "kernels/loop.h"
#include "kernels/tree.h"

namespace tn::reductions {
namespace {

bool contains(std::span<const int64_t> axes, int64_t a) {
  return std::find(axes.begin(), axes.end(), a) != axes.end();
}

// ---- rows of partial results, combined in a tree so that rounding errors stay logarithmic ----

constexpr int kLevels = Tree::kLevels;

// Rows of up to `width` values.
class RowTree {
 public:
  static constexpr int kFan = 32;
  RowTree(ReduceOp op, DType from, DType to, int64_t width)
      : first_(kernels().cast[int(from)][int(to)]),
        add_(kernels().accumulate[int(op)][int(from)]),
        copy_(kernels().cast[int(to)][int(to)]),
        combine_(kernels().accumulate[int(op)][int(to)]),
        scratch_(kLevels * width * itemsize(to)),
        level_bytes_(width * itemsize(to)) {}

  void start(int64_t n) {
    n_ = n;
    std::fill(count_, count_ + kLevels, 0);
    top_ = 0;
  }
  void add(const void* row) {
    (count_[0]++ ? add_ : first_)(row, level(0), n_);
    for (int i = 0; count_[i] == kFan; ++i) fold(i);
  }
  const void* finish() {
    for (int i = 0; i < top_; ++i)
      if (count_[i] > 0) fold(i);
    return level(top_);
  }

 private:
  char* level(int i) { return scratch_.as<char>() + i * level_bytes_; }
  void fold(int i) {
    (count_[i + 1]++ ? combine_ : copy_)(level(i), level(i + 1), n_);
    count_[i] = 0;
    top_ = std::max(top_, i + 1);
  }

  UnaryFn first_, add_, copy_, combine_;
  Scratch scratch_;
  size_t level_bytes_;
  int64_t n_ = 0;
  int top_ = 0;
  int count_[kLevels] = {};
};

// ---- the pass ----

struct Pointers {
  char* p[2];  // operand, result
  char*& operator[](int i) { return p[i]; }
};
struct Pointer {
  char* p;
  char*& operator[](int) { return p; }
};

class Pass {
 public:
  Pass(ReduceOp op, const Tensor& x, std::span<const int64_t> kept, std::span<const int64_t> reduced,
       const Tensor& out)
      : op_(op), x_(x), out_(out), kept_(loop_of_kept(kept)), reduced_(loop_of_reduced(reduced)) {}

  void run() {
    if (along_rows())
      reduce_rows();
    else
      reduce_columns();
  }

 private:
  Loop<2> loop_of_kept(std::span<const int64_t> axes) const {
    Loop<2> loop(out_.shape(), 2);
    loop.set_strides(0, select(x_.strides(), axes), itemsize(x_.dtype));
    loop.set_strides(1, out_.strides(), itemsize(out_.dtype));
    loop.reorder(axes_by_stride(out_.strides()));
    loop.merge();
    loop.pad_to(1);
    return loop;
  }
  Loop<1> loop_of_reduced(std::span<const int64_t> axes) const {
    Loop<1> loop(select(x_.shape(), axes), 1);
    const Dims strides = select(x_.strides(), axes);
    loop.set_strides(0, strides, itemsize(x_.dtype));
    loop.reorder(axes_by_stride(strides));
    loop.merge();
    loop.pad_to(2);
    return loop;
  }
  static Dims select(std::span<const int64_t> values, std::span<const int64_t> axes) {
    Dims out;
    for (int64_t a : axes) out.push_back(values[a]);
    return out;
  }

  int64_t kept_size() const { return kept_.size(kept_.ndim() - 1); }
  int64_t kept_stride(int operand) const { return kept_.stride(operand, kept_.ndim() - 1); }
  int64_t run_size() const { return reduced_.size(reduced_.ndim() - 1); }
  int64_t run_stride() const { return reduced_.stride(0, reduced_.ndim() - 1); }

  // Memory runs along a reduced axis, and far enough to be worth one kernel call for each result.
  bool along_rows() const {
    constexpr int64_t kShortRun = 16;
    if (kept_size() == 1) return true;
    if (run_size() < kShortRun && kept_size() > run_size()) return false;
    return std::abs(run_stride()) <= std::abs(kept_stride(0)) || kept_stride(0) == 0;
  }

  void reduce_rows() {
    const int axis = reduced_.ndim() - 1;
    BlockReader reader;
    reader.open(x_.dtype, x_.dtype, reduced_.stride(0, axis - 1), run_stride(), false);
    const int64_t cols = reader.direct() ? run_size() : std::min(run_size(), kTile);
    const int64_t rows =
        cols == run_size() ? std::max<int64_t>(1, std::min(reduced_.size(axis - 1), kTile / cols)) : 1;
    kept_.for_each_outer(Pointers{{x_.data, out_.data}}, 0, [&](Pointers at) {
      Tree tree(op_, out_.dtype);
      reduced_.for_each_outer(Pointer{at[0]}, 2,
                              [&](Pointer plane) { add_plane(reader, plane.p, {rows, cols}, tree); });
      tree.finish(at[1]);
    });
  }

  void add_plane(BlockReader& reader, const char* plane, Block step, Tree& tree) {
    const ReduceFn fn = kernels().reduce[int(op_)][int(x_.dtype)];
    const int axis = reduced_.ndim() - 1;
    for (int64_t r = 0; r < reduced_.size(axis - 1); r += step.rows)
      for (int64_t c = 0; c < run_size(); c += step.cols) {
        const Block block{std::min(step.rows, reduced_.size(axis - 1) - r),
                          std::min(step.cols, run_size() - c)};
        const char* p = plane + r * reduced_.stride(0, axis - 1) + c * run_stride();
        fn(reader.read(p, block, true).data, tree.next(), block.size());
        tree.added();
      }
  }

  void reduce_columns() {
    BlockReader reader;
    reader.open(x_.dtype, x_.dtype, 0, kept_stride(0), false);
    constexpr int64_t kWide = 4096;  // the sums of rows that are read in place stay in L1 and L2
    const int64_t width = std::min(kept_size(), reader.direct() ? kWide : kTile);
    RowTree tree(op_, x_.dtype, out_.dtype, width);
    const StoreStridedFn store = kernels().store_strided[size_index(out_.dtype)];
    kept_.for_each_outer(Pointers{{x_.data, out_.data}}, 1, [&](Pointers at) {
      for (int64_t c = 0; c < kept_size(); c += width) {
        const int64_t n = std::min(width, kept_size() - c);
        tree.start(n);
        reduced_.for_each_outer(Pointer{at[0] + c * kept_stride(0)}, 0,
                                [&](Pointer row) { tree.add(reader.read(row.p, {1, n}, true).data); });
        store(tree.finish(), at[1] + c * kept_stride(1), kept_stride(1), n);
      }
    });
  }

  ReduceOp op_;
  const Tensor& x_;
  const Tensor& out_;
  Loop<2> kept_;
  Loop<1> reduced_;
};

// ---- what needs no pass ----

void fill_identity(ReduceOp op, DType from, const Tensor& out) {
  alignas(16) char identity[16];
  kernels().reduce[int(op)][int(from)](nullptr, identity, 0);
  kernels().fill[size_index(out.dtype)](identity, out.data, out.numel());
}

// A sum over an axis of stride 0 is a multiple; the largest of equal elements is any of them.
bool skips_stride_0(ReduceOp op) { return op != ReduceOp::prod; }

void multiply_by(const Tensor& out, int64_t count) {
  if (count == 1) return;
  const Tensor factor = scalar(out.dtype, static_cast<double>(count));
  kernels().at(BinaryOp::multiply, out.dtype).vs(out.data, factor.data, out.data, out.numel());
}

// Row-major, or in the order of the operand's axes where each of them has a stride.
Layout result_layout(const Tensor& x, std::span<const int64_t> kept) {
  Dims shape, strides;
  for (int64_t a : kept) {
    shape.push_back(x.shape()[a]);
    strides.push_back(x.strides()[a]);
  }
  Layout out = Layout::c_contiguous(shape);
  if (contains(strides, 0)) return out;
  const Dims order = axes_by_stride(strides);
  int64_t step = 1;
  for (int i = order.size() - 1; i >= 0; --i) {
    out.strides[order[i]] = step;
    step *= std::max<int64_t>(shape[order[i]], 1);
  }
  return out;
}

// All elements of a tensor without gaps: one kernel call.
Tensor reduce_all(ReduceOp op, const Tensor& x, DType dtype) {
  Tensor out = empty(dtype, Dims{});
  const int64_t n = x.numel();
  Unlocked unlocked(n >= kWorthUnlocking);
  kernels().reduce[int(op)][int(x.dtype)](x.data, out.data, n);
  return out;
}

// A tall, narrow, dense matrix whose rows are summed up (or the like).
bool is_narrow(const Tensor& x, std::span<const int64_t> kept) {
  constexpr int64_t kNarrow = 64;
  return x.ndim() == 2 && kept.size() == 1 && kept[0] == 1 && x.shape()[1] > 0 && x.shape()[1] <= kNarrow &&
         x.shape()[0] > 2 * kTile && x.layout.is_c_contiguous();
}

// Several rows are taken for one wide row, so that kernels have something to do; then the wide row is folded.
Tensor reduce_narrow(ReduceOp op, const Tensor& x) {
  const int64_t first[] = {0};
  const int64_t rows = x.shape()[0], cols = x.shape()[1], together = kTile / cols;
  const int64_t wide_rows = rows / together, rest = rows % together;
  Tensor wide = reduce(op, view(x, Layout::c_contiguous(Dims{wide_rows, together * cols})), first);
  Tensor out = reduce(op, view(wide, Layout::c_contiguous(Dims{together, cols})), first);
  if (rest == 0) return out;
  const Tensor last =
      reduce(op, view(x, Layout::c_contiguous(Dims{rest, cols}), (rows - rest) * cols), first);
  kernels().accumulate[int(op)][int(out.dtype)](last.data, out.data, cols);
  return out;
}

}  // namespace

DType reduced_dtype(ReduceOp op, DType t) {
  if (!kernels().reduce[int(op)][int(t)])
    fail(ErrorKind::Type, name(op), ": ", name(t), " is not supported.");
  return result_dtype(op, t);
}

Dims reduced_shape(std::span<const int64_t> shape, std::span<const int64_t> axes) {
  Dims out;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!contains(axes, i)) out.push_back(shape[i]);
  return out;
}

void require_elements(const char* name, std::span<const int64_t> shape, std::span<const int64_t> axes) {
  bool empty = false;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] != 0) continue;
    if (!contains(axes, static_cast<int>(k))) return;
    empty = true;
  }
  if (empty) fail(ErrorKind::Value, name, ": there is no element to choose from in shape ", show(shape), ".");
}

Tensor reduce(ReduceOp op, const Tensor& x, std::span<const int64_t> axes) {
  const DType dtype = reduced_dtype(op, x.dtype);
  Dims kept, reduced;
  int64_t count = 1, multiplicity = 1;
  for (int i = 0; i < x.ndim(); ++i) {
    if (!contains(axes, i)) {
      kept.push_back(i);
      continue;
    }
    count *= x.shape()[i];
    if (x.strides()[i] == 0 && skips_stride_0(op))
      multiplicity *= x.shape()[i];
    else
      reduced.push_back(i);
  }
  if (kept.empty() && count > 0 && x.layout.is_dense()) return reduce_all(op, x, dtype);
  if (is_narrow(x, kept)) return reduce_narrow(op, x);
  Tensor out = empty(dtype, result_layout(x, kept));
  if (out.numel() == 0) return out;
  if (count == 0) {
    if (op == ReduceOp::max || op == ReduceOp::min) require_elements(name(op), x.shape(), axes);
    fill_identity(op, x.dtype, out);
    return out;
  }
  Pass pass(op, x, kept, reduced, out);
  {
    Unlocked unlocked(x.numel() >= kWorthUnlocking);
    pass.run();
  }
  if (op == ReduceOp::sum) multiply_by(out, multiplicity);
  return out;
}

}  // namespace tn::reductions
