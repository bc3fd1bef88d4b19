// x[key] for integers, slices, None and Ellipsis, without a Python frame; everything else, and what is
// traced, goes to taenite.ops.indexing.
#include <array>

#include "kernels/copy.h"
#include "python/operators.h"
#include "tape/level.h"

namespace tn {
namespace {

struct Basic {
  SmallVector<Size, 24> cuts;  // start, count, step of each axis
  std::vector<int64_t> drop;
  SmallVector<Size, 8> shape;  // of the result, with the axes that None adds
  bool adds_axes = false;
};

bool is_basic(PyObject* o) {
  return o == Py_None || o == Py_Ellipsis || PySlice_Check(o) || (PyLong_Check(o) && !PyBool_Check(o));
}

bool is_basic_key(PyObject* key) {
  if (!PyTuple_Check(key)) return is_basic(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
    if (!is_basic(PyTuple_GET_ITEM(key, i))) return false;
  return true;
}

void add_cut(Basic& out, int64_t start, int64_t count, int64_t step) {
  for (int64_t v : {start, count, step}) out.cuts.push_back(Size{v});
}

void add_integer(Basic& out, PyObject* item, int axis, int64_t size) {
  int overflow = 0;
  const int64_t given = PyLong_AsLongLongAndOverflow(item, &overflow);
  if (overflow)
    fail(ErrorKind::Index, "index ", nb::repr(item).c_str(), " is out of bounds for axis ", axis, " of size ",
         size, ".");
  if (given < -size || given >= size)
    fail(ErrorKind::Index, "index ", given, " is out of bounds for axis ", axis, " of size ", size, ".");
  add_cut(out, given < 0 ? given + size : given, 1, 1);
  out.drop.push_back(axis);
}

void add_slice(Basic& out, PyObject* item, int64_t size) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(item, &start, &stop, &step) != 0) throw nb::python_error();
  const int64_t count = PySlice_AdjustIndices(size, &start, &stop, step);
  add_cut(out, count > 0 ? start : 0, count, step);
  out.shape.push_back(Size{count});
}

void add_whole(Basic& out, int64_t size) {
  add_cut(out, 0, size, 1);
  out.shape.push_back(Size{size});
}

struct Key {
  PyObject* const* items;
  int n;
  int axes = 0;  // that the items use
  int ellipses = 0;
};

Key read_key(PyObject* const& key) {
  Key k{&key, 1};
  if (PyTuple_Check(key)) k = {&PyTuple_GET_ITEM(key, 0), static_cast<int>(PyTuple_GET_SIZE(key))};
  for (int i = 0; i < k.n; ++i) {
    k.ellipses += k.items[i] == Py_Ellipsis;
    k.axes += k.items[i] != Py_Ellipsis && k.items[i] != Py_None;
  }
  return k;
}

void check_key(const Key& k, const Dims& shape) {
  if (k.axes > shape.size())
    fail(ErrorKind::Index, "index: a tensor of ", shape.size(), " axes takes at most as many indices, got ",
         k.axes, ".");
  if (k.ellipses > 1) fail(ErrorKind::Index, "index: at most one Ellipsis is allowed, got ", k.ellipses, ".");
}

void read_basic(const Dims& shape, PyObject* key, Basic& out) {
  const Key k = read_key(key);
  check_key(k, shape);
  int axis = 0;
  for (int i = 0; i < k.n; ++i) {
    PyObject* item = k.items[i];
    if (item == Py_None) {
      out.shape.push_back(Size{1});
      out.adds_axes = true;
    } else if (item == Py_Ellipsis) {
      for (int rest = shape.size() - k.axes; rest > 0; --rest) add_whole(out, shape[axis++]);
    } else if (PySlice_Check(item)) {
      add_slice(out, item, shape[axis++]);
    } else {
      add_integer(out, item, axis, shape[axis]);
      ++axis;
    }
  }
  while (axis < shape.size()) add_whole(out, shape[axis++]);
}

// Attributes of slice: the axes to drop.
const Attrs& drop_attrs(const std::vector<int64_t>& drop) {
  constexpr uint64_t kKnown = 256;
  static const Attrs* known[kKnown];
  uint64_t bits = 0;
  for (int64_t axis : drop) bits |= uint64_t{1} << std::min<int64_t>(axis, 63);
  if (bits >= kKnown) return Attrs::intern({drop});
  if (!known[bits]) known[bits] = &Attrs::intern({drop});
  return *known[bits];
}

Value sliced(const Value& x, const Basic& basic) {
  static const Primitive& slice = primitive("slice");
  static const Primitive& reshape = primitive("reshape");
  Value y = bind1(slice, std::array{&x}, drop_attrs(basic.drop), basic.cuts);
  return basic.adds_axes ? bind1(reshape, std::array<const Value*, 1>{&y}, Attrs::none(), basic.shape) : y;
}

// ---- writing

Value value_for(const Value& x, PyObject* value) {
  if (!unwrap(value) && is_weak(value)) {
    const DType t = weak_scalar(value, x.t.dtype).t.dtype;
    if (t == x.t.dtype) return weak_scalar(value, t);
  }
  nb::object keep = unwrap(value) ? nb::borrow(value) : to_tensor(value);
  const Value& v = *unwrap(keep);
  if (!v.plain()) fail(ErrorKind::Value, "setitem: the value is tracked; use tn.set(x, index, value).");
  if (v.t.dtype == x.t.dtype) return Value(view(v.t, v.t.layout));
  static const Primitive& astype = primitive("astype");
  return bind1(astype, std::array{&v}, Attrs::intern({{static_cast<int64_t>(x.t.dtype)}}, 1));
}

void write(const Tensor& target, const Tensor& value) {
  Layout all = target.layout;
  const Dims together = broadcast_shapes(all.shape, value.shape(), "setitem");
  if (!(together == all.shape))
    fail(ErrorKind::Value, "setitem: a value of shape ", show(value.shape()),
         " does not fit the selection of shape ", show(all.shape), ".");
  const Tensor source = may_overlap(value, target) ? copy(value) : view(value, value.layout);
  copy_into(target, broadcast_view(source, all.shape));
  ++target.storage->version;
}

void write_basic(const Value& x, PyObject* key, PyObject* value) {
  Basic basic;
  read_basic(x.t.shape(), key, basic);
  const Value v = value_for(x, value);
  const Value target = sliced(Value(view(x.t, x.t.layout)), basic);
  write(target.t, v.t);
}

nb::object python_function(const char* name) {
  return nb::module_::import_("taenite.ops.indexing").attr(name);
}

}  // namespace

PyObject* getitem(PyObject* self, PyObject* key) noexcept try {
  const Value& x = *unwrap(self);
  if (x.t.data == nullptr || !is_basic_key(key))
    return python_function("getitem")(nb::handle(self), nb::handle(key)).release().ptr();
  Basic basic;
  read_basic(x.t.shape(), key, basic);
  return wrap(sliced(x, basic)).release().ptr();
} catch (...) {
  return raise_in_python();
}

int setitem(PyObject* self, PyObject* key, PyObject* value) noexcept try {
  if (!value) fail(ErrorKind::Type, "setitem: the elements of a tensor cannot be deleted.");
  const Value& x = *unwrap(self);
  check_writable(x, "setitem");
  if (is_basic_key(key)) {
    write_basic(x, key, value);
  } else {
    python_function("set_by_arrays")(nb::handle(self), nb::handle(key), nb::handle(value));
    ++x.t.storage->version;
  }
  return 0;
} catch (...) {
  raise_in_python();
  return -1;
}

}  // namespace tn
