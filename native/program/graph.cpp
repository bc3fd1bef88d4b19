#include "program/graph.h"

#include "core/local.h"

namespace tn {

std::string (*line_of_user)() = nullptr;

namespace {

TN_THREAD_LOCAL const std::string* line_in_force = nullptr;

constexpr int64_t kSmall = 8;  // elements of a constant that is not looked for among the others

Value traced(const Graph& g, int reg) {
  Value v;
  v.t.dtype = g.registers[reg].dtype;
  v.t.layout = Layout::c_contiguous(g.registers[reg].shape);
  v.kind = Value::Kind::Traced;
  v.level = static_cast<int16_t>(g.level);
  v.stamp = g.stamp;
  v.box = Ref<Box>(new Box);
  v.box->graph = const_cast<Graph*>(&g);
  v.box->reg = reg;
  return v;
}

void append(std::string& key, int64_t v) { key.append(reinterpret_cast<const char*>(&v), sizeof v); }

std::string call_key(const Primitive& p, const Attrs& attrs, const std::vector<int>& in,
                     const std::vector<int>& sizes, uint32_t mask) {
  std::string key;
  append(key, p.id);
  append(key, reinterpret_cast<int64_t>(&attrs));
  append(key, mask);
  for (int r : in) append(key, r);
  append(key, -1);
  for (int s : sizes) append(key, s);
  return key;
}

}  // namespace

LineScope::LineScope(const std::string* line) : outer_(line_in_force) {
  if (line && !line->empty()) line_in_force = line;
}
LineScope::~LineScope() { line_in_force = outer_; }

std::string line_of_trace() {
  if (line_in_force) return *line_in_force;
  return line_of_user ? line_of_user() : std::string();
}

Value Graph::value(int reg) const { return traced(*this, reg); }

Value Graph::add_input(const Meta& meta) {
  registers.push_back(meta);
  return traced(*this, n_inputs++);
}

Size Graph::add_size_input(int64_t hint) { return size({SizeExpr::Op::Input, n_size_inputs++}, hint); }

int Graph::register_of(const Value& v) {
  if (v.kind == Value::Kind::Traced && v.box->graph == this) return v.box->reg;
  if (!v.plain() || v.t.numel() > kSmall)
    for (const auto& [reg, known] : constants)
      if (same_value(v, known)) return reg;
  int reg = static_cast<int>(registers.size());
  if (of_user && v.plain() && v.t.ndim() == 0) {
    std::string key(1, static_cast<char>(v.t.dtype));
    key.append(v.t.data, itemsize(v.t.dtype));
    auto [it, fresh] = scalars_.try_emplace(std::move(key), reg);
    if (!fresh) return it->second;
  }
  registers.push_back({v.t.dtype, v.t.shape()});
  constants.emplace_back(reg, v);
  return reg;
}

Size Graph::size(SizeExpr e, int64_t hint) {
  std::string key;
  for (int64_t v : {static_cast<int64_t>(e.op), e.a, e.b}) append(key, v);
  auto [it, fresh] = known_sizes_.try_emplace(key, static_cast<int>(sizes.size()));
  if (fresh) {
    sizes.push_back(e);
    size_hints.push_back(hint);
  }
  return {hint, this, it->second};
}

int Graph::size_id(Size s) {
  if (s.graph == this) return s.expr;
  if (s.graph && s.graph->level < level) return adopt(*s.graph, s.expr);
  return size({SizeExpr::Op::Const, s.value}, s.value).expr;
}

// A size of a graph around this one, in terms of values that this one closes over.
int Graph::adopt(const Graph& outer, int expr) {
  SizeValues adopted(outer.sizes, [&](int leaf) -> Size {
    SizeExpr e = outer.sizes[leaf];
    if (e.op != SizeExpr::Op::Dim) return {outer.size_hints[leaf]};
    e.a = register_of(outer.value(static_cast<int>(e.a)));
    return size(e, outer.size_hints[leaf]);
  });
  return size_id(adopted(expr));
}

Graph* inner(Graph* a, Graph* b) {
  if (!a || !b) return a ? a : b;
  return a->level < b->level ? b : a;
}

static bool same_memory(const Tensor& a, const Tensor& b) {
  return a.data == b.data && a.dtype == b.dtype && a.shape() == b.shape() &&
         a.layout.strides == b.layout.strides;
}

bool same_value(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.level != b.level || a.stamp != b.stamp) return false;
  if (a.plain()) return same_memory(a.t, b.t);
  if (a.kind == Value::Kind::Tracked) return a.node == b.node && a.out == b.out;
  if (a.kind == Value::Kind::Dual) return a.box == b.box;
  return a.box->graph == b.box->graph && a.box->reg == b.box->reg;
}

int Graph::emit(const Primitive& p, const Attrs& attrs, std::vector<int> in, std::vector<int> size_list,
                uint32_t mask, std::span<const Meta> outs) {
  auto [it, fresh] =
      written_.try_emplace(call_key(p, attrs, in, size_list, mask), static_cast<int>(registers.size()));
  if (!fresh && p.n_out > 0) return it->second;
  int first = static_cast<int>(registers.size());
  registers.insert(registers.end(), outs.begin(), outs.end());
  int source = -1;
  if (of_user) {
    std::string line = line_of_trace();
    if (!line.empty() && (sources.empty() || sources.back() != line)) sources.push_back(line);
    if (!line.empty()) source = static_cast<int>(sources.size()) - 1;
  }
  instructions.push_back({&p, &attrs, std::move(in), std::move(size_list), first, mask, source});
  return first;
}

int64_t evaluate(SizeExpr::Op op, int64_t a, int64_t b) {
  auto floor_div = [](int64_t x, int64_t y) { return x / y - ((x % y != 0) && ((x < 0) != (y < 0))); };
  switch (op) {
    case SizeExpr::Op::Add:
      return a + b;
    case SizeExpr::Op::Sub:
      return a - b;
    case SizeExpr::Op::Mul:
      return a * b;
    case SizeExpr::Op::FloorDiv:
    case SizeExpr::Op::Mod:
      if (b == 0) fail(ErrorKind::Value, "a size was divided by zero.");
      return op == SizeExpr::Op::Mod ? a - b * floor_div(a, b) : floor_div(a, b);
    default:
      return a;
  }
}

Size combine(SizeExpr::Op op, Size a, Size b) {
  int64_t hint = evaluate(op, a.value, b.value);
  Graph* g = inner(a.graph, b.graph);
  if (!g) return {hint};
  return g->size({op, g->size_id(a), g->size_id(b)}, hint);
}

bool holds(Guard::Relation relation, int64_t a, int64_t b) {
  switch (relation) {
    case Guard::Relation::Eq:
      return a == b;
    case Guard::Relation::Lt:
      return a < b;
    default:
      return a <= b;
  }
}

bool compare(Guard::Relation r, Size a, Size b) {
  const bool now = holds(r, a.value, b.value);
  Graph* g = inner(a.graph, b.graph);
  if (!g) return now;
  int lhs = g->size_id(a), rhs = g->size_id(b);
  if (lhs != rhs) g->guards.push_back({r, lhs, rhs, now});
  return now;
}

namespace {

std::string show_size(const Graph& g, int id) {
  const SizeExpr& e = g.sizes[id];
  const char* infix[] = {"", "", "", " + ", " - ", " * ", " // ", " % "};
  switch (e.op) {
    case SizeExpr::Op::Const:
      return std::to_string(e.a);
    case SizeExpr::Op::Input:
      return text("n", e.a);
    case SizeExpr::Op::Dim:
      return text("%", e.a, ".shape[", e.b, "]");
    default:
      return text("(", show_size(g, e.a), infix[static_cast<int>(e.op)], show_size(g, e.b), ")");
  }
}

std::string show_register(const Graph& g, int reg) {
  std::string out = text("%", reg, ":", name(g.registers[reg].dtype), "[");
  for (int i = 0; i < g.registers[reg].shape.size(); ++i)
    out += text(i ? "," : "", g.registers[reg].shape[i]);
  return out + "]";
}

std::string show_instruction(const Graph& g, const Instruction& i) {
  std::string out = "  ";
  for (int j = 0; j < i.primitive->n_out; ++j)
    out += text(j ? ", " : "", i.mask >> j & 1 ? show_register(g, i.out + j) : "_");
  out += text(" = ", i.primitive->name);
  for (const auto& list : i.attrs->lists()) out += " " + show(list);
  for (int r : i.in) out += text(" %", r);
  for (size_t k = 0; k < i.sizes.size(); ++k) out += text(k ? ", " : " {", show_size(g, i.sizes[k]));
  return out + (i.sizes.empty() ? "" : "}");
}

}  // namespace

std::string show(const Graph& g, std::span<const int> outputs) {
  std::string out = "inputs:";
  for (int r = 0; r < g.n_inputs; ++r) out += " " + show_register(g, r);
  out += "\n";
  const char* relation[] = {"==", "<", "<="};
  for (const Guard& c : g.guards)
    out += text("  guard ", c.holds ? "" : "not ", show_size(g, c.lhs), " ",
                relation[static_cast<int>(c.relation)], " ", show_size(g, c.rhs), "\n");
  for (const auto& [reg, value] : g.constants) out += text("  ", show_register(g, reg), " = constant\n");
  for (const Instruction& i : g.instructions) out += show_instruction(g, i) + "\n";
  out += "outputs:";
  for (int r : outputs) out += r < 0 ? " _" : text(" %", r);
  return out;
}

}  // namespace tn
