// Operators of Tensor as C slots: nothing stands between the interpreter and bind.
#include "python/operators.h"

#include <array>
#include <climits>
#include <complex>

#include "core/visit.h"

namespace tn {
namespace {

// ---- numbers ----

DType dtype_beside(PyObject* number, DType other) {
  if (PyBool_Check(number)) return other;
  if (PyLong_Check(number)) return is_bool(other) ? DType::I64 : other;
  const DType real = is_inexact(other) ? other : DType::F64;
  return PyComplex_Check(number) ? complex_of(real) : real;
}

bool fits(PyObject* integer, DType t) {
  if (!is_integer(t)) return true;
  int overflow = 0;
  const long long n = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow > 0 && t == DType::U64) {
    const bool representable = PyLong_AsUnsignedLongLong(integer) != ULLONG_MAX || !PyErr_Occurred();
    PyErr_Clear();
    return representable;
  }
  return overflow == 0 && visit(t, [&]<class T>(Type<T>) {
           if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) return std::in_range<T>(n);
           return true;
         });
}

template <class T>
T integer_of(PyObject* number, DType t) {
  if (!fits(number, t)) {
    PyErr_Format(PyExc_OverflowError, "the Python integer %S is out of bounds for %s.", number, name(t));
    throw nb::python_error();
  }
  return static_cast<T>(PyLong_AsUnsignedLongLongMask(number));
}

void write_number(PyObject* number, const Tensor& out) {
  visit(out.dtype, [&]<class T>(Type<T>) {
    if constexpr (is_complex_v<T>) {
      const Py_complex z = PyComplex_AsCComplex(number);
      if (PyErr_Occurred()) throw nb::python_error();
      *out.as<T>() = T(real_t<T>(z.real), real_t<T>(z.imag));
    } else if constexpr (std::is_floating_point_v<T>) {
      const double x = PyFloat_AsDouble(number);
      if (PyErr_Occurred()) throw nb::python_error();
      *out.as<T>() = static_cast<T>(x);
    } else if constexpr (std::is_same_v<T, bool>) {
      *out.as<T>() = PyObject_IsTrue(number);
    } else {
      *out.as<T>() = integer_of<T>(number, out.dtype);
    }
  });
}

// ---- operators ----

bool is_operand(PyObject* o) { return unwrap(o) || is_weak(o) || is_array_like(o); }

PyObject* whole_number(PyObject* o, nb::object& held) {
  if (is_operand(o) || !PyIndex_Check(o)) return o;
  held = nb::steal(PyNumber_Index(o));
  return held.ptr();
}

PyObject* binary(const Primitive& p, PyObject* a, PyObject* b) noexcept {
  const Value *x = unwrap(a), *y = unwrap(b);
  if (x && y) return call(p, std::array{x, y});
  nb::object whole_a, whole_b;  // sizes of a trace, and what else is an integer in all but name
  a = whole_number(a, whole_a);
  b = whole_number(b, whole_b);
  if (!a || !b) return nullptr;
  if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  PyObject* operands[2] = {a, b};
  return call_elementwise(p, operands, 0);
}

#define TN_BINARY_SLOT(op)                      \
  PyObject* op(PyObject* a, PyObject* b) {      \
    static const Primitive& p = primitive(#op); \
    return binary(p, a, b);                     \
  }
#define TN_UNARY_SLOT(op)                                   \
  PyObject* op(PyObject* x) {                               \
    static const Primitive& p = primitive(#op);             \
    return call(p, std::array<const Value*, 1>{unwrap(x)}); \
  }

namespace slot {
TN_BINARY_SLOT(add)
TN_BINARY_SLOT(subtract)
TN_BINARY_SLOT(multiply)
TN_BINARY_SLOT(divide)
TN_BINARY_SLOT(floor_divide)
TN_BINARY_SLOT(remainder)
TN_BINARY_SLOT(pow)
TN_BINARY_SLOT(bitwise_and)
TN_BINARY_SLOT(bitwise_or)
TN_BINARY_SLOT(bitwise_xor)
TN_BINARY_SLOT(bitwise_left_shift)
TN_BINARY_SLOT(bitwise_right_shift)
TN_BINARY_SLOT(equal)
TN_BINARY_SLOT(not_equal)
TN_BINARY_SLOT(less)
TN_BINARY_SLOT(less_equal)
TN_BINARY_SLOT(greater)
TN_BINARY_SLOT(greater_equal)
TN_UNARY_SLOT(negative)
TN_UNARY_SLOT(abs)
TN_UNARY_SLOT(bitwise_invert)
TN_UNARY_SLOT(square)
TN_UNARY_SLOT(sqrt)
TN_UNARY_SLOT(reciprocal)

// A copy, so that writing to +x does not write to x.
PyObject* positive(PyObject* x) {
  static const Primitive& p = primitive("astype");
  const Value& v = *unwrap(x);
  return call(p, std::array{&v}, Attrs::intern({{static_cast<int64_t>(v.t.dtype)}}, 1));
}

PyObject* cube(PyObject* x) {
  nb::object y = nb::steal(square(x));
  return y.is_valid() ? multiply(y.ptr(), x) : nullptr;
}

// x ** 2, 3, 0.5 and -1 have cheaper and more accurate forms.
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow: a modulus is not supported.");
    return nullptr;
  }
  const Value* x = unwrap(a);
  if (!x || !(PyLong_CheckExact(b) || PyFloat_CheckExact(b)) || is_bool(x->t.dtype)) return pow(a, b);
  const double n = PyFloat_AsDouble(b);
  if (n == -1.0 && PyErr_Occurred()) return nullptr;
  const bool whole = PyLong_CheckExact(b), inexact = is_inexact(x->t.dtype);
  if (whole && n < 0 && !inexact) {
    PyErr_Format(PyExc_ValueError, "pow: integers have no negative integer powers, got exponent %S.", b);
    return nullptr;
  }
  if (n == 2 && (whole || inexact)) return square(a);
  if (n == 3 && (whole || inexact)) return cube(a);
  if (n == 0.5 && inexact) return sqrt(a);
  if (n == -1 && inexact) return reciprocal(a);
  return pow(a, b);
}

// Beyond the range of the tensor's dtype an integer is compared as a float.
PyObject* compare(PyObject* a, PyObject* b, int op) {
  constexpr binaryfunc by_op[6] = {less, less_equal, equal, not_equal, greater, greater_equal};
  if (!PyLong_CheckExact(b) || fits(b, unwrap(a)->t.dtype)) return by_op[op](a, b);
  nb::object number = nb::steal(PyNumber_Float(b));
  return number.is_valid() ? by_op[op](a, number.ptr()) : nullptr;
}
}  // namespace slot

// ---- to Python numbers ----

const Tensor& single(PyObject* x, const char* who, ErrorKind kind) {
  const Tensor& t = unwrap(x)->t;
  if (t.numel() != 1)
    fail(kind, who, ": a tensor with one element is needed, got shape ", show(t.shape()), ".");
  if (!t.data) fail(ErrorKind::Tracing, who, ": a traced value has no number; it stands for every input.");
  return t;
}

PyObject* item_of(const Tensor& t) {
  return visit(t.dtype, [&]<class T>(Type<T>) -> PyObject* {
    const T v = *t.as<T>();
    if constexpr (is_complex_v<T>)
      return PyComplex_FromDoubles(v.real(), v.imag());
    else if constexpr (std::is_floating_point_v<T>)
      return PyFloat_FromDouble(v);
    else if constexpr (std::is_same_v<T, bool>)
      return PyBool_FromLong(v);
    else if constexpr (std::is_signed_v<T>)
      return PyLong_FromLongLong(v);
    else
      return PyLong_FromUnsignedLongLong(v);
  });
}

nb::object item(nb::handle x) { return nb::steal(item_of(single(x.ptr(), "item", ErrorKind::Value))); }

nb::object to_complex(nb::handle x) {
  nb::object number = nb::steal(item_of(single(x.ptr(), "complex", ErrorKind::Type)));
  const Py_complex z = PyComplex_AsCComplex(number.ptr());
  return nb::steal(PyComplex_FromCComplex(z));
}

template <class Convert>
PyObject* to_number(PyObject* x, const char* who, Convert convert) noexcept try {
  nb::object number = nb::steal(item_of(single(x, who, ErrorKind::Type)));
  return convert(number.ptr());
} catch (...) {
  return raise_in_python();
}

PyObject* to_float(PyObject* x) { return to_number(x, "float", PyNumber_Float); }
PyObject* to_int(PyObject* x) { return to_number(x, "int", PyNumber_Long); }

PyObject* to_index(PyObject* x) {
  return to_number(x, "index", [&](PyObject* number) {
    const DType t = unwrap(x)->t.dtype;
    if (!is_integer(t) || unwrap(x)->t.ndim() != 0)
      fail(ErrorKind::Type, "index: a 0-d tensor of integers is needed, got ", tn::name(t), " of shape ",
           show(unwrap(x)->t.shape()), ".");
    return PyNumber_Index(number);
  });
}

int to_bool(PyObject* x) noexcept try {
  nb::object number = nb::steal(item_of(single(x, "bool", ErrorKind::Value)));
  return PyObject_IsTrue(number.ptr());
} catch (...) {
  raise_in_python();
  return -1;
}

}  // namespace

bool is_weak(PyObject* o) {
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o);
}

Value weak_scalar(PyObject* number, DType other) {
  Tensor t = empty(dtype_beside(number, other), Dims{});
  write_number(number, t);
  return Value(std::move(t));
}

nb::object to_tensor(PyObject* o) {
  return nb::module_::import_("taenite.ops.convert").attr("asarray")(nb::handle(o));
}

bool is_array_like(PyObject* o) {
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(o));
  return PyObject_HasAttrString(type, "__array__") || PyObject_HasAttrString(type, "__dlpack__");
}

PyObject* call(const Primitive& p, std::span<const Value* const> in, const Attrs& attrs) noexcept try {
  nb::object out = new_tensor();
  bind(p, in, attrs, {}, 1, value_in(out));
  return out.release().ptr();
} catch (...) {
  return raise_in_python();
}

PyObject* call_elementwise(const Primitive& p, std::span<PyObject* const> operands, int first) noexcept try {
  constexpr int kMax = 3;
  const int n = static_cast<int>(operands.size());
  const Value* in[kMax];
  nb::object converted[kMax];
  Value scalars[kMax];
  bool weak = false, any_dtype = false;
  DType dtype{};
  for (int i = 0; i < n; ++i) {
    in[i] = unwrap(operands[i]);
    if (!in[i] && i >= first && is_weak(operands[i])) {
      weak = true;
      continue;
    }
    if (!in[i]) {
      converted[i] = to_tensor(operands[i]);
      in[i] = unwrap(converted[i]);
    }
    if (i >= first) {
      dtype = any_dtype ? promote(dtype, in[i]->t.dtype) : in[i]->t.dtype;
      any_dtype = true;
    }
  }
  if (weak)
    for (int i = first; i < n; ++i) {
      if (in[i]) continue;
      scalars[i] = weak_scalar(operands[i], any_dtype ? dtype : DType::Bool);
      in[i] = &scalars[i];
    }
  return call(p, {in, static_cast<size_t>(n)});
} catch (...) {
  return raise_in_python();
}

const PyType_Slot* operator_slots() {
  static const PyType_Slot slots[] = {
      {Py_nb_add, reinterpret_cast<void*>(slot::add)},
      {Py_nb_subtract, reinterpret_cast<void*>(slot::subtract)},
      {Py_nb_multiply, reinterpret_cast<void*>(slot::multiply)},
      {Py_nb_true_divide, reinterpret_cast<void*>(slot::divide)},
      {Py_nb_floor_divide, reinterpret_cast<void*>(slot::floor_divide)},
      {Py_nb_remainder, reinterpret_cast<void*>(slot::remainder)},
      {Py_nb_power, reinterpret_cast<void*>(slot::power)},
      {Py_nb_and, reinterpret_cast<void*>(slot::bitwise_and)},
      {Py_nb_or, reinterpret_cast<void*>(slot::bitwise_or)},
      {Py_nb_xor, reinterpret_cast<void*>(slot::bitwise_xor)},
      {Py_nb_lshift, reinterpret_cast<void*>(slot::bitwise_left_shift)},
      {Py_nb_rshift, reinterpret_cast<void*>(slot::bitwise_right_shift)},
      {Py_nb_negative, reinterpret_cast<void*>(slot::negative)},
      {Py_nb_positive, reinterpret_cast<void*>(slot::positive)},
      {Py_nb_absolute, reinterpret_cast<void*>(slot::abs)},
      {Py_nb_invert, reinterpret_cast<void*>(slot::bitwise_invert)},
      {Py_nb_bool, reinterpret_cast<void*>(to_bool)},
      {Py_nb_float, reinterpret_cast<void*>(to_float)},
      {Py_nb_int, reinterpret_cast<void*>(to_int)},
      {Py_nb_index, reinterpret_cast<void*>(to_index)},
      {Py_nb_matrix_multiply, reinterpret_cast<void*>(matmul_operator)},
      {Py_mp_subscript, reinterpret_cast<void*>(getitem)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(setitem)},
      {Py_tp_richcompare, reinterpret_cast<void*>(slot::compare)},
      {0, nullptr},
  };
  return slots;
}

void bind_operators(nb::class_<Value>& tensor) {
  tensor.attr("__array_ufunc__") = nb::none();
  tensor.def("item", item, "The only element as a Python number.");
  tensor.def("__complex__", to_complex);
}

}  // namespace tn
