// Size: an integer of a trace. Arithmetic builds expressions; a comparison adds a guard to the trace.
#include "program/graph.h"
#include "python/bindings.h"

namespace tn {
namespace {

// The size as a number: from here on the trace serves this size only. Rules serve every size.
nb::object number(const Size& s) {
  if (!s.graph->of_user)
    fail(ErrorKind::Tracing,
         "a size of a traced value is not a number yet; use it in a shape, or compare it.");
  compare(Guard::Relation::Eq, s, {s.value});
  return nb::int_(s.value);
}

nb::object number_of(nb::handle h) {
  return nb::isinstance<Size>(h) ? number(nb::cast<const Size&>(h)) : nb::borrow(h);
}

nb::object in_numbers(binaryfunc f, nb::handle a, nb::handle b) {
  nb::object x = number_of(a), y = number_of(b);
  nb::object out = nb::steal(f(x.ptr(), y.ptr()));
  if (!out.is_valid()) throw nb::python_error();
  return out;
}

bool is_whole(nb::handle h) { return nb::isinstance<Size>(h) || PyIndex_Check(h.ptr()); }

constexpr binaryfunc kNumberOps[] = {nullptr,
                                     nullptr,
                                     nullptr,
                                     PyNumber_Add,
                                     PyNumber_Subtract,
                                     PyNumber_Multiply,
                                     PyNumber_FloorDivide,
                                     PyNumber_Remainder};

template <SizeExpr::Op op>
nb::object arithmetic(nb::handle a, nb::handle b) {
  if (!is_whole(a) || !is_whole(b) || unwrap(a) || unwrap(b))
    return in_numbers(kNumberOps[static_cast<int>(op)], a, b);
  return size_to_python(combine(op, size_from_python(a), size_from_python(b)));
}

PyObject* power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }

template <binaryfunc f>
void def_in_numbers(nb::class_<Size>& c, const char* name, const char* reflected) {
  c.def(name, [](nb::handle a, nb::handle b) { return in_numbers(f, a, b); });
  c.def(reflected, [](nb::handle a, nb::handle b) { return in_numbers(f, b, a); });
}

template <unaryfunc f>
void def_in_numbers(nb::class_<Size>& c, const char* name) {
  c.def(name, [](const Size& s) {
    nb::object n = number(s), out = nb::steal(f(n.ptr()));
    if (!out.is_valid()) throw nb::python_error();
    return out;
  });
}

// What NumPy makes of a size: the number. In arithmetic with its scalars the size decides.
nb::object array_of(const Size& s, nb::handle dtype, nb::handle) {
  return nb::module_::import_("numpy").attr("array")(number(s), dtype);
}

template <Guard::Relation r, bool flip = false, bool negate = false>
bool comparison(nb::handle a, nb::handle b) {
  Size x = size_from_python(a), y = size_from_python(b);
  return compare(r, flip ? y : x, flip ? x : y) != negate;
}

template <SizeExpr::Op op>
void def_arithmetic(nb::class_<Size>& c, const char* name, const char* reflected) {
  c.def(name, arithmetic<op>);
  c.def(reflected, [](nb::handle a, nb::handle b) { return arithmetic<op>(b, a); });
}

}  // namespace

int64_t integer_from_python(nb::handle h, const char* what) {
  if (!PyIndex_Check(h.ptr()))
    fail(ErrorKind::Type, what, " must be an integer, got ", nb::repr(h.type()).c_str(), ".");
  nb::object number = nb::steal(PyNumber_Index(h.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  int overflow = 0;
  const int64_t n = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow) fail(ErrorKind::Value, what, " must fit into 64 bits, got ", nb::repr(number).c_str(), ".");
  return n;
}

Size size_from_python(nb::handle h) {
  if (nb::isinstance<Size>(h)) return nb::cast<Size>(h);
  return {integer_from_python(h, "a size")};
}

nb::object size_to_python(Size s) { return s.graph ? nb::cast(s) : nb::object(nb::int_(s.value)); }

nb::object shape_to_python(const Value& x) {
  int n = x.t.ndim();
  nb::object out = nb::steal(PyTuple_New(n));
  bool symbolic = graph_under(x);
  for (int i = 0; i < n; ++i) {
    PyObject* item = symbolic ? nb::cast(size_of(x, i)).release().ptr() : PyLong_FromLongLong(x.t.shape()[i]);
    PyTuple_SET_ITEM(out.ptr(), i, item);
  }
  return out;
}

void bind_sizes(nb::module_& m) {
  using Op = SizeExpr::Op;
  using R = Guard::Relation;
  nb::class_<Size> c(m, "Size");
  def_arithmetic<Op::Add>(c, "__add__", "__radd__");
  def_arithmetic<Op::Sub>(c, "__sub__", "__rsub__");
  def_arithmetic<Op::Mul>(c, "__mul__", "__rmul__");
  def_arithmetic<Op::FloorDiv>(c, "__floordiv__", "__rfloordiv__");
  def_arithmetic<Op::Mod>(c, "__mod__", "__rmod__");
  c.def("__eq__", comparison<R::Eq>);
  c.def("__ne__", comparison<R::Eq, false, true>);
  c.def("__lt__", comparison<R::Lt>);
  c.def("__le__", comparison<R::Le>);
  c.def("__gt__", comparison<R::Lt, true>);
  c.def("__ge__", comparison<R::Le, true>);
  c.def("__bool__", [](const Size& s) { return !compare(R::Eq, s, {0}); });
  c.def("__repr__", [](const Size& s) { return std::to_string(s.value); });
  c.def("__str__", [](const Size& s) { return nb::str(number(s)); });
  c.def("__format__", [](const Size& s, nb::str how) { return number(s).attr("__format__")(how); });
  def_in_numbers<PyNumber_TrueDivide>(c, "__truediv__", "__rtruediv__");
  def_in_numbers<PyNumber_Divmod>(c, "__divmod__", "__rdivmod__");
  def_in_numbers<power>(c, "__pow__", "__rpow__");
  def_in_numbers<PyNumber_And>(c, "__and__", "__rand__");
  def_in_numbers<PyNumber_Or>(c, "__or__", "__ror__");
  def_in_numbers<PyNumber_Xor>(c, "__xor__", "__rxor__");
  def_in_numbers<PyNumber_Lshift>(c, "__lshift__", "__rlshift__");
  def_in_numbers<PyNumber_Rshift>(c, "__rshift__", "__rrshift__");
  def_in_numbers<PyNumber_Absolute>(c, "__abs__");
  def_in_numbers<PyNumber_Invert>(c, "__invert__");
  def_in_numbers<PyNumber_Long>(c, "__round__");
  for (const char* name : {"__pos__", "__trunc__", "__floor__", "__ceil__"})
    c.def(name, [](const Size& s) { return size_to_python(s); });
  c.def("__array__", array_of, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none());
  c.attr("__array_ufunc__") = nb::none();
  c.def("__neg__", [](const Size& s) { return size_to_python(combine(Op::Sub, {0}, s)); });
  c.def("__index__", number);
  c.def("__int__", number);
  c.def("__float__", [](const Size& s) { return nb::cast<double>(number(s)); });
  c.def("__hash__", [](const Size& s) { return nb::hash(number(s)); });
}

}  // namespace tn
