// bind and the table of primitives, as Python sees them.
#include <nanobind/stl/string.h>

#include "program/branches.h"
#include "python/bindings.h"

namespace tn {
namespace {

nb::object bind_from_python(const Primitive& p, nb::tuple operands, nb::tuple attrs, nb::tuple sizes,
                            int mask) {
  std::vector<const Value*> in;
  for (nb::handle o : operands) {
    Value* v = unwrap(o);
    if (!v)
      fail(ErrorKind::Type, p.name, ": operands must be Tensors, got ", nb::repr(o.type()).c_str(), ".");
    in.push_back(v);
  }
  if (p.n_in >= 0 && in.size() != static_cast<size_t>(p.n_in))
    fail(ErrorKind::Type, p.name, ": takes ", p.n_in, " operands, got ", in.size(), ".");
  std::vector<Size> numbers;
  for (nb::handle s : sizes) numbers.push_back(size_from_python(s));
  uint32_t wanted = mask < 0 ? visible_mask(p) : static_cast<uint32_t>(mask);
  Value out[kMaxOutputs];
  bind(p, in, attrs_from_python(attrs), numbers, wanted, out);
  if (p.n_out == 1) return wrap(std::move(out[0]));
  nb::list results;
  for (int j = 0; j < p.n_out; ++j) results.append(wanted >> j & 1 ? wrap(std::move(out[j])) : nb::none());
  return nb::tuple(results);
}

// What inference says of operands of those dtypes and shapes: (dtype, shape) of every output.
nb::list infer_from_python(const Primitive& p, nb::iterable types, nb::tuple attrs, nb::tuple sizes,
                           uint32_t mask) {
  std::vector<Tensor> operands;
  for (nb::handle type : types) {
    Tensor& t = operands.emplace_back();
    t.dtype = dtype_from_python(type[0]);
    Dims shape;
    for (nb::handle d : type[1]) shape.push_back(nb::cast<int64_t>(d));
    t.layout = Layout::c_contiguous(shape);
  }
  std::vector<const Tensor*> in;
  for (const Tensor& t : operands) in.push_back(&t);
  std::vector<int64_t> numbers;
  for (nb::handle s : sizes) numbers.push_back(nb::cast<int64_t>(s));
  Meta out[kMaxOutputs];
  p.infer(Call{in, attrs_from_python(attrs), numbers, mask}, out);
  nb::list results;
  for (int j = 0; j < p.n_out; ++j) {
    nb::list shape;
    for (int64_t d : out[j].shape) shape.append(d);
    results.append(nb::make_tuple(dtype_to_python(out[j].dtype), nb::tuple(shape)));
  }
  return results;
}

}  // namespace

const Attrs& attrs_from_python(nb::tuple given) {
  if (given.size() == 0) return Attrs::none();
  Attrs::Lists lists;
  uint32_t scalars = 0;
  for (nb::handle a : given) {
    std::vector<int64_t>& list = lists.emplace_back();
    if (PyIndex_Check(a.ptr()) && !PySequence_Check(a.ptr())) {
      scalars |= 1u << (lists.size() - 1);
      list.push_back(integer_from_python(a, "an argument"));
    } else {
      for (nb::handle i : a) list.push_back(integer_from_python(i, "an argument"));
    }
  }
  return Attrs::intern(std::move(lists), scalars);
}

nb::tuple attrs_to_python(const Attrs& attrs) {
  nb::list out;
  for (int i = 0; i < attrs.size(); ++i) {
    if (attrs.is_scalar(i)) {
      out.append(attrs.scalar(i));
      continue;
    }
    nb::list items;
    for (int64_t v : attrs.list(i)) items.append(v);
    out.append(nb::tuple(items));
  }
  return nb::tuple(out);
}

void bind_primitives(nb::module_& m) {
  register_all();
  register_branches();
  nb::class_<Primitive>(m, "Primitive")
      .def_prop_ro("name", [](const Primitive& p) { return p.name; })
      .def_ro("n_in", &Primitive::n_in)
      .def_ro("n_out", &Primitive::n_out)
      .def_ro("hidden", &Primitive::hidden)
      .def_ro("shape_only", &Primitive::shape_only)
      .def_prop_ro("is_elementwise", [](const Primitive& p) { return p.is(kElementwise); })
      .def_prop_ro("is_effect", [](const Primitive& p) { return p.is(kEffect); })
      .def("infer", infer_from_python, nb::arg("types"), nb::arg("attrs"), nb::arg("sizes"), nb::arg("mask"));
  m.def("primitive", [](const std::string& n) { return &primitive(n); }, nb::rv_policy::reference);
  m.def("primitive_names", [] {
    nb::list l;
    for (const Primitive& p : primitives()) l.append(p.name);
    return l;
  });
  m.def("bind", bind_from_python, nb::arg("primitive"), nb::arg("operands"), nb::arg("attrs") = nb::tuple(),
        nb::arg("sizes") = nb::tuple(), nb::arg("mask") = -1);
}

}  // namespace tn
