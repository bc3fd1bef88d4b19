// Traces, and what Python makes of them: graphs as plain tuples both ways, and executables.
#include "program/branches.h"
#include "python/executable.h"
#include "tape/level.h"

namespace tn {
namespace {

// ---- the user's line ----

std::string* package_folder = nullptr;

std::string line_of(PyFrameObject* frame) {
  nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  nb::object file = code.attr("co_filename");
  const char* name = PyUnicode_AsUTF8(file.ptr());
  if (std::string_view(name).starts_with(*package_folder)) return {};
  return text(name, ":", PyFrame_GetLineNumber(frame));
}

// Of the innermost frame outside of the package.
std::string find_line_of_user() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::string line;
  while (frame && line.empty()) {
    line = line_of(frame);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return line;
}

// ---- traces ----

class Trace {
 public:
  Trace() : graph_(new Graph), level_(open_level()) {
    graph_->level = level_;
    graph_->stamp = stamp_of(level_);
    graph_->of_user = true;
    around_ = exchange_open_trace(graph_.get());
  }
  ~Trace() { close(); }
  Trace(const Trace&) = delete;

  nb::object input(const Value& like) { return wrap(graph_->add_input({like.t.dtype, like.t.shape()})); }
  int register_of(const Value& v) { return graph_->register_of(v); }
  void close() {
    if (level_ < 0) return;
    exchange_open_trace(around_);
    close_level(level_);
    level_ = -1;
  }
  const Graph& graph() const { return *graph_; }
  Ref<Graph> share() const { return graph_; }

 private:
  Ref<Graph> graph_;
  Graph* around_ = nullptr;  // the trace inside of which this one was opened
  int level_;
};

// ---- graphs to Python ----

constexpr const char* kOps[] = {"const", "input", "dim", "add", "sub", "mul", "floordiv", "mod"};
constexpr const char* kRelations[] = {"eq", "lt", "le"};

nb::tuple shape_tuple(const Dims& dims) {
  nb::list l;
  for (int64_t d : dims) l.append(d);
  return nb::tuple(l);
}

nb::tuple int_tuple(std::span<const int> items) {
  nb::list l;
  for (int i : items) l.append(i);
  return nb::tuple(l);
}

nb::object source_of(const Executable& e) { return nb::borrow(static_cast<PyObject*>(e.source.get())); }

// Of a cond: for each side what was traced, and what runs.
nb::tuple export_branches(const Graph& g, const Instruction& i) {
  if (i.primitive != &cond_primitive()) return nb::tuple();
  SmallVector<Tensor, 8> operands(static_cast<int>(i.in.size()) - 1);
  SmallVector<const Tensor*, 8> at;
  for (int k = 0; k < operands.size(); ++k) {
    const Meta& m = g.registers[i.in[k + 1]];
    operands[k].dtype = m.dtype;
    operands[k].layout = Layout::c_contiguous(m.shape);
    at.push_back(&operands[k]);
  }
  return nb::make_tuple(source_of(*branch_for(i.attrs->scalar(0), at)),
                        source_of(*branch_for(i.attrs->scalar(1), at)));
}

nb::tuple export_instruction(const Graph& g, const Instruction& i) {
  std::vector<int> outs;
  for (int j = 0; j < i.primitive->n_out; ++j) outs.push_back(i.out + j);
  return nb::make_tuple(i.primitive->name, attrs_to_python(*i.attrs), int_tuple(i.in), int_tuple(i.sizes),
                        int_tuple(outs), i.mask, i.source < 0 ? "" : g.sources[i.source].c_str(),
                        export_branches(g, i));
}

nb::tuple export_graph(const Trace& t) {
  const Graph& g = t.graph();
  nb::list types, instructions, sizes, guards;
  nb::dict constants;
  for (const Meta& m : g.registers)
    types.append(nb::make_tuple(dtype_to_python(m.dtype), shape_tuple(m.shape)));
  for (const Instruction& i : g.instructions) instructions.append(export_instruction(g, i));
  for (const auto& [reg, value] : g.constants) constants[nb::int_(reg)] = wrap(Value(value));
  for (size_t s = 0; s < g.sizes.size(); ++s) {
    const SizeExpr& e = g.sizes[s];
    sizes.append(nb::make_tuple(kOps[static_cast<int>(e.op)], e.a, e.b, g.size_hints[s]));
  }
  for (const Guard& c : g.guards)
    guards.append(nb::make_tuple(kRelations[static_cast<int>(c.relation)], c.lhs, c.rhs, c.holds));
  return nb::make_tuple(types, g.n_inputs, instructions, constants, sizes, guards);
}

// ---- and back ----

template <size_t N>
int index_in(const char* const (&names)[N], nb::handle h) {
  std::string name = nb::cast<std::string>(h);
  for (size_t i = 0; i < N; ++i)
    if (name == names[i]) return static_cast<int>(i);
  fail(ErrorKind::Value, "graph: there is no ", name, ".");
}

std::vector<int> ints(nb::handle items) {
  std::vector<int> out;
  for (nb::handle i : items) out.push_back(nb::cast<int>(i));
  return out;
}

// Registers are numbered anew, because the outputs of one instruction must follow each other.
class Lowering {
 public:
  explicit Lowering(nb::handle graph) : g_(new Graph) {
    nb::object types = graph.attr("types");
    const int n = static_cast<int>(nb::len(types));
    is_.assign(n, -1);
    for (nb::handle t : types) types_.push_back(type_of(t));
    g_->n_inputs = nb::cast<int>(graph.attr("n_inputs"));
    for (int r = 0; r < g_->n_inputs; ++r) place(r);
    for (auto [reg, value] : nb::cast<nb::dict>(graph.attr("constants"))) {
      int r = nb::cast<int>(reg);
      place(r);
      g_->constants.emplace_back(is_[r], *unwrap(value));
    }
    for (nb::handle i : graph.attr("instructions")) number_outputs(i);
    for (nb::handle e : graph.attr("sizes")) add_size(e);
    for (nb::handle i : graph.attr("instructions")) add_instruction(i);
    for (nb::handle c : graph.attr("guards"))
      g_->guards.push_back({static_cast<Guard::Relation>(index_in(kRelations, c.attr("relation"))),
                            nb::cast<int>(c.attr("lhs")), nb::cast<int>(c.attr("rhs")),
                            nb::cast<bool>(c.attr("holds"))});
    for (int r : ints(graph.attr("outputs"))) outputs.push_back(r < 0 ? -1 : is_[r]);
  }

  Ref<Graph> graph() { return g_; }
  std::vector<int> outputs;

 private:
  static Meta type_of(nb::handle t) {
    Meta m;
    m.dtype = dtype_from_python(t.attr("dtype"));
    for (nb::handle d : t.attr("shape")) m.shape.push_back(nb::cast<int64_t>(d));
    return m;
  }
  void place(int r) {
    is_[r] = static_cast<int>(g_->registers.size());
    g_->registers.push_back(types_[r]);
  }
  void number_outputs(nb::handle i) {
    for (int r : ints(i.attr("outputs"))) place(r);
  }
  void add_size(nb::handle e) {
    SizeExpr s{static_cast<SizeExpr::Op>(index_in(kOps, e.attr("op"))), nb::cast<int64_t>(e.attr("a")),
               nb::cast<int64_t>(e.attr("b"))};
    if (s.op == SizeExpr::Op::Dim) s.a = is_[static_cast<int>(s.a)];
    g_->sizes.push_back(s);
    g_->size_hints.push_back(nb::cast<int64_t>(e.attr("value")));
  }
  void add_instruction(nb::handle i) {
    const Primitive& p = primitive(nb::cast<std::string>(i.attr("primitive")));
    std::vector<int> in = ints(i.attr("inputs")), outs = ints(i.attr("outputs"));
    for (int& r : in) r = is_[r];
    Instruction made{&p,
                     &attrs_from_python(nb::cast<nb::tuple>(i.attr("attrs"))),
                     std::move(in),
                     ints(i.attr("sizes")),
                     outs.empty() ? static_cast<int>(g_->registers.size()) : is_[outs[0]],
                     nb::cast<uint32_t>(i.attr("mask"))};
    std::string source = nb::cast<std::string>(i.attr("source"));
    if (!source.empty()) {
      made.source = static_cast<int>(g_->sources.size());
      g_->sources.push_back(std::move(source));
    }
    g_->instructions.push_back(std::move(made));
  }

  Ref<Graph> g_;
  std::vector<int> is_;  // old register -> new
  std::vector<Meta> types_;
};

// ---- executables ----

std::shared_ptr<void> kept(nb::object o) {
  return {o.release().ptr(), [](void* held) { Py_DECREF(static_cast<PyObject*>(held)); }};
}

// What sizes are checked on: a graph or, with the registers of its outputs, a trace that is over.
Signature signature_of(nb::handle traced, nb::handle outputs) {
  if (nb::isinstance<Trace>(traced)) return {nb::cast<const Trace&>(traced).share(), ints(outputs)};
  Lowering checked(traced);
  return {checked.graph(), checked.outputs};
}

// `graph`: what runs.
ExecutableHandle make_executable(nb::handle traced, nb::handle graph, nb::handle outputs) {
  Lowering run(graph);
  Ref<Executable> r(new Executable);
  r->sizes = signature_of(traced, outputs);
  r->note_constants();
  r->program = Program(*run.graph(), run.outputs, false);
  r->source = kept(nb::make_tuple(traced, graph));
  return {r};
}

// A branch of cond: for good with these sizes, or one that `recipe` makes for others.
int add_branch_from_python(const ExecutableHandle& h, nb::object recipe) {
  return add_branch({{h.r}, recipe.is_none() ? nullptr : kept(std::move(recipe))});
}

ExecutableHandle branch_like(int64_t id, nb::list operands) {
  SmallVector<const Tensor*, 16> in;
  for (nb::handle o : operands) in.push_back(&unwrap(o)->t);
  return {branch_for(id, in)};
}

size_t count_branches(nb::list executables) {
  std::vector<Ref<Executable>> all;
  for (nb::handle h : executables) all.push_back(nb::cast<ExecutableHandle&>(h).r);
  return count_variants(all);
}

// Whether operand i matters beyond its shape.
bool reads(const ExecutableHandle& h, int i) { return h.r->program.input_use(i) == Use::Value; }

nb::list wrapped(std::span<Value> values) {
  nb::list out;
  for (Value& v : values) out.append(v.plain() && !v.t.data ? nb::none() : wrap(std::move(v)));
  return out;
}

nb::list call_executable(const ExecutableHandle& h, nb::list operands) {
  SmallVector<const Value*, 16> in;
  for (nb::handle o : operands) in.push_back(unwrap(o));
  SmallVector<Value, 4> out(h.r->n_out());
  Ref<Executable> alive = h.r;
  alive->call(in, out.begin());
  return wrapped(out);
}

// Every primitive of the program at the level of its operands, whatever that is.
nb::list inline_executable(const ExecutableHandle& h, nb::list operands) {
  SmallVector<const Value*, 16> in;
  for (nb::handle o : operands) in.push_back(unwrap(o));
  SmallVector<Value, 4> out(h.r->n_out());
  h.r->program.run(in.begin(), {}, out.begin());
  return wrapped(out);
}

nb::list operands_like(std::span<const Value* const> in) {
  nb::list out;
  for (const Value* v : in) out.append(wrap(Value(v->t)));
  return out;
}

PyObject* derive_hook = nullptr;

Derived derive(const char* mode, const Executable& r, std::span<const Value* const> in,
               const std::string& need) {
  ExecutableHandle self{Ref<Executable>(const_cast<Executable*>(&r))};
  nb::object found = nb::handle(derive_hook)(mode, nb::cast(std::move(self)), operands_like(in), need);
  Derived d;
  d.need = need;
  d.sizes = signature_of(found[0], nb::tuple());
  d.forward = nb::cast<ExecutableHandle&>(found[1]).r;
  if (!found[2].is_none()) d.backward = nb::cast<ExecutableHandle&>(found[2]).r;
  d.n_residuals = nb::cast<int>(found[3]);
  return d;
}

Ref<Executable> variant_from(void* recipe, std::span<const Tensor* const> in) {
  nb::list likes;
  for (const Tensor* t : in) likes.append(wrap(Value(*t)));
  nb::object made = nb::handle(static_cast<PyObject*>(recipe))(likes);
  return nb::cast<ExecutableHandle&>(made).r;
}

}  // namespace

void bind_graph(nb::module_& m) {
  line_of_user = find_line_of_user;
  derive_pullback = [](const Executable& r, std::span<const Value* const> in, const std::string& need) {
    return derive("pullback", r, in, need);
  };
  derive_pushforward = [](const Executable& r, std::span<const Value* const> in, const std::string& need) {
    return derive("pushforward", r, in, need);
  };
  make_variant = variant_from;
  m.def("set_graph_hooks", [](nb::object derive, std::string folder) {
    keep_in_module("_graph_hooks", derive);
    derive_hook = derive.ptr();
    delete package_folder;
    package_folder = new std::string(std::move(folder));
  });
  nb::class_<Trace>(m, "Trace")
      .def(nb::init<>())
      .def("input", &Trace::input, nb::arg("like"))
      .def("register_of", &Trace::register_of, nb::arg("value"))
      .def("export", export_graph)
      .def("close", &Trace::close);
  nb::class_<ExecutableHandle>(m, "Executable")
      .def("__call__", call_executable, nb::arg("operands"))
      .def("inline", inline_executable, nb::arg("operands"))
      .def("reads", reads, nb::arg("operand"))
      .def_prop_ro("graph", [](const ExecutableHandle& h) { return nb::object(source_of(*h.r)[1]); })
      .def_prop_ro("n_out", [](const ExecutableHandle& h) { return h.r->n_out(); })
      .def_prop_ro("is_current", [](const ExecutableHandle& h) { return h.r->is_current(); });
  m.def("executable", make_executable, nb::arg("traced"), nb::arg("graph"), nb::arg("outputs") = nb::tuple());
  m.def("add_branch", add_branch_from_python, nb::arg("executable"), nb::arg("recipe").none() = nb::none());
  m.def("forget_branches", forget_branches);
  m.def("count_branches", count_branches, nb::arg("executables"));
  m.def("branch_like", branch_like, nb::arg("id"), nb::arg("operands"));
  bind_compiled(m);
}

}  // namespace tn
