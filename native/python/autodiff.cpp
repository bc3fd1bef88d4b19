// Variables, backward, levels, and the hook through which rules are traced.
#include "program/graph.h"
#include "python/bindings.h"
#include "tape/backward.h"
#include "tape/level.h"
#include "tape/rule.h"

namespace tn {
namespace {

PyObject* rule_tracer = nullptr;
PyObject* no_grad_ceiling = nullptr;  // a context variable

nb::list to_list(std::span<const Value> values) {
  nb::list out;
  for (const Value& v : values) {
    bool zero = v.plain() && !v.t.data;
    out.append(zero ? nb::none() : wrap(Value(v)));
  }
  return out;
}

bool trace_in_python(const RuleRequest& r, Value* results) {
  nb::list sizes;
  for (const Size& s : r.sizes) sizes.append(size_to_python(s));
  nb::list need;
  for (size_t i = 0; i < r.operands.size(); ++i) need.append(bool(r.need >> i & 1));
  nb::object found = nb::handle(rule_tracer)(r.primitive.name, to_list(r.operands), to_list(r.outputs),
                                             to_list(r.cotangents), attrs_to_python(r.attrs),
                                             nb::tuple(sizes), nb::tuple(need));
  if (found.is_none()) return false;
  size_t i = 0;
  for (nb::handle item : found) {
    if (!item.is_none()) {
      Value* v = unwrap(item);
      if (!v)
        fail(ErrorKind::Type, r.primitive.name, ": its rule returned ", nb::repr(item.type()).c_str(), ".");
      results[i] = *v;
    }
    ++i;
  }
  return true;
}

int ceiling_of_context() {
  PyObject* value = nullptr;
  if (PyContextVar_Get(no_grad_ceiling, nullptr, &value) < 0) throw nb::python_error();
  nb::object held = nb::steal(value);
  return static_cast<int>(PyLong_AsLong(value));
}

Value& leaf_of(Value& x) {
  if (x.kind != Value::Kind::Tracked || !x.node->leaf)
    fail(ErrorKind::Value, "grad: only a variable has one; this tensor was computed.");
  return x;
}

Value variable(const Value& x) {
  if (!is_inexact(x.t.dtype))
    fail(ErrorKind::Type, "variable: x must have a floating-point dtype, got ", name(x.t.dtype), ".");
  Value plain = x;
  while (plain.kind == Value::Kind::Tracked) plain = plain.lower();
  if (!plain.plain())
    fail(ErrorKind::Tracing,
         "variable: x is a value of a jvp or a trace; use tn.grad or tn.vjp inside of them.");
  return track(plain, 0);
}

// What repr says of a value that is more than its numbers.
const char* wrapping(const Value& x) {
  if (x.kind == Value::Kind::Dual) return "with a tangent";
  return x.node && x.node->leaf && x.level == 0 ? "variable" : "tracked";
}

// One number seen as a whole tensor, by strides of 0.
Value constant_like(const Value& x, double number) {
  Value c(scalar(x.t.dtype, number));
  if (!graph_under(x)) return Value(broadcast_view(c.t, x.t.shape()));
  if (x.t.ndim() == 0) return c;
  SmallVector<Size, 6> sizes;
  for (int i = 0; i < x.t.ndim(); ++i) sizes.push_back(size_of(x, i));
  const Value* in[] = {&c};
  return bind1(primitive("broadcast_in_dim"), in, Attrs::intern(Attrs::Lists(1)), sizes);
}

Value default_seed(const Value& loss) {
  if (loss.t.numel() != 1)
    fail(ErrorKind::Value, "backward: a loss has one element, got shape ", show(loss.t.shape()),
         "; pass seed=.");
  if (is_complex(loss.t.dtype))
    fail(ErrorKind::Type, "backward: a loss must be real, got ", name(loss.t.dtype), "; pass seed=.");
  return constant_like(loss, 1);
}

Value checked_seed(const Value& loss, const Value& seed) {
  if (!(seed.t.shape() == loss.t.shape()))
    fail(ErrorKind::Value, "backward: seed must have the shape of the output, ", show(loss.t.shape()),
         ", got ", show(seed.t.shape()), ".");
  if (is_complex(seed.t.dtype) && !is_complex(loss.t.dtype))
    fail(ErrorKind::Type, "backward: seed must be real for a real output, got ", name(seed.t.dtype), ".");
  return seed;
}

void backward_from(const Value& loss, nb::handle seed, bool retain) {
  if (loss.kind != Value::Kind::Tracked || loss.level != 0)
    fail(ErrorKind::Value, loss.level > 0 ? "backward: inside grad, vjp or jvp use the functional transforms."
                                          : "backward: this tensor does not depend on a variable.");
  Value* given = seed.is_none() ? nullptr : unwrap(seed);
  if (!seed.is_none() && !given) fail(ErrorKind::Type, "backward: seed must be a Tensor.");
  Seed s{&loss, given ? checked_seed(loss, *given) : default_seed(loss)};
  backward({&s, 1}, retain);
}

nb::list pull_leaves(nb::list outputs, nb::list cotangents, nb::list leaves, bool retain) {
  std::vector<Seed> seeds;
  std::vector<Ref<Node>> nodes;
  for (size_t i = 0; i < nb::len(outputs); ++i) seeds.push_back({unwrap(outputs[i]), *unwrap(cotangents[i])});
  for (nb::handle h : leaves) nodes.push_back(unwrap(h)->node);
  nb::list out;
  for (Value& v : pull(seeds, nodes, retain))
    out.append(v.plain() && !v.t.data ? nb::none() : wrap(std::move(v)));
  return out;
}

void bind_levels(nb::module_& m) {
  m.def("open_level", open_level);
  m.def("close_level", close_level, nb::arg("level"));
  m.def("top_level", top_level);
  m.def("track", [](const Value& x, int level) { return wrap(track(x, level)); });
  m.def("make_dual", [](const Value& x, const Value& t, int level) { return wrap(make_dual(x, t, level)); });
  m.def("is_tracked_at", [](const Value& x, int level) { return at_level(x, Value::Kind::Tracked, level); });
  m.def("is_dual_at", [](const Value& x, int level) { return at_level(x, Value::Kind::Dual, level); });
  m.def("tangent_of", [](const Value& x) { return wrap(Value(x.box->tangent)); });
  m.def("lower", [](const Value& x) { return wrap(x.lower()); });
  m.def("is_wrapped", [](const Value& x) { return !x.plain() && x.kind != Value::Kind::Traced; });
  m.def("is_traced", [](const Value& x) { return graph_under(x) != nullptr; });
  m.def("level_of", [](const Value& x) { return static_cast<int>(x.level); });
  m.def("is_same", [](const Value& x, const Value& y) { return same_value(x, y); });
  m.def("bare", [](const Value& x) { return wrap(Value(x.t)); });
  m.def("wrapping", wrapping);
  m.def("hint_shape", [](const Value& x) {
    nb::list l;
    for (int64_t n : x.t.shape()) l.append(n);
    return nb::tuple(l);
  });
  m.def("zeros_like", [](const Value& x) { return wrap(constant_like(x, 0)); });
  m.def("one_like", [](const Value& x) { return wrap(constant_like(x, 1)); });
  m.def("pull", pull_leaves);
  m.def("enter_no_grad", [] { ++no_grad.blocks; });
  m.def("leave_no_grad", [] { --no_grad.blocks; });
}

}  // namespace

void bind_autodiff(nb::class_<Value>& tensor, nb::module_& m) {
  trace_rule = trace_in_python;
  no_grad.ceiling = ceiling_of_context;
  m.def("set_autodiff_hooks", [](nb::object tracer, nb::object ceiling) {
    keep_in_module("_autodiff_hooks", nb::make_tuple(tracer, ceiling));
    rule_tracer = tracer.ptr();
    no_grad_ceiling = ceiling.ptr();
  });
  bind_levels(m);
  m.def("rule_stats", [] { return std::make_pair(rule_stats().rules, rule_stats().traces); });
  m.def("show_rules", show_rules, nb::arg("primitive"));
  m.def("variable", [](const Value& x) { return wrap(variable(x)); }, nb::arg("x"));
  tensor.def("backward", backward_from, nb::arg("seed") = nb::none(), nb::arg("retain_graph") = false);
  tensor.def("detach", [](const Value& x) {
    Value out = x;
    while (out.kind == Value::Kind::Tracked || out.kind == Value::Kind::Dual) out = out.lower();
    const Value* in[] = {&out};
    return wrap(graph_under(out) ? bind1(primitive("stop_gradient"), in) : std::move(out));
  });
  tensor.def_prop_ro("requires_grad", [](const Value& x) {
    const Value* at = &x;
    while (at->kind != Value::Kind::Tracked && at->box) at = &at->box->inner;
    return at->kind == Value::Kind::Tracked;
  });
  tensor.def_prop_rw(
      "grad",
      [](Value& x) -> nb::object {
        if (x.kind != Value::Kind::Tracked || !x.node->leaf || !x.node->grad) return nb::none();
        return wrap(Value(*x.node->grad));
      },
      [](Value& x, nb::object g) {
        Value& leaf = leaf_of(x);
        if (g.is_none()) return leaf.node->grad.reset();
        Value* v = unwrap(g);
        if (!v || !(v->t.shape() == x.t.shape()) || v->t.dtype != x.t.dtype)
          fail(ErrorKind::Value, "grad: needs None or a Tensor of shape ", show(x.t.shape()), " and dtype ",
               name(x.t.dtype), ".");
        leaf.node->grad = std::make_unique<Value>(*v);
      },
      nb::arg("value").none());
}

}  // namespace tn
