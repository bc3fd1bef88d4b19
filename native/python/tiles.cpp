// Groups of elementwise operations as Python sees them: compiled from a list of calls, for inspection and
// tests.
#include "program/tiles.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "python/bindings.h"

namespace tn {
namespace {

const Tensor& plain(nb::handle h) {
  Value* v = unwrap(h);
  if (!v || !v->plain())
    fail(ErrorKind::Type, "TileGroup: operands must be plain Tensors, got ", nb::repr(h.type()).c_str(), ".");
  return v->t;
}

// Calls in the order of a program. Registers are the examples, then the result of each call.
struct Calls {
  std::vector<Meta> registers;
  std::vector<Step> steps;
  std::vector<SizeExpr> sizes;

  explicit Calls(nb::list examples) {
    for (nb::handle e : examples) registers.push_back({plain(e).dtype, plain(e).shape()});
  }

  // (primitive, attrs, registers, sizes), where a size is a number or (register, axis).
  void add(nb::tuple call) {
    const Primitive& p = primitive(nb::cast<std::string>(call[0]));
    Step s{&p,
           &attrs_from_python(nb::cast<nb::tuple>(call[1])),
           nb::cast<std::vector<int>>(call[2]),
           {},
           {},
           static_cast<int>(registers.size()),
           1,
           false};
    for (nb::handle n : call[3]) {
      s.sizes.push_back(static_cast<int>(sizes.size()));
      sizes.push_back(size_expr(n));
    }
    registers.push_back(infer(s));
    steps.push_back(std::move(s));
  }

  static SizeExpr size_expr(nb::handle n) {
    if (PyLong_Check(n.ptr())) return {SizeExpr::Op::Const, nb::cast<int64_t>(n)};
    return {SizeExpr::Op::Dim, nb::cast<int64_t>(n[0]), nb::cast<int64_t>(n[1])};
  }

  Meta infer(const Step& s) const {
    std::vector<Tensor> in(s.in.size());
    std::vector<const Tensor*> at;
    for (size_t i = 0; i < in.size(); ++i) {
      const Meta& m = registers.at(s.in[i]);
      in[i].dtype = m.dtype;
      in[i].layout = Layout::c_contiguous(m.shape);
      at.push_back(&in[i]);
    }
    std::vector<int64_t> numbers;
    for (int e : s.sizes) {
      const SizeExpr& size = sizes[e];
      numbers.push_back(
          size.op == SizeExpr::Op::Const ? size.a : registers.at(size.a).shape[static_cast<int>(size.b)]);
    }
    Meta out;
    s.primitive->infer(Call{at, *s.attrs, numbers, 1}, &out);
    return out;
  }

  // Every register but the outputs dies where it is mentioned last.
  void find_last_uses(const std::vector<int>& outputs, int n_examples) {
    std::vector<bool> seen(registers.size());
    for (int r : outputs) seen.at(r) = true;
    auto use = [&](Step& s, int r) {
      if (r >= n_examples && !seen[r]) s.dies.push_back(r);
      seen[r] = true;
    };
    for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
      for (int r : s->in) use(*s, r);
      for (int e : s->sizes)
        if (sizes[e].op == SizeExpr::Op::Dim) use(*s, static_cast<int>(sizes[e].a));
    }
  }
};

nb::object compile(nb::list examples, nb::list calls, std::vector<int> outputs) {
  Calls c(examples);
  for (nb::handle call : calls) c.add(nb::cast<nb::tuple>(call));
  c.find_last_uses(outputs, static_cast<int>(examples.size()));
  auto group = TileGroup::compile(c.steps, 0, c.registers, c.sizes);
  return group ? nb::cast(std::move(group)) : nb::none();
}

nb::object run(const TileGroup& g, nb::list inputs) {
  if (inputs.size() != g.inputs().size())
    fail(ErrorKind::Type, "TileGroup.run: takes ", g.inputs().size(), " tensors, got ", inputs.size(), ".");
  std::vector<const Tensor*> in;
  for (nb::handle i : inputs) in.push_back(&plain(i));
  std::vector<Tensor> results(g.outputs().size());
  std::vector<Tensor*> at;
  for (Tensor& t : results) at.push_back(&t);
  if (!g.run(in, at.data())) return nb::none();
  nb::list out;
  for (Tensor& t : results) out.append(wrap(Value(std::move(t))));
  return out;
}

}  // namespace

void bind_tiles(nb::module_& m) {
  nb::class_<TileGroup>(m, "TileGroup")
      .def_prop_ro("n_steps", &TileGroup::n_steps)
      .def_prop_ro("inputs", &TileGroup::inputs)
      .def_prop_ro("outputs", &TileGroup::outputs)
      .def("run", run, nb::arg("inputs"),
           nb::sig("def run(self, inputs: list[Tensor]) -> list[Tensor] | None"))
      .def("__repr__", &TileGroup::listing);
  m.def("tile_group", compile, nb::arg("examples"), nb::arg("calls"), nb::arg("outputs"),
        nb::sig("def tile_group(examples: list[Tensor], calls: list[tuple[Any, ...]], outputs: list[int]) -> "
                "TileGroup | None"));
}

}  // namespace tn
