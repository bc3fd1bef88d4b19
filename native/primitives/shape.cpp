// Views and rearrangements. Whatever strides can say is a view.
#include <numeric>

#include "kernels/copy.h"
#include "kernels/reduce.h"
#include "primitives/primitive.h"

namespace tn {
namespace {

const Tensor& operand(const Call& c) { return *c.in[0]; }

// ---- reshape: sizes = shape, one of them may be -1

Dims resolved_shape(const Call& c) {
  Dims shape(c.sizes);
  const int64_t numel = operand(c).numel();
  int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < shape.size(); ++i)
    if (shape[i] == -1 && unknown < 0)
      unknown = i;
    else
      known *= shape[i];
  if (unknown >= 0 && known > 0 && numel % known == 0) shape[unknown] = numel / known;
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t d) { return d < 0; });
  if (negative || product(shape) != numel)
    fail(ErrorKind::Value, "reshape: a tensor of shape ", show(operand(c).shape()), " (", numel,
         " elements) cannot have the shape ", show(c.sizes), ".");
  return shape;
}

// Strides that show `from` as `shape` without moving an element; false where there are none.
bool reshape_strides(const Layout& from, const Dims& shape, Dims& strides) {
  strides = Layout::c_contiguous(shape).strides;
  if (from.numel() == 0) return true;
  int j = shape.size() - 1;
  for (int i = from.ndim() - 1; i >= 0; --i) {
    if (from.shape[i] == 1) continue;
    int64_t run = from.shape[i], step = from.strides[i];
    for (; i > 0 && (from.shape[i - 1] == 1 || from.strides[i - 1] == step * run); --i)
      run *= from.shape[i - 1];
    for (; j >= 0 && run % shape[j] == 0 && (run > 1 || shape[j] == 1); --j) {
      strides[j] = step;
      step *= shape[j];
      run /= shape[j];
    }
    if (run != 1) return false;
  }
  return true;
}

void infer_reshape(const Call& c, Meta* out) { *out = {operand(c).dtype, resolved_shape(c)}; }

void reshape(const Call& c, Tensor* out) {
  const Tensor& x = operand(c);
  Dims shape = resolved_shape(c), strides;
  if (reshape_strides(x.layout, shape, strides))
    *out = view(x, {shape, strides});
  else
    *out = view(copy(x), Layout::c_contiguous(shape));
}

// ---- transpose: attrs perm

void infer_transpose(const Call& c, Meta* out) {
  const auto perm = c.attrs.list(0);
  const Dims& shape = operand(c).shape();
  uint64_t seen = 0;
  for (int64_t p : perm) seen |= p >= 0 && p < 64 ? uint64_t{1} << p : 0;
  if (static_cast<int>(perm.size()) != shape.size() || seen != (uint64_t{1} << perm.size()) - 1)
    fail(ErrorKind::Value, "transpose: axes must be a permutation of ", shape.size(), " axes, got ",
         show(perm), ".");
  *out = {operand(c).dtype, Dims(shape.size())};
  for (int i = 0; i < shape.size(); ++i) out->shape[i] = shape[static_cast<int>(perm[i])];
}

void transpose(const Call& c, Tensor* out) {
  Meta meta;
  infer_transpose(c, &meta);
  Dims strides(meta.shape.size());
  for (int i = 0; i < strides.size(); ++i)
    strides[i] = operand(c).strides()[static_cast<int>(c.attrs.list(0)[i])];
  *out = view(operand(c), {meta.shape, strides});
}

// ---- broadcast_in_dim: attrs the output axis of each operand axis; sizes = output shape

void infer_broadcast(const Call& c, Meta* out) {
  const auto axes = c.attrs.list(0);
  const Dims& shape = operand(c).shape();
  bool fits = static_cast<int>(axes.size()) == shape.size();
  for (int i = 0; fits && i < shape.size(); ++i) {
    fits = axes[i] > (i ? axes[i - 1] : -1) && axes[i] < static_cast<int64_t>(c.sizes.size());
    fits = fits && (shape[i] == 1 || shape[i] == c.sizes[axes[i]]);
  }
  if (!fits)
    fail(ErrorKind::Value, "broadcast_to: shape ", show(shape), " does not broadcast to ", show(c.sizes),
         " along axes ", show(axes), ".");
  checked_numel(c.sizes, "broadcast_to");
  *out = {operand(c).dtype, Dims(c.sizes)};
}

void broadcast(const Call& c, Tensor* out) {
  Meta meta;
  infer_broadcast(c, &meta);
  const Tensor& x = operand(c);
  Dims strides(meta.shape.size(), 0);
  for (int i = 0; i < x.ndim(); ++i)
    if (x.shape()[i] != 1) strides[static_cast<int>(c.attrs.list(0)[i])] = x.strides()[i];
  *out = view(x, {meta.shape, strides});
}

// ---- sum_to: sizes = target shape, aligned at the last axis

void infer_sum_to(const Call& c, Meta* out) {
  const Dims& shape = operand(c).shape();
  const int lead = shape.size() - static_cast<int>(c.sizes.size());
  bool fits = lead >= 0;
  for (int i = lead; fits && i < shape.size(); ++i)
    fits = c.sizes[i - lead] == shape[i] || c.sizes[i - lead] == 1;
  if (!fits)
    fail(ErrorKind::Value, "sum_to: shape ", show(shape), " does not reduce to ", show(c.sizes), ".");
  *out = {reductions::reduced_dtype(ReduceOp::sum, operand(c).dtype), Dims(c.sizes)};
  if (out->shape == shape) out->dtype = operand(c).dtype;
}

// The axes of x along which its sum to that shape runs.
Dims summed_axes(const Dims& from, const Dims& to) {
  Dims axes;
  const int lead = from.size() - to.size();
  for (int i = 0; i < from.size(); ++i)
    if (i < lead || (to[i - lead] == 1 && from[i] != 1)) axes.push_back(i);
  return axes;
}

void sum_to(const Call& c, Tensor* out) {
  const Tensor& x = operand(c);
  Meta meta;
  infer_sum_to(c, &meta);
  if (meta.shape == x.shape()) {
    *out = view(x, x.layout);
    return;
  }
  const Tensor sum = reductions::reduce(ReduceOp::sum, x, summed_axes(x.shape(), meta.shape));
  Dims strides;
  reshape_strides(sum.layout, meta.shape, strides);
  *out = view(sum, {meta.shape, strides});
}

// ---- slice: sizes = start, count, step of each axis (normalised; a step may be negative);
//      attrs the axes of count 1 to drop

struct Cut {
  int64_t start, count, step;
};
Cut cut(std::span<const int64_t> sizes, int axis) {
  return {sizes[3 * axis], sizes[3 * axis + 1], sizes[3 * axis + 2]};
}

bool dropped(const Call& c, int axis) {
  const auto drop = c.attrs.list(0);
  return std::find(drop.begin(), drop.end(), axis) != drop.end();
}

void check_cut(const Dims& shape, int axis, const Cut& s, bool drop) {
  const int64_t last = s.start + (s.count - 1) * s.step;
  const bool inside = s.start >= 0 && s.start < shape[axis] && last >= 0 && last < shape[axis];
  if (s.count < 0 || s.step == 0 || (s.count > 0 && !inside) || (drop && s.count != 1))
    fail(ErrorKind::Index, "slice: start ", s.start, ", count ", s.count, ", step ", s.step,
         " do not fit axis ", axis, " of shape ", show(shape), ".");
}

// The layout of a slice of a tensor of that layout, and the offset of its first element.
Layout slice_layout(const Call& c, const Layout& of, std::span<const int64_t> sizes, int64_t& offset) {
  if (static_cast<int>(sizes.size()) != 3 * of.ndim())
    fail(ErrorKind::Value, "slice: start, count and step are needed for each of ", of.ndim(), " axes, got ",
         sizes.size(), " integers.");
  Layout out;
  offset = 0;
  for (int axis = 0; axis < of.ndim(); ++axis) {
    const Cut s = cut(sizes, axis);
    const bool drop = dropped(c, axis);
    check_cut(of.shape, axis, s, drop);
    if (s.count > 0) offset += s.start * of.strides[axis];
    if (drop) continue;
    out.shape.push_back(s.count);
    out.strides.push_back(of.strides[axis] * s.step);
  }
  return out;
}

void infer_slice(const Call& c, Meta* out) {
  int64_t offset;
  *out = {operand(c).dtype, slice_layout(c, Layout::c_contiguous(operand(c).shape()), c.sizes, offset).shape};
}

void slice(const Call& c, Tensor* out) {
  int64_t offset;
  Layout layout = slice_layout(c, operand(c).layout, c.sizes, offset);
  *out = view(operand(c), std::move(layout), offset);
}

// ---- slice_scatter: sizes = shape, then the slice; zeros outside it

Layout scatter_target(const Call& c, Meta& meta, int64_t& offset) {
  const size_t n = c.sizes.size() / 4;
  meta = {operand(c).dtype, Dims(c.sizes.first(n))};
  Layout target = slice_layout(c, Layout::c_contiguous(meta.shape), c.sizes.subspan(n), offset);
  if (!(target.shape == operand(c).shape()))
    fail(ErrorKind::Value, "slice_scatter: the slice has the shape ", show(target.shape), ", the operand ",
         show(operand(c).shape()), ".");
  return target;
}

void infer_slice_scatter(const Call& c, Meta* out) {
  int64_t offset;
  scatter_target(c, *out, offset);
}

void slice_scatter(const Call& c, Tensor* out) {
  Meta meta;
  int64_t offset;
  Layout target = scatter_target(c, meta, offset);
  *out = zeros(meta);
  copy_into(view(*out, std::move(target), offset), operand(c));
}

// ---- slice_update: x, v; sizes and attrs as slice. A copy of x with v as that slice.

void infer_slice_update(const Call& c, Meta* out) {
  *out = {operand(c).dtype, operand(c).shape()};
  int64_t offset;
  const Layout target = slice_layout(c, Layout::c_contiguous(out->shape), c.sizes, offset);
  const Tensor& v = *c.in[1];
  if (!(target.shape == v.shape()))
    fail(ErrorKind::Value, "set: the slice has the shape ", show(target.shape), ", the value ",
         show(v.shape()), ".");
  if (v.dtype != out->dtype)
    fail(ErrorKind::Type, "set: dtypes must agree, got ", name(out->dtype), " and ", name(v.dtype), ".");
}

void slice_update(const Call& c, Tensor* out) {
  Meta meta;
  infer_slice_update(c, &meta);
  *out = copy(operand(c));
  int64_t offset;
  Layout target = slice_layout(c, out->layout, c.sizes, offset);
  copy_into(view(*out, std::move(target), offset), *c.in[1]);
}

// ---- concatenate: attrs axis

void infer_concatenate(const Call& c, Meta* out) {
  if (c.in.empty()) fail(ErrorKind::Value, "concat: at least one tensor is needed, got none.");
  const int axis = static_cast<int>(c.attrs.scalar(0));
  *out = {operand(c).dtype, operand(c).shape()};
  if (axis < 0 || axis >= out->shape.size())
    fail(ErrorKind::Index, "concat: axis ", axis, " is out of bounds for shape ", show(out->shape), ".");
  for (const Tensor* t : c.in.subspan(1)) {
    Dims same = t->shape();
    if (same.size() == out->shape.size()) same[axis] = out->shape[axis];
    if (!(same == out->shape))
      fail(ErrorKind::Value, "concat: shapes must agree except along axis ", axis, ", got ",
           show(operand(c).shape()), " and ", show(t->shape()), ".");
    if (t->dtype != out->dtype)
      fail(ErrorKind::Type, "concat: dtypes must agree, got ", name(out->dtype), " and ", name(t->dtype),
           ".");
    out->shape[axis] += t->shape()[axis];
  }
}

void concatenate(const Call& c, Tensor* out) {
  Meta meta;
  infer_concatenate(c, &meta);
  *out = empty(meta);
  const int axis = static_cast<int>(c.attrs.scalar(0));
  int64_t start = 0;
  for (const Tensor* t : c.in) {
    copy_into(view(*out, {t->shape(), out->strides()}, start * out->strides()[axis]), *t);
    start += t->shape()[axis];
  }
}

// ---- diagonal: attrs offset, axis1, axis2; the diagonal becomes the last axis

Layout diagonal_layout(const Call& c, const Layout& of, int64_t& start) {
  const int64_t offset = c.attrs.scalar(0);
  const int a1 = static_cast<int>(c.attrs.scalar(1)), a2 = static_cast<int>(c.attrs.scalar(2));
  if (a1 == a2 || std::min(a1, a2) < 0 || std::max(a1, a2) >= of.ndim())
    fail(ErrorKind::Index, "diagonal: two different axes of a tensor of ", of.ndim(),
         " dimensions are needed, got ", a1, " and ", a2, ".");
  const int64_t down = std::max<int64_t>(-offset, 0), right = std::max<int64_t>(offset, 0);
  const int64_t n = std::max<int64_t>(std::min(of.shape[a1] - down, of.shape[a2] - right), 0);
  start = n > 0 ? down * of.strides[a1] + right * of.strides[a2] : 0;
  Layout out;
  for (int axis = 0; axis < of.ndim(); ++axis) {
    if (axis == a1 || axis == a2) continue;
    out.shape.push_back(of.shape[axis]);
    out.strides.push_back(of.strides[axis]);
  }
  out.shape.push_back(n);
  out.strides.push_back(of.strides[a1] + of.strides[a2]);
  return out;
}

void infer_diagonal(const Call& c, Meta* out) {
  int64_t start;
  *out = {operand(c).dtype, diagonal_layout(c, Layout::c_contiguous(operand(c).shape()), start).shape};
}

void diagonal(const Call& c, Tensor* out) {
  int64_t start;
  Layout layout = diagonal_layout(c, operand(c).layout, start);
  *out = view(operand(c), std::move(layout), start);
}

// ---- diagonal_scatter: sizes = shape; zeros off the diagonal

void infer_diagonal_scatter(const Call& c, Meta* out) {
  *out = {operand(c).dtype, Dims(c.sizes)};
  int64_t start;
  Layout target = diagonal_layout(c, Layout::c_contiguous(c.sizes), start);
  if (!(target.shape == operand(c).shape()))
    fail(ErrorKind::Value, "diagonal_scatter: the diagonal has the shape ", show(target.shape),
         ", the operand ", show(operand(c).shape()), ".");
}

void diagonal_scatter(const Call& c, Tensor* out) {
  Meta meta;
  infer_diagonal_scatter(c, &meta);
  *out = zeros(meta);
  int64_t start;
  Layout target = diagonal_layout(c, out->layout, start);
  copy_into(view(*out, std::move(target), start), operand(c));
}

// ---- tril, triu: attrs k

void infer_triangle(const Call& c, Meta* out) {
  if (operand(c).ndim() < 2)
    fail(ErrorKind::Value, "tril and triu: a matrix is needed, got shape ", show(operand(c).shape()), ".");
  *out = {operand(c).dtype, operand(c).shape()};
}

template <bool lower>
void triangle(const Call& c, Tensor* out) {
  Meta meta;
  infer_triangle(c, &meta);
  *out = copy_triangle(operand(c), c.attrs.scalar(0), lower);
}

// ---- stop_gradient: the operand itself; traces write down what is not to be differentiated

void infer_same(const Call& c, Meta* out) { *out = {operand(c).dtype, operand(c).shape()}; }

void same(const Call& c, Tensor* out) { *out = operand(c); }

}  // namespace

void register_shape() {
  register_primitive({"reshape", 1, 1, infer_reshape, reshape});
  register_primitive({"transpose", 1, 1, infer_transpose, transpose});
  register_primitive({"broadcast_in_dim", 1, 1, infer_broadcast, broadcast});
  register_primitive({"sum_to", 1, 1, infer_sum_to, sum_to});
  register_primitive({"slice", 1, 1, infer_slice, slice});
  register_primitive({"slice_scatter", 1, 1, infer_slice_scatter, slice_scatter});
  register_primitive({"slice_update", 2, 1, infer_slice_update, slice_update});
  register_primitive({"concatenate", -1, 1, infer_concatenate, concatenate});
  register_primitive({"diagonal", 1, 1, infer_diagonal, diagonal});
  register_primitive({"diagonal_scatter", 1, 1, infer_diagonal_scatter, diagonal_scatter});
  register_primitive({"tril", 1, 1, infer_triangle, triangle<true>});
  register_primitive({"triu", 1, 1, infer_triangle, triangle<false>});
  register_primitive({"stop_gradient", 1, 1, infer_same, same});
}

}  // namespace tn
