// The Python class of each kind of native error.
#include "core/error.h"
#include "program/progress.h"
#include "python/bindings.h"

namespace tn {
namespace {

constexpr int kKinds = 11;
PyObject* classes[kKinds];

void translate(const std::exception_ptr& p, void*) {
  try {
    std::rethrow_exception(p);
  } catch (const Error& e) {
    PyErr_SetString(classes[static_cast<int>(e.kind)], e.what());
  }
}

// Of a compiled function: at the line that it was traced from, "file:line".
int warn_at(PyObject* category, const char* message, const std::string& at) {
  const size_t colon = at.rfind(':');
  return PyErr_WarnExplicit(category, message, at.substr(0, colon).c_str(), std::stoi(at.substr(colon + 1)),
                            nullptr, nullptr);
}

void warn(const char* category, const char* message) {
  PyGILState_STATE state = PyGILState_Ensure();
  int status;
  {
    nb::object cls = nb::module_::import_("taenite.errors").attr(category);
    status =
        progress::line ? warn_at(cls.ptr(), message, *progress::line) : PyErr_WarnEx(cls.ptr(), message, 2);
  }
  PyGILState_Release(state);
  if (status != 0) throw nb::python_error();
}

}  // namespace

void keep_in_module(const char* name, nb::object held) {
  nb::module_::import_("taenite._core").attr(name) = held;
}

PyObject* raise_in_python() noexcept {
  try {
    throw;
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const Error& e) {
    PyErr_SetString(classes[static_cast<int>(e.kind)], e.what());
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

// taenite.errors hands over its classes, so that they are defined, documented and importable in Python.
void bind_errors(nb::module_& m) {
  PyObject* builtin[kKinds] = {PyExc_TypeError,           PyExc_ValueError,  PyExc_IndexError,
                               PyExc_NotImplementedError, PyExc_ValueError,  PyExc_ValueError,
                               PyExc_TypeError,           PyExc_MemoryError, PyExc_RuntimeError,
                               PyExc_BufferError,         PyExc_OSError};
  for (int i = 0; i < kKinds; ++i) classes[i] = builtin[i];
  nb::register_exception_translator(translate);
  m.def("set_error_classes", [](nb::object linalg, nb::object gauge, nb::object tracing) {
    keep_in_module("_error_classes", nb::make_tuple(linalg, gauge, tracing));
    classes[static_cast<int>(ErrorKind::LinAlg)] = linalg.ptr();
    classes[static_cast<int>(ErrorKind::Gauge)] = gauge.ptr();
    classes[static_cast<int>(ErrorKind::Tracing)] = tracing.ptr();
  });
  lock_hooks.leave = []() -> void* { return PyEval_SaveThread(); };
  lock_hooks.take = [](void* state) { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); };
  lock_hooks.warn = warn;
}

}  // namespace tn
