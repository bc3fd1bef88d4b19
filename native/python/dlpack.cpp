// DLPack out: memory that others hold without holding any Python object, so that it outlives the interpreter.
#include "python/bindings.h"

namespace tn {
namespace {

// ---- The structures of DLPack 1.0

struct DLDevice {
  int32_t type, id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Unversioned {
  static constexpr const char* kCapsule = "dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(Unversioned*);
};
struct Versioned {
  static constexpr const char* kCapsule = "dltensor_versioned";
  uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  uint64_t flags;
  DLTensor tensor;
};
constexpr uint64_t kReadOnly = 1, kCopied = 2;
constexpr int32_t kCpu = 1;

DLDataType type_of(DType t) {
  const uint8_t code = is_bool(t) ? 6 : is_complex(t) ? 5 : is_float(t) ? 2 : is_unsigned(t) ? 1 : 0;
  return {code, static_cast<uint8_t>(8 * itemsize(t)), 1};
}

// What the consumer holds: the tensor, and the structure that refers to it.
template <class Managed>
struct Held {
  Tensor tensor;
  Managed managed{};
};

// Reference counts are changed under the interpreter lock. Once there is no interpreter nothing is: the
// process ends.
template <class Managed>
void let_go(Managed* managed) {
  auto* held = static_cast<Held<Managed>*>(managed->context);
  if (Py_IsInitialized()) {
    PyGILState_STATE state = PyGILState_Ensure();
    delete held;
    PyGILState_Release(state);
  } else if (PyGILState_GetThisThreadState()) {  // while it is being finalised, by the thread that does it
    delete held;
  }
}

template <class Managed>
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, Managed::kCapsule)) return;  // it was consumed
  let_go(static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kCapsule)));
}

template <class Managed>
nb::object capsule_of(const Tensor& t, uint64_t flags) {
  auto held = std::make_unique<Held<Managed>>();
  held->tensor = t;
  Managed& m = held->managed;
  m.context = held.get();
  m.deleter = let_go<Managed>;
  Layout& layout = held->tensor.layout;
  m.tensor = {t.data, {kCpu, 0}, t.ndim(), type_of(t.dtype), layout.shape.begin(), layout.strides.begin(), 0};
  if constexpr (std::is_same_v<Managed, Versioned>) {
    m.major = 1;
    m.flags = flags;
  }
  PyObject* capsule = PyCapsule_New(&m, Managed::kCapsule, drop_capsule<Managed>);
  if (!capsule) throw nb::python_error();
  held.release();
  return nb::steal(capsule);
}

nb::object dlpack_capsule(const Value& x, bool versioned, bool copied) {
  const bool readonly = x.t.storage->readonly || repeats(x.t.layout);
  if (!versioned && readonly)
    fail(ErrorKind::Buffer,
         "__dlpack__: the memory is read-only, which only max_version=(1, 0) and later can say; copy it.");
  const uint64_t flags = (readonly ? kReadOnly : 0) | (copied ? kCopied : 0);
  return versioned ? capsule_of<Versioned>(x.t, flags) : capsule_of<Unversioned>(x.t, flags);
}

}  // namespace

void bind_dlpack(nb::module_& m) {
  m.def("dlpack_capsule", dlpack_capsule, nb::arg("x"), nb::arg("versioned"), nb::arg("copied"));
}

}  // namespace tn
