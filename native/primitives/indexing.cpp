// Gathering and scattering by tensors of integers, and writing into a copy.
#include "core/visit.h"
#include "kernels/bytes.h"
#include "kernels/copy.h"
#include "kernels/elementwise.h"
#include "kernels/nest.h"
#include "primitives/primitive.h"

namespace tn {
namespace {

// ---- indices

void require_integers(const Tensor& t, const char* who) {
  if (!is_integer(t.dtype))
    fail(ErrorKind::Type, who, ": indices must be integers, got ", name(t.dtype), ".");
}

int axis_attr(const Call& c, const Dims& shape, const char* who) {
  const int64_t axis = c.attrs.scalar(0);
  if (axis < 0 || axis >= shape.size())
    fail(ErrorKind::Index, who, ": axis ", axis, " is out of bounds for shape ", show(shape), ".");
  return static_cast<int>(axis);
}

// Row-major int64, counted from the start of the axis, each within its size.
Tensor checked_indices(const Tensor& given, int64_t size, int64_t axis, const char* who) {
  const Tensor* in[] = {&given};
  Tensor out = contiguous(elementwise::apply(elementwise::cast_kernel(given.dtype, DType::I64), in, who));
  if (out.storage == given.storage) out = copy(out);
  int64_t* index = out.as<int64_t>();
  for (int64_t i = 0, n = out.numel(); i < n; ++i) {
    if (index[i] < -size || index[i] >= size)
      fail(ErrorKind::Index, who, ": index ", index[i], " is out of bounds for axis ", axis, " of size ",
           size, ".");
    if (index[i] < 0) index[i] += size;
  }
  return out;
}

// ---- slabs: a row-major tensor as outer x size x inner around an axis

struct Slabs {
  int64_t outer = 1, size = 1, inner = 1;
  Slabs(std::span<const int64_t> shape, int axis) : size(shape[axis]) {
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
};

Dims gathered_shape(const Dims& shape, int axis, const Dims& index) {
  Dims out;
  for (int i = 0; i < axis; ++i) out.push_back(shape[i]);
  for (int64_t n : index) out.push_back(n);
  for (int i = axis + 1; i < shape.size(); ++i) out.push_back(shape[i]);
  return out;
}

// Calls f(o, p, index) for every outer position and every index.
template <class F>
void each_slab(const Slabs& x, const Tensor& indices, F&& f) {
  const int64_t n = indices.numel();
  for (int64_t o = 0; o < x.outer; ++o)
    for (int64_t p = 0; p < n; ++p) f(o * x.size + indices.as<int64_t>()[p], o * n + p);
}

template <class T>
void move_slabs(const Slabs& x, const Tensor& indices, const T* from, T* to, bool gather) {
  each_slab(x, indices, [&](int64_t there, int64_t here) {
    const T* source = from + (gather ? there : here) * x.inner;
    T* target = to + (gather ? here : there) * x.inner;
    if (x.inner == 1)
      *target = *source;
    else
      std::memcpy(target, source, static_cast<size_t>(x.inner) * sizeof(T));
  });
}

template <class T>
void add_slabs(const Slabs& x, const Tensor& indices, const T* from, T* to) {
  each_slab(x, indices, [&](int64_t there, int64_t here) {
    for (int64_t i = 0; i < x.inner; ++i)
      to[there * x.inner + i] = T(to[there * x.inner + i] + from[here * x.inner + i]);
  });
}

// ---- take: x, indices; attrs axis

void infer_take(const Call& c, Meta* out) {
  require_integers(*c.in[1], "take");
  const Dims& shape = c.in[0]->shape();
  *out = {c.in[0]->dtype, gathered_shape(shape, axis_attr(c, shape, "take"), c.in[1]->shape())};
}

void take(const Call& c, Tensor* out) {
  Meta meta;
  infer_take(c, &meta);
  const Tensor x = contiguous(*c.in[0]);
  const Slabs slabs(x.shape(), static_cast<int>(c.attrs.scalar(0)));
  const Tensor indices = checked_indices(*c.in[1], slabs.size, c.attrs.scalar(0), "take");
  *out = empty(meta);
  by_size(itemsize(x.dtype),
          [&]<class T>(T) { move_slabs(slabs, indices, x.as<const T>(), out->as<T>(), true); });
}

// ---- scatter_add: g, indices; sizes = shape; attrs axis. The adjoint of take.

void check_gathered(const Call& c, std::span<const int64_t> shape, const Tensor& values,
                    const Tensor& indices, const char* who) {
  require_integers(indices, who);
  const Dims expected = gathered_shape(Dims(shape), axis_attr(c, Dims(shape), who), indices.shape());
  if (!(expected == values.shape()))
    fail(ErrorKind::Value, who, ": the values must have the shape ", show(expected), ", got ",
         show(values.shape()), ".");
}

void infer_scatter_add(const Call& c, Meta* out) {
  check_gathered(c, c.sizes, *c.in[0], *c.in[1], "scatter_add");
  *out = {c.in[0]->dtype, Dims(c.sizes)};
}

void scatter_add(const Call& c, Tensor* out) {
  Meta meta;
  infer_scatter_add(c, &meta);
  const Slabs slabs(meta.shape, static_cast<int>(c.attrs.scalar(0)));
  const Tensor indices = checked_indices(*c.in[1], slabs.size, c.attrs.scalar(0), "scatter_add");
  const Tensor values = contiguous(*c.in[0]);
  *out = zeros(meta);
  visit(meta.dtype, [&]<class T>(Type<T>) { add_slabs(slabs, indices, values.as<const T>(), out->as<T>()); });
}

// ---- scatter_set: x, indices, values; attrs axis. A copy of x with values at the indices; the last one
// wins.

void infer_scatter_set(const Call& c, Meta* out) {
  check_gathered(c, c.in[0]->shape(), *c.in[2], *c.in[1], "set");
  if (c.in[0]->dtype != c.in[2]->dtype)
    fail(ErrorKind::Type, "set: dtypes must agree, got ", name(c.in[0]->dtype), " and ", name(c.in[2]->dtype),
         ".");
  *out = {c.in[0]->dtype, c.in[0]->shape()};
}

void scatter_set(const Call& c, Tensor* out) {
  Meta meta;
  infer_scatter_set(c, &meta);
  const Slabs slabs(meta.shape, static_cast<int>(c.attrs.scalar(0)));
  const Tensor indices = checked_indices(*c.in[1], slabs.size, c.attrs.scalar(0), "set");
  const Tensor values = contiguous(*c.in[2]);
  *out = copy(*c.in[0]);
  by_size(itemsize(meta.dtype),
          [&]<class T>(T) { move_slabs(slabs, indices, values.as<const T>(), out->as<T>(), false); });
}

// ---- is_last: indices; sizes = the size of the axis. Which of them no later one repeats.

void infer_is_last(const Call& c, Meta* out) {
  require_integers(*c.in[0], "set");
  *out = {DType::Bool, c.in[0]->shape()};
}

void is_last(const Call& c, Tensor* out) {
  Meta meta;
  infer_is_last(c, &meta);
  const Tensor indices = checked_indices(*c.in[0], c.sizes[0], 0, "set");
  *out = empty(meta);
  std::vector<bool> seen(c.sizes[0]);
  for (int64_t p = out->numel(); p-- > 0;) {
    const int64_t index = indices.as<int64_t>()[p];
    out->as<bool>()[p] = !seen[index];
    seen[index] = true;
  }
}

// ---- take_along_axis: x, indices of the same rank; attrs axis

void check_along(const Call& c, std::span<const int64_t> shape, const char* who) {
  const Tensor& indices = *c.in[1];
  require_integers(indices, who);
  const int axis = axis_attr(c, Dims(shape), who);
  Dims expected(shape);
  if (indices.ndim() == expected.size()) expected[axis] = indices.shape()[axis];
  if (!(expected == indices.shape()))
    fail(ErrorKind::Value, who, ": indices of shape ", show(indices.shape()), " must agree with shape ",
         show(shape), " except along axis ", axis, ".");
}

void infer_take_along(const Call& c, Meta* out) {
  check_along(c, c.in[0]->shape(), "take_along_axis");
  *out = {c.in[0]->dtype, c.in[1]->shape()};
}

// Calls f(element, index) along the indices: `element` at the place of each index in `rows`, which has the
// shape of the indices; `index` picks along the axis of `indexed`.
template <class T, class F>
void each_along(const Tensor& rows, const Tensor& indices, const Tensor& indexed, int axis, F&& f) {
  Nest<3> nest{{}, {}, {rows.data, indices.data, indexed.data}};
  constexpr auto item = static_cast<int64_t>(sizeof(T));
  for (int i = 0; i < rows.ndim(); ++i)
    nest.add(rows.shape()[i], {rows.strides()[i] * item, indices.strides()[i] * 8,
                               i == axis ? 0 : indexed.strides()[i] * item});
  const int64_t step = indexed.strides()[axis] * item;
  nest.each(0, [&](auto& at) {
    f(*reinterpret_cast<T*>(at[0]),
      *reinterpret_cast<T*>(at[2] + *reinterpret_cast<const int64_t*>(at[1]) * step));
  });
}

void take_along(const Call& c, Tensor* out) {
  Meta meta;
  infer_take_along(c, &meta);
  const Tensor& x = *c.in[0];
  const int axis = static_cast<int>(c.attrs.scalar(0));
  const Tensor indices = checked_indices(*c.in[1], x.shape()[axis], axis, "take_along_axis");
  *out = empty(meta);
  by_size(itemsize(x.dtype), [&]<class T>(T) {
    each_along<T>(*out, indices, x, axis, [](T& y, const T& value) { y = value; });
  });
}

// ---- put_along_axis_add: g, indices; sizes = shape; attrs axis. The adjoint of take_along_axis.

void infer_put_along(const Call& c, Meta* out) {
  check_along(c, c.sizes, "put_along_axis_add");
  if (!(c.in[0]->shape() == c.in[1]->shape()))
    fail(ErrorKind::Value, "put_along_axis_add: values of shape ", show(c.in[0]->shape()),
         " must have the shape of the indices, ", show(c.in[1]->shape()), ".");
  *out = {c.in[0]->dtype, Dims(c.sizes)};
}

void put_along(const Call& c, Tensor* out) {
  Meta meta;
  infer_put_along(c, &meta);
  const int axis = static_cast<int>(c.attrs.scalar(0));
  const Tensor indices = checked_indices(*c.in[1], meta.shape[axis], axis, "put_along_axis_add");
  *out = zeros(meta);
  visit(meta.dtype, [&]<class T>(Type<T>) {
    each_along<T>(*c.in[0], indices, *out, axis, [](T& g, T& y) { y = T(y + g); });
  });
}

// ---- linear_index: one tensor of indices for each axis, all of one shape; sizes = those axes

void infer_linear_index(const Call& c, Meta* out) {
  if (c.in.empty() || c.in.size() != c.sizes.size())
    fail(ErrorKind::Value, "index: as many tensors of indices as axes are needed, got ", c.in.size(), " and ",
         c.sizes.size(), ".");
  for (const Tensor* t : c.in) {
    require_integers(*t, "index");
    if (!(t->shape() == c.in[0]->shape()))
      fail(ErrorKind::Value, "index: indices must be of one shape, got ", show(c.in[0]->shape()), " and ",
           show(t->shape()), ".");
  }
  *out = {DType::I64, c.in[0]->shape()};
}

void linear_index(const Call& c, Tensor* out) {
  Meta meta;
  infer_linear_index(c, &meta);
  *out = zeros(meta);
  for (size_t i = 0; i < c.in.size(); ++i) {
    const Tensor indices = checked_indices(*c.in[i], c.sizes[i], static_cast<int64_t>(i), "index");
    for (int64_t p = 0, n = out->numel(); p < n; ++p)
      out->as<int64_t>()[p] = out->as<int64_t>()[p] * c.sizes[i] + indices.as<int64_t>()[p];
  }
}

}  // namespace

void register_indexing() {
  register_primitive({"take", 2, 1, infer_take, take});
  register_primitive({"scatter_add", 2, 1, infer_scatter_add, scatter_add});
  register_primitive({"scatter_set", 3, 1, infer_scatter_set, scatter_set});
  register_primitive({"is_last", 1, 1, infer_is_last, is_last});
  register_primitive({"take_along_axis", 2, 1, infer_take_along, take_along});
  register_primitive({"put_along_axis_add", 2, 1, infer_put_along, put_along});
  register_primitive({"linear_index", -1, 1, infer_linear_index, linear_index});
}

}  // namespace tn
