// Shared by the binding files: how Values cross into Python.
#pragma once
#include <nanobind/nanobind.h>

#include "tape/bind.h"

namespace tn {
namespace nb = nanobind;

// Bindings by topic; module.cpp calls them in this order.
void bind_errors(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_interop(nb::class_<Value>& tensor, nb::module_& m);
void bind_primitives(nb::module_& m);
void bind_pool(nb::module_& m);
void bind_providers(nb::module_& m);

// A new Python Tensor that owns the value.
nb::object wrap(Value&& v);
// The Value inside a Python Tensor, or null.
Value* unwrap(nb::handle h);
DType dtype_from_python(nb::handle h);
nb::object dtype_to_python(DType t);

}  // namespace tn
