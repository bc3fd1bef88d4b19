#include "kernels/elementwise.h"

#include <array>

#include "core/error.h"
#include "kernels/block.h"
#include "kernels/loop.h"

namespace tn::elementwise {
namespace {

// ---- kernels behind one signature ----

// One element computed and written n times.
template <class Compute>
void repeat(const Kernel& k, void* out, size_t n, Compute compute) {
  char value[16];
  compute(value);
  kernels().fill[size_index(k.out)](value, out, n);
}

void call_unary(const Kernel& k, const void* const* in, unsigned scalars, void* out, size_t n) {
  if (!scalars) return k.unary(in[0], out, n);
  repeat(k, out, n, [&](void* value) { k.unary(in[0], value, 1); });
}

void call_binary(const Kernel& k, const void* const* in, unsigned scalars, void* out, size_t n) {
  switch (scalars) {
    case 0b00:
      return k.binary.vv(in[0], in[1], out, n);
    case 0b10:
      return k.binary.vs(in[0], in[1], out, n);
    case 0b01:
      return k.binary.sv(in[0], in[1], out, n);
    default:
      repeat(k, out, n, [&](void* value) { k.binary.vv(in[0], in[1], value, 1); });
  }
}

void call_where(const Kernel& k, const void* const* in, unsigned scalars, void* out, size_t n) {
  const WhereKernels& w = k.where;
  const WhereFn fn[4] = {w.vv, w.sv, w.vs, w.ss};
  fn[scalars >> 1](in[0], in[1], in[2], out, n);
}

Kernel unary_kernel(UnaryFn fn, DType in, DType out) {
  Kernel k{call_unary, 1, 0b1, {in}, out, {}};
  k.unary = fn;
  return k;
}

Kernel binary_kernel(const BinaryKernels& fns, DType in, DType out) {
  Kernel k{call_binary, 2, 0b11, {in, in}, out, {}};
  k.binary = fns;
  return k;
}

// `has(t)`: the table defines the operation for t.
template <class Has>
DType dtype_to_compute(const char* who, DType t, Has has) {
  if (has(t)) return t;
  const bool of_floats = has(DType::F64) && !has(DType::I64);
  if (!is_inexact(t) && of_floats) return DType::F64;
  fail(ErrorKind::Type, who, ": ", name(t), " is not supported",
       is_bool(t) ? "; use &, |, ^ and ~, or astype." : ".");
}

// ---- one pass over the operands ----

class Pass {
 public:
  Pass(const Kernel& k, std::span<const Tensor* const> in, const Tensor& out)
      : k_(k), n_in_(k.n_in), loop_(out.shape(), k.n_in + 1) {
    for (int i = 0; i < n_in_; ++i)
      loop_.set_strides(i, broadcast_strides(in[i]->layout, out.shape()), itemsize(in[i]->dtype));
    loop_.set_strides(n_in_, out.strides(), itemsize(out.dtype));
    loop_.reorder(axes_by_stride(out.strides()));
    loop_.merge();
    loop_.pad_to(2);
    choose_plane(in);
    open_readers(in);
    choose_block();
    for (int i = 0; i < n_in_; ++i) origin_.p[i] = in[i]->data;
    origin_.p[n_in_] = out.data;
  }

  void run() {
    loop_.for_each_outer(origin_, 2, [&](const Pointers& p) { run_plane(p); });
  }

 private:
  struct Pointers {
    char* p[kMaxOperands + 1];
    char*& operator[](int i) { return p[i]; }
    char* operator[](int i) const { return p[i]; }
  };

  int64_t row_stride(int k) const { return loop_.stride(k, loop_.ndim() - 2); }
  int64_t col_stride(int k) const { return loop_.stride(k, loop_.ndim() - 1); }
  int64_t rows() const { return loop_.size(loop_.ndim() - 2); }
  int64_t cols() const { return loop_.size(loop_.ndim() - 1); }

  // Where an operand is contiguous along another axis than the output, that axis becomes the rows of the
  // plane, so that the operand is read by transposing square blocks.
  void choose_plane(std::span<const Tensor* const> in) {
    const int last = loop_.ndim() - 1;
    for (int i = 0; i < n_in_; ++i) {
      const auto item = static_cast<int64_t>(itemsize(in[i]->dtype));
      if (loop_.stride(i, last) == item || loop_.stride(i, last) == 0 || cols() < 8) continue;
      for (int axis = 0; axis < last; ++axis)
        if (loop_.stride(i, axis) == item && loop_.size(axis) >= 8) {
          loop_.move_axis(axis, last - 1);
          transposed_ = true;
          return;
        }
    }
  }

  void open_readers(std::span<const Tensor* const> in) {
    for (int i = 0; i < n_in_; ++i)
      readers_[i].open(in[i]->dtype, k_.in[i], row_stride(i), col_stride(i), k_.scalars_allowed >> i & 1);
  }

  void choose_block() {
    constexpr int64_t kShortRow = 64;
    bool direct = true;
    for (int i = 0; i < n_in_; ++i) direct = direct && readers_[i].direct();
    if (transposed_) {
      block_ = {std::min(rows(), kTransposeEdge), std::min(cols(), kTransposeEdge)};
    } else if (cols() <= kShortRow) {
      block_ = {std::min(rows(), kTile / cols()), cols()};
    } else {
      block_ = {1, direct ? cols() : std::min(cols(), kTile)};
    }
  }

  void run_plane(const Pointers& origin) {
    for (int64_t r = 0; r < rows(); r += block_.rows)
      for (int64_t c = 0; c < cols(); c += block_.cols) {
        Pointers p = origin;
        for (int i = 0; i <= n_in_; ++i) p[i] += r * row_stride(i) + c * col_stride(i);
        run_block(p, {std::min(block_.rows, rows() - r), std::min(block_.cols, cols() - c)});
      }
  }

  void run_block(const Pointers& p, Block block) {
    const bool packed = block.rows == 1 || row_stride(n_in_) == block.cols * int64_t(itemsize(k_.out));
    Rows in[kMaxOperands];
    unsigned scalars = 0;
    for (int i = 0; i < n_in_; ++i) {
      in[i] = readers_[i].read(p[i], block, packed);
      scalars |= unsigned(in[i].scalar) << i;
    }
    const int64_t calls = packed ? 1 : block.rows, n = packed ? block.size() : block.cols;
    for (int64_t r = 0; r < calls; ++r) {
      const void* row[kMaxOperands];
      for (int i = 0; i < n_in_; ++i) row[i] = in[i].data + r * in[i].row;
      k_.call(k_, row, scalars, p[n_in_] + r * row_stride(n_in_), n);
    }
  }

  const Kernel& k_;
  const int n_in_;
  Loop<kMaxOperands + 1> loop_;
  bool transposed_ = false;
  Block block_{};
  Pointers origin_{};
  BlockReader readers_[kMaxOperands];
};

// ---- layout of the result ----

bool follows(std::span<const int64_t> axes, std::span<const int64_t> shape,
             std::span<const int64_t> strides) {
  int64_t previous = INT64_MAX;
  for (int64_t a : axes) {
    if (shape[a] == 1 || strides[a] == 0) continue;
    if (std::abs(strides[a]) > previous) return false;
    previous = std::abs(strides[a]);
  }
  return true;
}

bool determines_order(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1 && strides[i] == 0) return false;
  return true;
}

Layout dense_in_order(std::span<const int64_t> shape, std::span<const int64_t> axes) {
  Layout out{Dims(shape), Dims(static_cast<int>(shape.size()))};
  int64_t step = 1;
  for (int i = out.ndim() - 1; i >= 0; --i) {
    out.strides[axes[i]] = step;
    step *= shape[axes[i]];
  }
  return out;
}

Layout result_layout(std::span<const Tensor* const> in, std::span<const int64_t> shape) {
  Dims strides[kMaxOperands];
  for (size_t i = 0; i < in.size(); ++i) strides[i] = broadcast_strides(in[i]->layout, shape);
  for (size_t i = 0; i < in.size(); ++i) {
    if (!determines_order(shape, strides[i])) continue;
    const Dims axes = axes_by_stride(strides[i]);
    for (size_t j = 0; j < in.size(); ++j)
      if (!follows(axes, shape, strides[j])) return Layout::c_contiguous(shape);
    return dense_in_order(shape, axes);
  }
  return Layout::c_contiguous(shape);
}

// ---- the fast path ----

bool is_constant(const Tensor& t) {
  return std::all_of(t.strides().begin(), t.strides().end(), [](int64_t s) { return s == 0; });
}

// All operands have the same dense layout, but for scalars: 0-d operands, and those of that shape whose
// elements are one. No dtype needs a cast.
const Layout* flat_layout(const Kernel& k, std::span<const Tensor* const> in, unsigned& scalars) {
  const Layout* common = nullptr;
  for (int i = 0; i < k.n_in; ++i) {
    const Tensor& t = *in[i];
    if (t.dtype != k.in[i]) return nullptr;
    if (is_constant(t)) {
      scalars |= 1u << i;
    } else if (!common) {
      if (!t.layout.is_dense()) return nullptr;
      common = &t.layout;
    } else if (!(t.shape() == common->shape && t.strides() == common->strides)) {
      return nullptr;
    }
  }
  if (!common) {
    for (int i = 0; i < k.n_in; ++i)
      if (in[i]->ndim() > 0) return nullptr;
    scalars = 0;
    return &in[0]->layout;
  }
  for (int i = 0; i < k.n_in; ++i)
    if (scalars >> i & 1 && in[i]->ndim() > 0 && !(in[i]->shape() == common->shape)) return nullptr;
  return scalars & ~k.scalars_allowed ? nullptr : common;
}

void run_flat(const Kernel& k, std::span<const Tensor* const> in, unsigned scalars, void* out, int64_t n) {
  const void* data[kMaxOperands];
  for (int i = 0; i < k.n_in; ++i) data[i] = in[i]->data;
  Unlocked unlocked(n >= kWorthUnlocking);
  k.call(k, data, scalars, out, n);
}

}  // namespace

Kernel kernel(UnaryOp op, DType x) {
  const KernelTable& table = kernels();
  const DType t = dtype_to_compute(name(op), x, [&](DType d) { return table.at(op, d) != nullptr; });
  return unary_kernel(table.at(op, t), t, result_dtype(op, t));
}

Kernel kernel(BinaryOp op, DType a, DType b) {
  const KernelTable& table = kernels();
  const DType t =
      dtype_to_compute(name(op), promote(a, b), [&](DType d) { return table.at(op, d).vv != nullptr; });
  return binary_kernel(table.at(op, t), t, result_dtype(op, t));
}

Kernel kernel(CompareOp op, DType a, DType b) {
  const KernelTable& table = kernels();
  const DType t =
      dtype_to_compute(name(op), promote(a, b), [&](DType d) { return table.at(op, d).vv != nullptr; });
  return binary_kernel(table.at(op, t), t, DType::Bool);
}

Kernel where_kernel(DType condition, DType a, DType b) {
  if (condition != DType::Bool)
    fail(ErrorKind::Type, "where: condition must be bool, got ", name(condition), ".");
  const DType t = promote(a, b);
  Kernel k{call_where, 3, 0b110, {DType::Bool, t, t}, t, {}};
  k.where = kernels().where[size_index(t)];
  return k;
}

Kernel cast_kernel(DType from, DType to) {
  return unary_kernel(kernels().cast[int(from)][int(to)], from, to);
}

Tensor apply(const Kernel& k, std::span<const Tensor* const> in, const char* who) {
  unsigned scalars = 0;
  if (const Layout* flat = flat_layout(k, in, scalars)) {
    Tensor out = empty(k.out, *flat);
    run_flat(k, in, scalars, out.data, out.numel());
    return out;
  }
  Dims shape = in[0]->shape();
  for (int i = 1; i < k.n_in; ++i) shape = broadcast_shapes(shape, in[i]->shape(), who);
  Tensor out = empty(k.out, result_layout(in, shape));
  apply_into(k, in, out);
  return out;
}

namespace {

// The commonest call of all: two tensors of one dtype and one layout without gaps, small or large.
template <class Op>
Tensor compute_pair(Op op, const Tensor& a, const Tensor& b, DType result) {
  const BinaryFn fn = kernels().at(op, a.dtype).vv;
  if (fn && a.dtype == b.dtype && a.shape() == b.shape() && a.strides() == b.strides() &&
      a.layout.is_dense()) {
    Tensor out = empty(result, a.layout);
    const int64_t n = out.numel();
    Unlocked unlocked(n >= kWorthUnlocking);
    fn(a.data, b.data, out.data, n);
    return out;
  }
  return apply(kernel(op, a.dtype, b.dtype), std::array{&a, &b}, name(op));
}

}  // namespace

Tensor compute(UnaryOp op, const Tensor& x) { return apply(kernel(op, x.dtype), std::array{&x}, name(op)); }
Tensor compute(BinaryOp op, const Tensor& a, const Tensor& b) {
  return compute_pair(op, a, b, result_dtype(op, a.dtype));
}
Tensor compute(CompareOp op, const Tensor& a, const Tensor& b) { return compute_pair(op, a, b, DType::Bool); }
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return apply(where_kernel(condition.dtype, a.dtype, b.dtype), std::array{&condition, &a, &b}, "where");
}
Tensor cast(const Tensor& x, DType to) { return apply(cast_kernel(x.dtype, to), std::array{&x}, "astype"); }

void apply_into(const Kernel& k, std::span<const Tensor* const> in, const Tensor& out) {
  const int64_t n = out.numel();
  if (n == 0) return;
  Pass pass(k, in, out);
  Unlocked unlocked(n >= kWorthUnlocking);
  pass.run();
}

bool add_inplace(Tensor& acc, const Tensor& x) {
  if (!acc.storage.unique() || acc.storage->readonly || acc.dtype != x.dtype || !(acc.shape() == x.shape()) ||
      !acc.layout.is_dense())
    return false;
  const Kernel k = kernel(BinaryOp::add, acc.dtype, x.dtype);
  ++acc.storage->version;
  const Tensor* in[2] = {&acc, &x};
  unsigned scalars = 0;
  if (flat_layout(k, in, scalars))
    run_flat(k, in, scalars, acc.data, acc.numel());
  else
    apply_into(k, in, acc);
  return true;
}

}  // namespace tn::elementwise
