// Function: a public function of the Python package whose usual calls never enter Python. It holds the Python
// function that documents it, and hands over the calls that it does not take itself.
#include <Python.h>
// structmember.h needs what Python.h declares.
#include <structmember.h>

#include <array>
#include <vector>

#include "python/operators.h"

namespace tn {
namespace {

struct Function {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Primitive* primitive;
  PyObject* dict;
  PyObject* fallback;  // takes keywords and everything else
};

Function* self_of(PyObject* o) { return reinterpret_cast<Function*>(o); }

PyObject* fall_back(PyObject* self, PyObject* const* args, size_t nargs, PyObject* names) {
  return PyObject_Vectorcall(self_of(self)->fallback, args, nargs, names);
}

// f(x), f(x1, x2), f(condition, x1, x2): everything by position.
PyObject* elementwise(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const Primitive& p = *self_of(self)->primitive;
  const auto nargs = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  if (names || nargs != static_cast<size_t>(p.n_in)) return fall_back(self, args, nargsf, names);
  if (nargs == 1)
    if (const Value* x = unwrap(args[0])) return call(p, std::array{x});
  return call_elementwise(p, {args, nargs}, p.n_in == 3);
}

const Attrs& all_axes(int ndim) {
  static std::vector<const Attrs*> known;
  while (static_cast<int>(known.size()) <= ndim) {
    std::vector<int64_t> axes(known.size());
    for (size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int64_t>(i);
    known.push_back(&Attrs::intern({axes}));
  }
  return *known[ndim];
}

const Attrs& one_axis(int axis) {
  static std::vector<const Attrs*> known;
  while (static_cast<int>(known.size()) <= axis)
    known.push_back(&Attrs::intern({{static_cast<int64_t>(known.size())}}));
  return *known[axis];
}

// The axes of f(x), f(x, axis) and f(x, axis=axis) for an integer that is in bounds; null for any other call.
const Attrs* plain_axes(const Value& x, PyObject* const* args, size_t count, PyObject* names) {
  const int ndim = x.t.ndim();
  if (count == 1) return &all_axes(ndim);
  const bool named = names && PyTuple_GET_SIZE(names) > 0;
  if (count != 2 || !PyLong_CheckExact(args[1])) return nullptr;
  if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "axis") != 0) return nullptr;
  int overflow = 0;
  const long axis = PyLong_AsLongAndOverflow(args[1], &overflow);
  if (overflow || axis < -ndim || axis >= ndim) return nullptr;
  return &one_axis(static_cast<int>(axis < 0 ? axis + ndim : axis));
}

// Over all axes or one.
PyObject* reduction(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const auto given = static_cast<size_t>(PyVectorcall_NARGS(nargsf));
  const size_t count = given + (names ? PyTuple_GET_SIZE(names) : 0);
  const Value* x = given >= 1 ? unwrap(args[0]) : nullptr;
  const Attrs* axes = x ? plain_axes(*x, args, count, names) : nullptr;
  if (!axes) return fall_back(self, args, nargsf, names);
  return call(*self_of(self)->primitive, std::array{x}, *axes);
}

// f(x1, x2): tensors, or what the operator @ takes.
PyObject* product(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  const bool takes = !names && PyVectorcall_NARGS(nargsf) == 2 && unwrap(args[0]) && unwrap(args[1]);
  return takes ? matmul_operator(args[0], args[1]) : fall_back(self, args, nargsf, names);
}

PyObject* einsum(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* names) {
  PyObject* out = names ? nullptr : known_einsum(args, static_cast<size_t>(PyVectorcall_NARGS(nargsf)));
  return out || PyErr_Occurred() ? out : fall_back(self, args, nargsf, names);
}

PyObject* bound_to(PyObject* self, PyObject* instance, PyObject*) {
  return instance ? PyMethod_New(self, instance) : Py_NewRef(self);
}

PyObject* show(PyObject* self) {
  nb::object name = nb::steal(PyObject_GetAttrString(self_of(self)->fallback, "__name__"));
  return name.is_valid() ? PyUnicode_FromFormat("<taenite function %U>", name.ptr()) : nullptr;
}

PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(self_of(self)->dict);
  Py_VISIT(self_of(self)->fallback);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(self_of(self)->dict);
  Py_CLEAR(self_of(self)->fallback);
  return 0;
}

void destroy(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyTypeObject* function_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, vectorcall), READONLY, nullptr},
      {"__dictoffset__", T_PYSSIZET, offsetof(Function, dict), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef getset[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(bound_to)},
                                {Py_tp_repr, reinterpret_cast<void*>(show)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                {Py_tp_members, members},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, getset},
                                {0, nullptr}};
  static PyType_Spec spec = {"taenite._core.Function", sizeof(Function), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  static auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type;
}

nb::object make(const Primitive* p, nb::callable fallback, vectorcallfunc vectorcall) {
  auto* f = PyObject_GC_New(Function, function_type());
  if (!f) throw nb::python_error();
  f->vectorcall = vectorcall;
  f->primitive = p;
  f->dict = nullptr;
  f->fallback = fallback.release().ptr();
  nb::object out = nb::steal(reinterpret_cast<PyObject*>(f));
  PyObject_GC_Track(f);
  return out;
}

}  // namespace

void bind_functions(nb::module_& m) {
  m.attr("Function") = nb::handle(reinterpret_cast<PyObject*>(function_type()));
  m.def(
      "make_function",
      [](const Primitive* p, nb::callable fallback, bool reduces) {
        return make(p, std::move(fallback), reduces ? reduction : elementwise);
      },
      nb::arg("primitive"), nb::arg("fallback"), nb::arg("reduces") = false);
  m.def("make_matmul", [](nb::callable fallback) { return make(nullptr, std::move(fallback), product); });
  m.def("make_einsum", [](nb::callable fallback) { return make(nullptr, std::move(fallback), einsum); });
  m.def("remember_product", remember_product);
  bind_contract_into(m);
}

}  // namespace tn
