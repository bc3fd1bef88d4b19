// The class Tensor: attributes. Operators are in operators.cpp, exchange with other libraries in interop.cpp.
#include "program/graph.h"
#include "python/operators.h"

namespace tn {
namespace {

nb::handle dtype_objects[kDTypes];

}  // namespace

PyTypeObject* tensor_type = nullptr;
ptrdiff_t value_offset = 0;

nb::object new_tensor() {
  nb::object o = nb::inst_alloc(reinterpret_cast<PyObject*>(tensor_type));
  new (value_in(o)) Value;
  nb::inst_mark_ready(o);
  return o;
}

nb::object wrap(Value&& v) {
  nb::object o = new_tensor();
  *value_in(o) = std::move(v);
  return o;
}

nb::object dtype_to_python(DType t) { return nb::borrow(dtype_objects[static_cast<int>(t)]); }

DType dtype_from_python(nb::handle h) {
  for (int i = 0; i < kDTypes; ++i)
    if (h.ptr() == dtype_objects[i].ptr()) return static_cast<DType>(i);
  fail(ErrorKind::Type, "dtype must be a taenite dtype, got ", nb::repr(h).c_str(), ".");
}

void bind_tensor(nb::module_& m) {
  m.def("set_dtype_objects", [](nb::list objects) {
    keep_in_module("_dtypes", objects);
    for (int i = 0; i < kDTypes; ++i) dtype_objects[i] = nb::handle(PyList_GET_ITEM(objects.ptr(), i));
  });
  m.def("promote", [](nb::handle a, nb::handle b) {
    return dtype_to_python(promote(dtype_from_python(a), dtype_from_python(b)));
  });
  nb::class_<Value> tensor(
      m, "Tensor", nb::is_final(), nb::pooled(256), nb::type_slots(operator_slots()),
      "A dense array of one dtype with a shape and strides, alone or wrapped by transforms.\n\n"
      "`taenite.asarray` and its like make one. Operators and methods follow the Python array "
      "API standard.");
  tensor_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  nb::object first = nb::inst_alloc(tensor);
  value_offset = reinterpret_cast<char*>(nb::inst_ptr<Value>(first)) - reinterpret_cast<char*>(first.ptr());
  tensor.def_prop_ro("shape", shape_to_python);
  tensor.def_prop_ro("ndim", [](const Value& x) { return x.t.ndim(); });
  tensor.def_prop_ro("size", [](const Value& x) {
    if (!graph_under(x)) return nb::object(nb::int_(x.t.numel()));
    Size n{1};
    for (int i = 0; i < x.t.ndim(); ++i) n = combine(SizeExpr::Op::Mul, n, size_of(x, i));
    return size_to_python(n);
  });
  tensor.def_prop_ro("dtype", [](const Value& x) { return dtype_to_python(x.t.dtype); });
  tensor.def_prop_ro("strides", [](const Value& x) {
    if (graph_under(x))
      fail(ErrorKind::Tracing,
           "strides: a traced value has no memory yet; its layout is decided by the run.");
    nb::list l;
    for (int64_t s : x.t.strides()) l.append(s);
    return nb::tuple(l);
  });
  bind_interop(tensor, m);
  bind_autodiff(tensor, m);
  bind_operators(tensor);
  bind_views(tensor);
}

}  // namespace tn
