// How Python operands become Values, shared by operators and native functions.
#pragma once
#include "python/bindings.h"

namespace tn {

// A Python number has no dtype of its own: it takes the dtype of what it meets, unless its kind is higher.
bool is_weak(PyObject* o);
// The number beside operands of dtype `other`, as a 0-d tensor. OverflowError where an integer does not fit.
Value weak_scalar(PyObject* number, DType other);
// Arrays of other libraries and whatever else taenite.asarray takes. The new reference keeps the Value alive.
nb::object to_tensor(PyObject* o);
bool is_array_like(PyObject* o);

// Binds and wraps the first output. Returns a new reference, or null with a Python error set.
PyObject* call(const Primitive& p, std::span<const Value* const> in,
               const Attrs& attrs = Attrs::none()) noexcept;
// The same for operands that are Tensors, array-likes or numbers. `first` is the first operand that takes
// part in the promotion of numbers.
PyObject* call_elementwise(const Primitive& p, std::span<PyObject* const> operands, int first) noexcept;

// The product of x1 and x2 as matrices, batched over leading axes.
Value matmul(const Value& a, const Value& b);
PyObject* matmul_operator(PyObject* a, PyObject* b) noexcept;
// einsum of two operands whose equation is known to be one dot_general; null without an error otherwise.
PyObject* known_einsum(PyObject* const* args, size_t nargs) noexcept;
void bind_contract_into(nb::module_& m);
void remember_product(nb::str equation, int rank_a, int rank_b, nb::tuple contract_a, nb::tuple contract_b,
                      nb::tuple batch_a, nb::tuple batch_b);
PyObject* getitem(PyObject* self, PyObject* key) noexcept;
int setitem(PyObject* self, PyObject* key, PyObject* value) noexcept;

// Slots of the class Tensor for PyType_FromSpec.
const PyType_Slot* operator_slots();
void bind_operators(nb::class_<Value>& tensor);
void bind_views(nb::class_<Value>& tensor);
void bind_functions(nb::module_& m);

}  // namespace tn
