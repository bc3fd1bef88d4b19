// Compiled functions and prepared calls: what stands between a call in Python and its program.
#include "program/executable.h"
#include "program/graph.h"
#include "python/executable.h"

namespace tn {
namespace {

using Operands = SmallVector<const Value*, 16>;

// What a call returns: one tensor, a tuple of them, or something that Python puts together.
enum class Shape : int { One, Tuple, Tree };

struct Variant {
  Ref<Executable> executable;
  std::vector<std::pair<DType, int>> operands;  // dtype and rank
  nb::list captured;                            // Tensors that come after the operands
  Shape shape;
  nb::object unflatten;
};

// The programs for one structure of arguments.
class Variants {
 public:
  static constexpr size_t kMost = 8;

  Variants() = default;
  Variants(const Variants&) = delete;
  Variant* find(std::span<const Value* const> in) {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!fits(*all_[i], in)) continue;
      if (i) std::rotate(all_.begin(), all_.begin() + i, all_.begin() + i + 1);
      ++hits;
      return all_[0].get();
    }
    return nullptr;
  }
  // The one that was not used for the longest time makes room.
  void add(std::unique_ptr<Variant> v) {
    if (all_.size() == kMost) all_.pop_back();
    all_.insert(all_.begin(), std::move(v));
  }
  size_t size() const { return all_.size(); }
  uint64_t hits = 0;

 private:
  static bool fits(const Variant& v, std::span<const Value* const> in) {
    if (v.operands.size() != in.size() || !v.executable->is_current()) return false;
    SmallVector<const Dims*, 16> shapes;
    for (size_t i = 0; i < in.size(); ++i) {
      if (v.operands[i].first != in[i]->t.dtype || v.operands[i].second != in[i]->t.ndim()) return false;
      shapes.push_back(&in[i]->t.shape());
    }
    for (nb::handle c : v.captured) shapes.push_back(&unwrap(c)->t.shape());
    return v.executable->sizes.serve(shapes).ok;
  }
  std::vector<std::unique_ptr<Variant>> all_;
};

nb::object run_variant(Variant& v, Operands& in) {
  // The variant may be gone before the call is over.
  Ref<Executable> executable = v.executable;
  Shape shape = v.shape;
  nb::list captured = v.captured;
  nb::object unflatten = v.unflatten;
  for (nb::handle c : captured) in.push_back(unwrap(c));
  if (shape == Shape::One) {
    nb::object out = new_tensor();
    executable->call(in, value_in(out));
    return out;
  }
  const int n = executable->n_out();
  nb::object tuple = nb::steal(PyTuple_New(n));
  SmallVector<Value, 4> out(n);
  executable->call(in, out.begin());
  for (int i = 0; i < n; ++i) PyTuple_SET_ITEM(tuple.ptr(), i, wrap(std::move(out[i])).release().ptr());
  return shape == Shape::Tuple ? tuple : unflatten(tuple);
}

// The part of a compiled function that meets calls: positional tensors go straight to their program.
struct Compiled {
  std::vector<nb::object> by_count;  // Variants of so many positional tensors, or null

  nb::object of(size_t n) {
    if (by_count.size() <= n) by_count.resize(n + 1);
    if (!by_count[n].is_valid()) by_count[n] = nb::cast(new Variants, nb::rv_policy::take_ownership);
    return by_count[n];
  }
};

// A call for operands of certain shapes.
struct Prepared {
  Variant variant;
  std::vector<Dims> shapes;  // of positional tensors; none where arguments are something else

  bool fits(const Operands& in) const {
    if (shapes.size() != static_cast<size_t>(in.size()) || !variant.executable->is_current()) return false;
    for (int i = 0; i < in.size(); ++i)
      if (in[i]->t.dtype != variant.operands[i].first || !(in[i]->t.shape() == shapes[i])) return false;
    return true;
  }
};

// Whether all arguments are tensors, and none is a value of a trace.
bool only_tensors(PyObject* args, Operands& in) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    const Value* v = unwrap(PyTuple_GET_ITEM(args, i));
    if (!v || (v->box && graph_under(*v))) return false;
    in.push_back(v);
  }
  return true;
}

// These answer what they can, and give null without an error for what Python must see to.
PyObject* call_directly(Compiled& c, PyObject* args) {
  const size_t n = PyTuple_GET_SIZE(args);
  Operands in;
  if (n >= c.by_count.size() || !c.by_count[n].is_valid() || !only_tensors(args, in)) return nullptr;
  Variant* found = nb::inst_ptr<Variants>(c.by_count[n])->find(in);
  return found ? run_variant(*found, in).release().ptr() : nullptr;
}

PyObject* call_directly(Prepared& p, PyObject* args) {
  Operands in;
  if (!only_tensors(args, in) || !p.fits(in)) return nullptr;
  return run_variant(p.variant, in).release().ptr();
}

template <class T>
PyObject* call_from_python(PyObject* self, PyObject* args, PyObject* kwargs) noexcept try {
  if (!kwargs || PyDict_GET_SIZE(kwargs) == 0) {
    if (PyObject* out = call_directly(*nb::inst_ptr<T>(self), args)) return out;
  }
  nb::object general = nb::handle(self).attr("_general");
  nb::dict named = kwargs ? nb::borrow<nb::dict>(kwargs) : nb::dict();
  return general(nb::handle(args), named).release().ptr();
} catch (...) {
  return raise_in_python();
}

template <class T>
PyType_Slot kCallSlots[] = {{Py_tp_call, reinterpret_cast<void*>(call_from_python<T>)}, {0, nullptr}};

Dims dims_of(nb::handle type) {
  Dims dims;
  for (nb::handle d : type.attr("shape")) dims.push_back(nb::cast<int64_t>(d));
  return dims;
}

// `types`: of the operands, with dtype and shape.
Variant make_variant(const ExecutableHandle& executable, nb::tuple types, nb::list captured, int shape,
                     nb::object unflatten) {
  Variant v{executable.r, {}, captured, static_cast<Shape>(shape), unflatten};
  for (nb::handle t : types) v.operands.emplace_back(dtype_from_python(t.attr("dtype")), dims_of(t).size());
  return v;
}

}  // namespace

void bind_compiled(nb::module_& m) {
  nb::class_<Variants>(m, "Variants")
      .def(nb::init<>())
      .def("add",
           [](Variants& v, const ExecutableHandle& executable, nb::tuple types, nb::list captured, int shape,
              nb::object unflatten) {
             v.add(std::make_unique<Variant>(make_variant(executable, types, captured, shape, unflatten)));
           })
      .def("run",
           [](Variants& v, nb::list operands) -> nb::object {
             Operands in;
             for (nb::handle o : operands) in.push_back(unwrap(o));
             Variant* found = v.find(in);
             return found ? run_variant(*found, in)
                          : nb::object(nb::handle(Py_NotImplemented), nb::detail::borrow_t());
           })
      .def("__len__", &Variants::size)
      .def_ro("hits", &Variants::hits);
  nb::class_<Compiled>(m, "CompiledBase", nb::type_slots(kCallSlots<Compiled>), nb::dynamic_attr())
      .def(nb::init<>())
      .def("variants_of", &Compiled::of, nb::arg("count"))
      .def("forget", [](Compiled& c) { c.by_count.clear(); });
  nb::class_<Prepared>(m, "PreparedBase", nb::type_slots(kCallSlots<Prepared>), nb::dynamic_attr())
      .def("__init__", [](Prepared* self, const ExecutableHandle& executable, nb::tuple types,
                          nb::list captured, int shape, nb::object unflatten, bool positional) {
        new (self) Prepared{make_variant(executable, types, captured, shape, unflatten), {}};
        for (nb::handle t : types)
          if (positional) self->shapes.push_back(dims_of(t));
      });
}

}  // namespace tn
