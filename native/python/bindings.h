// Shared by the binding files: how Values cross into Python.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "tape/bind.h"

namespace tn {
namespace nb = nanobind;

// Bindings by topic; module.cpp calls them in this order.
void bind_errors(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_interop(nb::class_<Value>& tensor, nb::module_& m);
void bind_dlpack(nb::module_& m);
void bind_primitives(nb::module_& m);
void bind_pool(nb::module_& m);
void bind_kernels(nb::module_& m);
void bind_tiles(nb::module_& m);
void bind_providers(nb::module_& m);
void bind_sizes(nb::module_& m);
void bind_autodiff(nb::class_<Value>& tensor, nb::module_& m);
void bind_graph(nb::module_& m);

// Python objects that native code refers to belong to the module, where the garbage collector sees them.
void keep_in_module(const char* name, nb::object held);
// Inside a catch block: the exception as a Python error. Always returns null.
PyObject* raise_in_python() noexcept;
// Whether a layout has an element in several places. Such memory is never given out for writing: one write
// would be many.
bool repeats(const Layout& layout);
// Raises unless x may be written in place; `who` begins the error message.
void check_writable(const Value& x, const char* who);
// Whether the stretches of memory that they lie in meet, whoever owns it.
bool may_overlap(const Tensor& x, const Tensor& y);
// A new Python Tensor that owns the value.
nb::object wrap(Value&& v);
// A new Python Tensor with an empty Value, to be filled before Python sees it.
nb::object new_tensor();
// Every Tensor object holds its Value at the same place.
extern PyTypeObject* tensor_type;
extern ptrdiff_t value_offset;
inline Value* value_in(nb::handle tensor) {
  return reinterpret_cast<Value*>(reinterpret_cast<char*>(tensor.ptr()) + value_offset);
}
// The Value inside a Python Tensor, or null.
inline Value* unwrap(nb::handle h) { return Py_TYPE(h.ptr()) == tensor_type ? value_in(h) : nullptr; }
// The shape as a tuple of integers, or of symbolic sizes in a trace.
nb::object shape_to_python(const Value& x);
Size size_from_python(nb::handle h);
// An integer of Python as 64 bits; `what` names it in errors.
int64_t integer_from_python(nb::handle h, const char* what);
nb::object size_to_python(Size s);
nb::tuple attrs_to_python(const Attrs& attrs);
const Attrs& attrs_from_python(nb::tuple given);
DType dtype_from_python(nb::handle h);
nb::object dtype_to_python(DType t);

}  // namespace tn
