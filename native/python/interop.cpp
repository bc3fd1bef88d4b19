// Exchange with NumPy, DLPack and the buffer protocol.
#include "python/bindings.h"

namespace tn {
namespace {

constexpr const char* kFormats[kDTypes] = {"?", "b", "h", "i", "l", "B", "H", "I", "L", "f", "d", "Zf", "Zd"};

DType dtype_of_buffer(const Py_buffer& view) {
  const char* f = view.format ? view.format : "B";
  if (*f == '@' || *f == '=' || *f == '<') ++f;
  if (f[0] == 'q') return DType::I64;
  if (f[0] == 'Q') return DType::U64;
  for (int i = 0; i < kDTypes; ++i)
    if (std::string(f) == kFormats[i]) return static_cast<DType>(i);
  fail(ErrorKind::Type, "asarray: there is no dtype for the buffer format '", view.format, "'.");
}

void release_buffer(void* owner) {
  PyGILState_STATE state = PyGILState_Ensure();
  auto* view = static_cast<Py_buffer*>(owner);
  PyBuffer_Release(view);
  delete view;
  PyGILState_Release(state);
}

Layout layout_of_buffer(const Py_buffer& view, int64_t item) {
  Layout out{Dims(view.ndim), Dims(view.ndim)};
  for (int i = 0; i < view.ndim; ++i) {
    out.shape[i] = view.shape[i];
    out.strides[i] = view.strides[i] / item;
  }
  return out;
}

nb::object from_buffer(nb::handle source) {
  auto* buffer = new Py_buffer;
  if (PyObject_GetBuffer(source.ptr(), buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
    delete buffer;
    throw nb::python_error();
  }
  Tensor t;
  t.storage = Storage::foreign(buffer->buf, buffer->len, buffer->readonly, buffer, release_buffer);
  t.data = t.storage->data;
  t.dtype = dtype_of_buffer(*buffer);
  t.layout = layout_of_buffer(*buffer, buffer->itemsize);
  return wrap(Value(std::move(t)));
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Tensor& t = nb::inst_ptr<Value>(self)->t;
  int n = t.ndim();
  auto* numbers = new Py_ssize_t[2 * n + 1];
  for (int i = 0; i < n; ++i) {
    numbers[i] = t.shape()[i];
    numbers[n + i] = t.strides()[i] * static_cast<int64_t>(itemsize(t.dtype));
  }
  *view = Py_buffer{};
  view->obj = nb::handle(self).inc_ref().ptr();
  view->buf = t.data;
  view->itemsize = itemsize(t.dtype);
  view->len = t.numel() * view->itemsize;
  view->readonly = t.storage->readonly;
  view->ndim = n;
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(kFormats[static_cast<int>(t.dtype)]) : nullptr;
  view->shape = numbers;
  view->strides = numbers + n;
  view->internal = numbers;
  return 0;
}

void release_exported(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

}  // namespace

void bind_interop(nb::class_<Value>& tensor, nb::module_& m) {
  m.def("from_buffer", from_buffer, nb::arg("source"));
  auto* type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  type->tp_as_buffer->bf_getbuffer = get_buffer;
  type->tp_as_buffer->bf_releasebuffer = release_exported;
}

}  // namespace tn
