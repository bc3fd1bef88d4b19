#include "tape/bind.h"

#include <algorithm>

#include "program/graph.h"
#include "tape/level.h"
#include "tape/rule.h"

namespace tn {
namespace {

using Operands = std::span<const Value* const>;
using Tensors = SmallVector<const Tensor*, 8>;
using Numbers = SmallVector<int64_t, 16>;

struct Request {
  const Primitive& p;
  Operands in;
  const Attrs& attrs;
  std::span<const Size> sizes;
  uint32_t mask;
};

void tensors_of(Operands in, Tensors& out) {
  for (const Value* v : in) out.push_back(&v->t);
}

void numbers_of(std::span<const Size> sizes, Numbers& out) {
  for (const Size& s : sizes) out.push_back(s.value);
}

void run_plain(const Request& r, Value* out) {
  Tensors tensors;
  Numbers numbers;
  tensors_of(r.in, tensors);
  numbers_of(r.sizes, numbers);
  Call call{tensors, r.attrs, numbers, r.mask};
  if (r.p.n_out == 1) return r.p.kernel(call, &out[0].t);
  SmallVector<Tensor, 3> results(r.p.n_out);
  r.p.kernel(call, results.begin());
  for (int j = 0; j < r.p.n_out; ++j)
    if (r.mask >> j & 1) out[j] = Value(std::move(results[j]));
}

uint32_t operands_at(Operands in, int level) {
  uint32_t bits = 0;
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i]->level == level && is_inexact(in[i]->t.dtype)) bits |= 1u << i;
  return bits;
}

// --- Traced -----------------------------------------------------------------------------------------------

// Whether no_grad was entered inside of this trace: derivatives of the program stop there too.
bool is_stopped(const Graph& g) { return g.of_user && no_grad.blocks && no_grad.ceiling() >= g.level; }

int stop(Graph& g, int reg) {
  if (!is_inexact(g.registers[reg].dtype)) return reg;
  const Meta same = g.registers[reg];
  return g.emit(primitive("stop_gradient"), Attrs::none(), {reg}, {}, 1, {&same, 1});
}

void run_traced(const Request& r, Value* out, Graph& g) {
  Tensors tensors;
  Numbers numbers;
  tensors_of(r.in, tensors);
  numbers_of(r.sizes, numbers);
  Meta metas[kMaxOutputs];
  r.p.infer(Call{tensors, r.attrs, numbers, r.mask}, metas);
  std::vector<int> in, sizes;
  for (const Value* v : r.in) in.push_back(g.register_of(*v));
  for (const Size& s : r.sizes) sizes.push_back(g.size_id(s));
  int first =
      g.emit(r.p, r.attrs, std::move(in), std::move(sizes), r.mask, {metas, static_cast<size_t>(r.p.n_out)});
  const bool stopped = is_stopped(g);
  for (int j = 0; j < r.p.n_out; ++j)
    if (r.mask >> j & 1) out[j] = g.value(stopped ? stop(g, first + j) : first + j);
}

// --- Tracked ----------------------------------------------------------------------------------------------

// Whether all operands are plain one level down.
bool flat(Operands in, int level) {
  return std::none_of(in.begin(), in.end(),
                      [=](const Value* v) { return v->box || (!v->plain() && v->level != level); });
}

// The outputs of the call one level down, as plain tensors where that is all there is. A single output is
// written where it is wanted.
struct Flat {
  const Request& r;
  Value* out;
  SmallVector<Tensor, 2> several;

  Flat(const Request& r, const Call& call, Value* out) : r(r), out(out) {
    if (r.p.n_out != 1) several.resize(r.p.n_out);
    r.p.kernel(call, r.p.n_out == 1 ? &out->t : several.begin());
  }
  const Tensor& tensor(int j) const { return r.p.n_out == 1 ? out->t : several[j]; }
  Value output(int j) const { return Value(tensor(j)); }
  Value operand(int i) const { return Value(r.in[i]->t); }
  void keep_symbolic(Node&, std::span<const Size>) const {}
  void give(int j) {
    if (r.p.n_out != 1) out[j].t = std::move(several[j]);
  }
};

struct Nested {
  Lowered inner;
  Value* out;
  SmallVector<Value, 3> results;

  Nested(const Request& r, uint32_t mask, int level, Value* out)
      : inner(r.in, level), out(out), results(r.p.n_out) {
    bind(r.p, inner.at, r.attrs, r.sizes, mask, results.begin());
  }
  const Tensor& tensor(int j) const { return results[j].t; }
  Value output(int j) const { return results[j]; }
  Value operand(int i) const { return *inner.at[i]; }
  void keep_symbolic(Node& node, std::span<const Size> sizes) const {
    auto in_a_graph = [](const Value& v) { return graph_under(v) != nullptr; };
    if (std::any_of(results.begin(), results.end(), in_a_graph))
      node.symbolic.reset(
          new Symbolic{{results.begin(), results.end()}, {sizes.begin(), sizes.end()}, line_of_trace()});
  }
  void give(int j) { out[j] = std::move(results[j]); }
};

template <class Calls>
void save(Node& node, const Rule& rule, const Calls& call, std::span<const Size> sizes) {
  for (const Residual& residual : rule.residuals) {
    Value v = residual.output ? call.output(residual.index) : call.operand(residual.index);
    keep(node, std::move(v), residual.use == Use::Value);
  }
  if (rule.saves_sizes)
    for (const Size& s : sizes) node.sizes.push_back(s.value);
}

template <class Calls>
void record(const Request& r, Value* out, int level, uint32_t need, const Rule& rule, Calls&& call) {
  Ref<Node> node = Node::create();
  node->rule = &rule;
  for (size_t i = 0; i < r.in.size(); ++i) {
    Edge& edge = node->edges.emplace_back();
    if (!(need >> i & 1)) continue;
    edge.node = r.in[i]->node;
    edge.out = r.in[i]->out;
  }
  save(*node, rule, call, r.sizes);
  call.keep_symbolic(*node, r.sizes);
  for (int j = 0; j < r.p.n_out; ++j) {
    const Tensor& t = call.tensor(j);
    Meta& meta = node->outs.emplace_back();
    meta.dtype = t.dtype;
    meta.shape = t.shape();
    if (!(r.mask >> j & 1)) continue;
    call.give(j);
    if (is_inexact(meta.dtype) && !(r.p.hidden >> j & 1)) make_tracked(out[j], node, j, level);
  }
}

// What a rule takes for granted about sizes, a trace that contains it takes for granted too.
void guard_in_traces(const Rule& rule, const Request& r) {
  if (std::any_of(r.in.begin(), r.in.end(), [](const Value* v) { return v->box && graph_under(*v); }))
    rule.guard(r.in, r.sizes);
}

void run_tracked(const Request& r, Value* out, int level) {
  uint32_t need = operands_at(r.in, level);
  Tensors tensors;
  Numbers numbers;
  tensors_of(r.in, tensors);
  numbers_of(r.sizes, numbers);
  const Rule* rule = need ? &find_rule(r.p, tensors, r.attrs, numbers, need, r.mask) : nullptr;
  if (!rule || rule->constant) return bind(r.p, Lowered(r.in, level).at, r.attrs, r.sizes, r.mask, out);
  guard_in_traces(*rule, r);
  if (flat(r.in, level)) {
    record(r, out, level, need, *rule, Flat(r, Call{tensors, r.attrs, numbers, rule->widened}, out));
  } else {
    record(r, out, level, need, *rule, Nested(r, rule->widened, level, out));
  }
}

// --- Dual -------------------------------------------------------------------------------------------------

void run_dual(const Request& r, Value* out, int level) {
  Lowered primal(r.in, level);
  uint32_t need = operands_at(r.in, level);
  Tensors tensors;
  Numbers numbers;
  tensors_of(r.in, tensors);
  numbers_of(r.sizes, numbers);
  const Rule* rule = need ? &find_rule(r.p, tensors, r.attrs, numbers, need, r.mask) : nullptr;
  if (!rule || rule->constant) return bind(r.p, primal.at, r.attrs, r.sizes, r.mask, out);

  guard_in_traces(*rule, r);
  Value results[kMaxOutputs];
  bind(r.p, primal.at, r.attrs, r.sizes, rule->widened, results);
  SmallVector<const Value*, 16> inputs;
  for (const Value* v : primal.at) inputs.push_back(v);
  for (int j = 0; j < r.p.n_out; ++j) inputs.push_back(&results[j]);
  for (size_t i = 0; i < r.in.size(); ++i) inputs.push_back(need >> i & 1 ? &r.in[i]->box->tangent : nullptr);
  Value tangents[kMaxOutputs];
  const Program& program = rule->jvp();
  program.run(inputs.begin(), r.sizes, tangents);
  for (int j = 0; j < r.p.n_out; ++j) {
    if (!(r.mask >> j & 1)) continue;
    bool zero = program.outputs()[j] < 0;
    out[j] = zero ? std::move(results[j]) : make_dual(results[j], conform_up(tangents[j], results[j]), level);
  }
}

void run_unrecorded(const Request& r, Value* out, int ceiling) {
  SmallVector<Value, 4> values(static_cast<int>(r.in.size()));
  SmallVector<const Value*, 8> at;
  for (size_t i = 0; i < r.in.size(); ++i) {
    values[static_cast<int>(i)] = unrecorded(*r.in[i], ceiling);
    at.push_back(&values[static_cast<int>(i)]);
  }
  bind(r.p, at, r.attrs, r.sizes, r.mask, out);
}

}  // namespace

namespace {

// The trace that a call belongs to whose highest operand is of this level; null when that level decides.
Graph* trace_around(int level) {
  Graph* g = open_trace();
  return g && g->level > level ? g : nullptr;
}

// The trace whose sizes a call without traced operands takes.
Graph* trace_of(std::span<const Size> sizes) {
  Graph* found = nullptr;
  for (const Size& s : sizes) found = inner(found, s.graph);
  return found ? inner(found, open_trace()) : nullptr;
}

}  // namespace

uint32_t visible_mask(const Primitive& p) { return ((1u << p.n_out) - 1) & ~p.hidden; }

void bind(const Primitive& p, Operands in, const Attrs& attrs, std::span<const Size> sizes, uint32_t mask,
          Value* out) {
  const Value* top = nullptr;
  for (const Value* v : in)
    if (v->level >= 0 && (!top || v->level > top->level)) top = v;
  Request r{p, in, attrs, sizes, mask};
  if (!top) {
    if (Graph* g = trace_of(sizes)) return run_traced(r, out, *g);
    return run_plain(r, out);
  }
  for (const Value* v : in) require_live(*v);
  bool tracked = top->kind == Value::Kind::Tracked;
  int ceiling = tracked && no_grad.blocks ? no_grad.ceiling() : -1;
  if (tracked && top->level <= ceiling) return run_unrecorded(r, out, ceiling);
  if (Graph* g = trace_around(top->level)) return run_traced(r, out, *g);
  if (tracked) return run_tracked(r, out, top->level);
  if (top->kind == Value::Kind::Dual) return run_dual(r, out, top->level);
  run_traced(r, out, *top->box->graph);
}

Value bind1(const Primitive& p, Operands in, const Attrs& attrs, std::span<const Size> sizes) {
  Value out[kMaxOutputs];
  bind(p, in, attrs, sizes, 1, out);
  return std::move(out[0]);
}

Size size_of(const Value& x, int axis) {
  int64_t n = x.t.shape()[axis];
  const Value* at = &x;
  while (at->kind != Value::Kind::Traced) {
    if (!at->box) return {n};
    at = &at->box->inner;
  }
  return at->box->graph->size({SizeExpr::Op::Dim, at->box->reg, axis}, n);
}

}  // namespace tn
