// The buffer protocol, both ways. NumPy, and what DLPack brings, meet tensors through it (ops/exchange.py).
#include "kernels/block.h"
#include "kernels/copy.h"
#include "python/bindings.h"
#include "tape/level.h"

namespace tn {
namespace {

constexpr const char* kFormats[kDTypes] = {"?", "b", "h", "i", "l", "B", "H", "I", "L", "f", "d", "Zf", "Zd"};

DType dtype_of_buffer(const Py_buffer& view) {
  std::string f = view.format ? view.format : "B";
  if (f[0] == '@' || f[0] == '=' || f[0] == '<') f.erase(0, 1);
  if (f == "q") return DType::I64;
  if (f == "Q") return DType::U64;
  for (int i = 0; i < kDTypes; ++i)
    if (f == kFormats[i]) return static_cast<DType>(i);
  fail(ErrorKind::Type, "asarray: there is no dtype for the buffer format '", f, "'.");
}

void release_buffer(void* owner) {
  PyGILState_STATE state = PyGILState_Ensure();
  auto* view = static_cast<Py_buffer*>(owner);
  PyBuffer_Release(view);
  delete view;
  PyGILState_Release(state);
}

// Strides in elements. Strides of axes of size 1 mean nothing; any others must be whole elements.
Layout layout_of_buffer(const Py_buffer& view) {
  Layout out{Dims(view.ndim), Dims(view.ndim)};
  for (int i = 0; i < view.ndim; ++i) {
    out.shape[i] = view.shape[i];
    bool counts = view.shape[i] > 1;
    if (counts && view.strides[i] % view.itemsize != 0)
      fail(ErrorKind::Buffer, "asarray: axis ", i, " has a stride of ", view.strides[i],
           " bytes, which is not a whole number of elements; copy the array first.");
    out.strides[i] = counts ? view.strides[i] / view.itemsize : 0;
  }
  return out;
}

void require_aligned(const Py_buffer& view, DType dtype) {
  size_t align = itemsize(real_of(dtype));
  if (reinterpret_cast<uintptr_t>(view.buf) % align != 0)
    fail(ErrorKind::Buffer, "asarray: the memory is not aligned to ", align, " bytes; copy the array first.");
}

nb::object from_buffer(nb::handle source) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(source.ptr(), buffer.get(), PyBUF_FULL_RO) != 0) throw nb::python_error();
  Tensor t;
  try {
    t.dtype = dtype_of_buffer(*buffer);
    t.layout = layout_of_buffer(*buffer);
    require_aligned(*buffer, t.dtype);
  } catch (...) {
    PyBuffer_Release(buffer.get());
    throw;
  }
  Py_buffer* owner = buffer.release();
  t.storage = Storage::foreign(owner->buf, owner->len, owner->readonly, owner, release_buffer);
  t.data = t.storage->data;
  return wrap(Value(std::move(t)));
}

nb::object copied(const Value& x) {
  Tensor out = empty(x.t.dtype, x.t.shape());
  {
    Unlocked unlocked(out.numel() >= kWorthUnlocking);
    copy_into(out, x.t);
  }
  return wrap(Value(std::move(out)));
}

bool refuse(const char* why) {
  PyErr_SetString(PyExc_BufferError, why);
  return false;
}

bool can_export(const Value& x, int flags) {
  if (graph_under(x)) return refuse("a traced value has no memory to share.");
  if (!x.plain()) return refuse("the tensor takes part in differentiation; use x.detach().");
  if ((flags & PyBUF_WRITABLE) && x.t.storage->readonly) return refuse("the tensor is read-only.");
  bool c = x.t.layout.is_c_contiguous(), f = x.t.layout.is_f_contiguous();
  if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c)
    return refuse("the tensor is not C-contiguous.");
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !f)
    return refuse("the tensor is not F-contiguous.");
  if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !f)
    return refuse("the tensor is not contiguous.");
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c) return refuse("the tensor needs strides.");
  return true;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  const Value& x = *nb::inst_ptr<Value>(self);
  *view = Py_buffer{};
  if (!can_export(x, flags)) return -1;
  const Tensor& t = x.t;
  bool readonly = t.storage->readonly || repeats(t.layout);
  if ((flags & PyBUF_WRITABLE) && readonly) return refuse("the tensor repeats its memory.") - 1;
  int n = t.ndim();
  auto* numbers = new Py_ssize_t[2 * n + 1];
  for (int i = 0; i < n; ++i) {
    numbers[i] = t.shape()[i];
    numbers[n + i] = t.strides()[i] * static_cast<int64_t>(itemsize(t.dtype));
  }
  view->obj = nb::handle(self).inc_ref().ptr();
  view->buf = t.data;
  view->itemsize = itemsize(t.dtype);
  view->len = t.numel() * view->itemsize;
  view->readonly = readonly;
  view->ndim = n;
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(kFormats[static_cast<int>(t.dtype)]) : nullptr;
  view->shape = flags & PyBUF_ND ? numbers : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? numbers + n : nullptr;
  view->internal = numbers;
  return 0;
}

void release_exported(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

}  // namespace

bool repeats(const Layout& layout) {
  if (layout.numel() == 0) return false;
  for (int i = 0; i < layout.ndim(); ++i)
    if (layout.strides[i] == 0 && layout.shape[i] > 1) return true;
  return false;
}

namespace {

// The first byte and the one after the last.
std::pair<const char*, const char*> extent(const Tensor& t) {
  int64_t first = 0, last = 0;
  for (int i = 0; i < t.ndim(); ++i) {
    const int64_t reach = t.strides()[i] * (t.shape()[i] - 1);
    (reach < 0 ? first : last) += reach;
  }
  const auto item = static_cast<int64_t>(itemsize(t.dtype));
  return {t.data + first * item, t.data + (last + 1) * item};
}

}  // namespace

bool may_overlap(const Tensor& x, const Tensor& y) {
  if (x.numel() == 0 || y.numel() == 0) return false;
  const auto [x_first, x_end] = extent(x);
  const auto [y_first, y_end] = extent(y);
  return x_first < y_end && y_first < x_end;
}

void check_writable(const Value& x, const char* who) {
  const bool leaf = x.kind == Value::Kind::Tracked && x.node && x.node->leaf && no_grad.blocks;
  if (!x.plain() && !leaf)
    fail(ErrorKind::Value, who, ": a tracked tensor cannot be written in place; use tn.set(x, index, value)",
         x.kind == Value::Kind::Tracked && x.node && x.node->leaf ? ", or no_grad() for a leaf." : ".");
  if (!x.t.storage)
    fail(ErrorKind::Value, who, ": a traced value cannot be written; use tn.set(x, index, value).");
  if (x.t.storage->readonly) fail(ErrorKind::Value, who, ": the tensor is read-only.");
  if (repeats(x.t.layout))
    fail(ErrorKind::Value, who, ": the tensor repeats its memory, with strides of ", show(x.t.strides()),
         " elements; copy it first.");
}

void bind_interop(nb::class_<Value>& tensor, nb::module_& m) {
  m.def("from_buffer", from_buffer, nb::arg("source"));
  m.def("copied", copied, nb::arg("x"), nb::sig("def copied(x: Tensor) -> Tensor"));
  m.def("may_overlap", [](const Value& x, const Value& y) { return may_overlap(x.t, y.t); });
  auto* type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
  type->tp_as_buffer->bf_getbuffer = get_buffer;
  type->tp_as_buffer->bf_releasebuffer = release_exported;
}

}  // namespace tn
