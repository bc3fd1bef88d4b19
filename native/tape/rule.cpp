#include "tape/rule.h"

#include "tape/level.h"

namespace tn {

bool (*trace_rule)(const RuleRequest&, Value* results) = nullptr;

namespace {

RuleStats counters{0, 0};

// A trace in progress: the graph, its level, and the traced operands, outputs and cotangents.
struct RuleTrace {
  LevelScope scope;
  Ref<Graph> graph{new Graph};
  std::vector<Value> operands, outputs, cotangents;
  std::vector<Size> sizes;

  RuleTrace(const Primitive& p, const Attrs& attrs, std::span<const Meta> in,
            std::span<const int64_t> size_hints, uint32_t mask) {
    graph->level = scope.level;
    graph->stamp = stamp_of(scope.level);
    for (const Meta& m : in) operands.push_back(graph->add_input(m));
    std::vector<const Tensor*> pointers;
    for (const Value& v : operands) pointers.push_back(&v.t);
    Meta metas[kMaxOutputs];
    p.infer(Call{pointers, attrs, size_hints, mask}, metas);
    for (int j = 0; j < p.n_out; ++j) outputs.push_back(graph->add_input(metas[j]));
    for (int64_t n : size_hints) sizes.push_back(graph->add_size_input(n));
  }
};

std::string rule_key(std::span<const Tensor* const> in, const Attrs& attrs, uint32_t need, uint32_t mask) {
  std::string key(16 + 2 * in.size(), '\0');
  const void* a = &attrs;
  std::memcpy(key.data(), &a, 8);
  std::memcpy(key.data() + 8, &need, 4);
  std::memcpy(key.data() + 12, &mask, 4);
  for (size_t i = 0; i < in.size(); ++i) {
    key[16 + 2 * i] = static_cast<char>(in[i]->dtype);
    key[17 + 2 * i] = static_cast<char>(in[i]->ndim());
  }
  return key;
}

using Variants = std::vector<std::unique_ptr<Rule>>;

// Per primitive, by id.
std::vector<std::unordered_map<std::string, Variants>>& cache() {
  static auto& table = *new std::vector<std::unordered_map<std::string, Variants>>(primitives().size());
  return table;
}

}  // namespace

struct RuleBuilder {
  // Traces the rule for the given live cotangents.
  static std::unique_ptr<Program> trace(Rule& r, uint32_t live) {
    ++counters.traces;
    const Primitive& p = *r.primitive;
    RuleTrace t(p, *r.attrs, r.operands_, r.sizes_, r.mask);
    for (int j = 0; j < p.n_out; ++j) {
      Meta meta{t.outputs[j].t.dtype, t.outputs[j].t.shape()};
      Value ct = t.graph->add_input(meta);
      t.cotangents.push_back(live >> j & 1 ? ct : Value());
    }
    std::vector<Value> results(r.n_in);
    if (!trace_rule({p, *r.attrs, t.operands, t.outputs, t.cotangents, t.sizes, r.need, live},
                    results.data())) {
      r.constant = true;
      return nullptr;
    }
    std::vector<int> outs;
    for (int i = 0; i < r.n_in; ++i) {
      bool unasked = !(r.need >> i & 1), zero = results[i].plain() && !results[i].t.data;
      outs.push_back(unasked || zero ? -1 : t.graph->register_of(results[i]));
    }
    keep_guards(r, *t.graph);
    return std::make_unique<Program>(*t.graph, std::move(outs));
  }

  static void keep_guards(Rule& r, const Graph& g) {
    if (!r.guards_.empty() || g.guards.empty()) return;
    for (const SizeExpr& e : g.sizes)
      if (e.op == SizeExpr::Op::Dim && e.a >= r.n_in && guarded(g, e))
        fail(ErrorKind::Tracing, r.primitive->name,
             ": its derivative rule compares a size that is not a size of an operand.");
    r.guards_ = g.guards;
    r.guard_sizes_ = g.sizes;
  }

  static bool mentions(const Graph& g, int expr, const SizeExpr& e) {
    const SizeExpr& at = g.sizes[expr];
    if (at == e) return true;
    return at.op >= SizeExpr::Op::Add &&
           (mentions(g, static_cast<int>(at.a), e) || mentions(g, static_cast<int>(at.b), e));
  }

  static bool guarded(const Graph& g, const SizeExpr& e) {
    return std::any_of(g.guards.begin(), g.guards.end(),
                       [&](const Guard& c) { return mentions(g, c.lhs, e) || mentions(g, c.rhs, e); });
  }

  static void find_residuals(Rule& r, const Program& full) {
    int n = r.n_in + r.primitive->n_out;
    r.slot.assign(n, -1);
    for (int i = 0; i < n; ++i) {
      if (full.input_use(i) == Use::None) continue;
      bool output = i >= r.n_in;
      int index = output ? i - r.n_in : i;
      r.slot[i] = static_cast<int>(r.residuals.size());
      r.residuals.push_back({output, index, full.input_use(i)});
      if (output) r.widened |= 1u << index;
    }
    for (size_t s = 0; s < r.sizes_.size(); ++s) r.saves_sizes |= full.size_input_used(static_cast<int>(s));
    r.widened |= r.mask;
  }

  // A rule must not read more when fewer cotangents are live.
  static void require_saved(const Rule& r, const Program& program) {
    for (int i = 0; i < static_cast<int>(r.slot.size()); ++i) {
      Use saved = r.slot[i] < 0 ? Use::None : r.residuals[r.slot[i]].use;
      if (program.input_use(i) > saved)
        fail(ErrorKind::NotImplemented, r.primitive->name,
             ": its derivative rule reads a value only when some cotangents are zero.");
    }
  }

  static std::unique_ptr<Rule> build(const Primitive& p, std::span<const Tensor* const> in,
                                     const Attrs& attrs, std::span<const int64_t> sizes, uint32_t need,
                                     uint32_t mask) {
    auto r = std::make_unique<Rule>();
    r->primitive = &p;
    r->attrs = &attrs;
    r->n_in = static_cast<int>(in.size());
    r->need = need;
    r->mask = mask;
    for (const Tensor* t : in) r->operands_.push_back({t->dtype, t->shape()});
    r->sizes_.assign(sizes.begin(), sizes.end());
    uint32_t live = differentiable_outputs(*r);
    auto full = live ? trace(*r, live) : nullptr;
    if (!full) {
      r->constant = true;
      return r;
    }
    find_residuals(*r, *full);
    r->vjps_[live] = std::move(full);
    return r;
  }

  // Demanded outputs of floating-point dtype that are not hidden.
  static uint32_t differentiable_outputs(const Rule& r) {
    RuleTrace t(*r.primitive, *r.attrs, r.operands_, r.sizes_, r.mask);
    uint32_t live = 0;
    for (int j = 0; j < r.primitive->n_out; ++j)
      if (is_inexact(t.outputs[j].t.dtype)) live |= 1u << j;
    return live & r.mask & ~r.primitive->hidden;
  }

  // Transposition. The VJP program is linear in its cotangents; its own reverse sweep, written into a new
  // graph with the tangents as seeds, is the JVP. Its forward part is replayed with the outputs in the place
  // of the cotangents (they have the same shapes), so that every shape is at hand; what is replayed only for
  // its shape costs nothing, because such steps are inferred, not run.
  static std::unique_ptr<Program> transpose(const Rule& r) {
    const Primitive& p = *r.primitive;
    uint32_t live = differentiable_outputs(r);
    const Program& vjp = r.vjp(live);
    RuleTrace t(p, *r.attrs, r.operands_, r.sizes_, r.mask);
    std::vector<Value> tangents;
    for (int i = 0; i < r.n_in; ++i) tangents.push_back(t.graph->add_input(r.operands_[i]));
    Transposer sweep(vjp, t);
    for (int i = 0; i < r.n_in; ++i)
      if (vjp.outputs()[i] >= 0) sweep.seed(vjp.outputs()[i], tangents[i], p.is(kElementwise));
    sweep.run(p.name);
    std::vector<int> outs;
    for (int j = 0; j < p.n_out; ++j) {
      const Value* ct = live >> j & 1 ? sweep.find(r.n_in + p.n_out + j) : nullptr;
      outs.push_back(ct ? t.graph->register_of(*ct) : -1);
    }
    return std::make_unique<Program>(*t.graph, std::move(outs));
  }

  struct Transposer {
    const Program& vjp;
    RuleTrace& trace;
    std::vector<Value> at;     // per register of the VJP program: its value in the new graph
    std::vector<char> linear;  // depends on a cotangent
    std::unordered_map<int, Value> cotangent;

    Transposer(const Program& vjp, RuleTrace& trace) : vjp(vjp), trace(trace) { replay(); }

    void replay() {
      int n_in = static_cast<int>(trace.operands.size()), n_out = static_cast<int>(trace.outputs.size());
      std::vector<const Value*> inputs;
      for (const Value& v : trace.operands) inputs.push_back(&v);
      for (const Value& v : trace.outputs) inputs.push_back(&v);
      for (const Value& v : trace.outputs) inputs.push_back(&v);
      at = vjp.replay(inputs, trace.sizes);
      linear.assign(at.size(), 0);
      for (int j = 0; j < n_out; ++j) linear[n_in + n_out + j] = 1;
      for (const Step& s : vjp.steps())
        if (std::any_of(s.in.begin(), s.in.end(), [&](int r) { return linear[r]; }))
          for (int j = 0; j < s.primitive->n_out; ++j) linear[s.out + j] = 1;
    }

    const Value* find(int reg) const {
      auto it = cotangent.find(reg);
      return it == cotangent.end() ? nullptr : &it->second;
    }

    void add(int reg, Value ct) {
      if (!linear[reg]) return;
      auto [it, fresh] = cotangent.try_emplace(reg, ct);
      if (!fresh) it->second = tn::add(it->second, ct);
    }

    // What the rule gives for a broadcast operand has the shape of the output until the engine sums it.
    void seed(int reg, const Value& tangent, bool broadcasts) {
      bool as_is = !broadcasts || same_at_every_size(tangent.t.shape(), at[reg].t.shape());
      add(reg, as_is ? tangent : conform_up(tangent, at[reg]));
    }

    // Equal shapes in the trace prove little where an axis of size 1 might be a broadcast one.
    static bool same_at_every_size(const Dims& a, const Dims& b) {
      return a == b && std::none_of(a.begin(), a.end(), [](int64_t d) { return d == 1; });
    }

    void run(const char* who) {
      for (auto s = vjp.steps().rbegin(); s != vjp.steps().rend(); ++s) {
        uint32_t live = 0, need = 0;
        for (int j = 0; j < s->primitive->n_out; ++j)
          if (linear[s->out + j] && find(s->out + j)) live |= 1u << j;
        for (size_t i = 0; i < s->in.size(); ++i)
          if (linear[s->in[i]]) need |= 1u << i;
        if (live && need) pull(*s, live, need, who);
      }
    }

    void pull(const Step& s, uint32_t live, uint32_t need, const char* who) {
      std::vector<const Tensor*> tensors;
      for (int r : s.in) tensors.push_back(&at[r].t);
      std::vector<Size> sizes = vjp.step_sizes(s, at, trace.sizes);
      std::vector<int64_t> numbers;
      for (Size n : sizes) numbers.push_back(n.value);
      const Rule& rule = find_rule(*s.primitive, tensors, *s.attrs, numbers, need, live);
      if (rule.constant) return;
      const Program& program = rule.vjp(live);
      std::vector<const Value*> inputs;
      for (int r : s.in) inputs.push_back(&at[r]);
      for (int j = 0; j < s.primitive->n_out; ++j) inputs.push_back(&at[s.out + j]);
      for (int j = 0; j < s.primitive->n_out; ++j) inputs.push_back(find(s.out + j));
      require_linear(s, program, need, who);
      std::vector<Value> results(s.in.size());
      program.run(inputs.data(), sizes, results.data());
      for (size_t i = 0; i < s.in.size(); ++i)
        if (need >> i & 1 && program.outputs()[i] >= 0) add(s.in[i], fit(results[i], s, static_cast<int>(i)));
    }

    // Elementwise operands may have been broadcast. The decision must hold for every size.
    Value fit(const Value& ct, const Step& s, int i) {
      const Value& operand = at[s.in[i]];
      Value out = conform(ct, {operand.t.dtype, ct.t.shape()});
      if (!s.primitive->is(kElementwise) || same_at_every_size(ct.t.shape(), operand.t.shape())) return out;
      std::vector<Size> target;
      for (int k = 0; k < operand.t.ndim(); ++k) target.push_back(size_of(operand, k));
      const Value* in[] = {&out};
      return bind1(primitive("sum_to"), in, Attrs::none(), target);
    }

    void require_linear(const Step& s, const Program& program, uint32_t need, const char* who) {
      int n = static_cast<int>(s.in.size());
      for (int i = 0; i < n; ++i)
        if (need >> i & 1 && program.input_use(i) == Use::Value) not_linear(s, who);
      for (int j = 0; j < s.primitive->n_out; ++j)
        if (program.input_use(n + j) == Use::Value) not_linear(s, who);
    }

    [[noreturn]] void not_linear(const Step& s, const char* who) {
      fail(ErrorKind::NotImplemented, who,
           ": the JVP cannot be derived, because the rule is not linear in its ",
           "cotangent at the operation ", s.primitive->name, ".");
    }
  };
};

const Program& Rule::vjp(uint32_t live) const {
  auto& p = vjps_[live];
  if (!p) {
    p = RuleBuilder::trace(const_cast<Rule&>(*this), live);
    RuleBuilder::require_saved(*this, *p);
  }
  return *p;
}

const Program& Rule::jvp() const {
  if (!jvp_) jvp_ = RuleBuilder::transpose(*this);
  return *jvp_;
}

bool Rule::admits(std::span<const Tensor* const> in, std::span<const int64_t> sizes) const {
  if (sizes.size() != sizes_.size()) return false;  // the rank of an output
  SizeValues value(guard_sizes_, [&](int expr) -> int64_t {
    const SizeExpr& e = guard_sizes_[expr];
    if (e.op == SizeExpr::Op::Const) return e.a;
    return e.op == SizeExpr::Op::Input ? sizes[e.a] : in[e.a]->shape()[static_cast<int>(e.b)];
  });
  return std::all_of(guards_.begin(), guards_.end(), [&](const Guard& g) {
    return holds(g.relation, value(g.lhs), value(g.rhs)) == g.holds;
  });
}

void Rule::guard(std::span<const Value* const> in, std::span<const Size> sizes) const {
  SizeValues value(guard_sizes_, [&](int expr) -> Size {
    const SizeExpr& e = guard_sizes_[expr];
    if (e.op == SizeExpr::Op::Const) return {e.a};
    return e.op == SizeExpr::Op::Input ? sizes[e.a] : size_of(*in[e.a], static_cast<int>(e.b));
  });
  for (const Guard& g : guards_) compare(g.relation, value(g.lhs), value(g.rhs));
}

const Rule& find_rule(const Primitive& p, std::span<const Tensor* const> in, const Attrs& attrs,
                      std::span<const int64_t> sizes, uint32_t need, uint32_t mask) {
  // The rule of the last call of this primitive is most often the one.
  static auto& last = *new std::vector<const Rule*>(primitives().size());
  if (const Rule* r = last[p.id]) {
    bool same =
        r->attrs == &attrs && r->need == need && r->mask == mask && r->n_in == static_cast<int>(in.size());
    for (int i = 0; same && i < r->n_in; ++i)
      same = r->operands_[i].dtype == in[i]->dtype && r->operands_[i].shape.size() == in[i]->ndim();
    if (same && r->admits(in, sizes)) return *r;
  }
  Variants& variants = cache()[p.id][rule_key(in, attrs, need, mask)];
  for (const auto& r : variants)
    if (r->admits(in, sizes)) return *(last[p.id] = r.get());
  auto built = RuleBuilder::build(p, in, attrs, sizes, need, mask);
  ++counters.rules;
  // Tracing may have looked up this key itself.
  Variants& again = cache()[p.id][rule_key(in, attrs, need, mask)];
  again.push_back(std::move(built));
  return *(last[p.id] = again.back().get());
}

RuleStats rule_stats() { return counters; }

std::string Rule::listing() const {
  std::string out;
  for (const auto& [live, program] : vjps_)
    if (program)
      out += text("vjp of ", primitive->name, ", live outputs ", live, "\n", program->listing(), "\n");
  if (jvp_) out += text("jvp of ", primitive->name, "\n", jvp_->listing(), "\n");
  return out;
}

std::string show_rules(const std::string& primitive_name) {
  std::string out;
  for (const auto& [key, variants] : cache()[primitive(primitive_name).id])
    for (const auto& r : variants) out += r->listing();
  return out;
}

Value add(const Value& a, const Value& b) {
  static const Primitive& p = primitive("add");
  const Value* in[] = {&a, &b};
  return bind1(p, in);
}

Value conform(Value ct, const Meta& to, const Value* traced) {
  auto apply = [](const char* name, const Value& v, const Attrs& attrs = Attrs::none(),
                  std::span<const Size> sizes = {}) {
    const Value* in[] = {&v};
    return bind1(primitive(name), in, attrs, sizes);
  };
  if (is_complex(ct.t.dtype) && !is_complex(to.dtype)) ct = apply("real", ct);
  if (!(ct.t.shape() == to.shape)) {
    SmallVector<Size, 6> sizes;
    for (int k = 0; k < to.shape.size(); ++k)
      sizes.push_back(traced ? size_of(*traced, k) : Size{to.shape[k]});
    ct = apply("sum_to", ct, Attrs::none(), sizes);
  }
  if (ct.t.dtype != to.dtype) ct = apply("astype", ct, Attrs::intern({{static_cast<int64_t>(to.dtype)}}, 1));
  return ct;
}

Value conform_up(Value tangent, const Value& like) {
  if (tangent.t.dtype != like.t.dtype) {
    const Value* in[] = {&tangent};
    if (is_complex(tangent.t.dtype) && !is_complex(like.t.dtype)) {
      tangent = bind1(primitive("real"), in);
    }
    const Value* cast[] = {&tangent};
    tangent = bind1(primitive("astype"), cast, Attrs::intern({{static_cast<int64_t>(like.t.dtype)}}, 1));
  }
  if (tangent.t.shape() == like.t.shape()) return tangent;
  std::vector<int64_t> axes;
  int lead = like.t.ndim() - tangent.t.ndim();
  for (int i = 0; i < tangent.t.ndim(); ++i) axes.push_back(lead + i);
  SmallVector<Size, 6> sizes;
  for (int i = 0; i < like.t.ndim(); ++i) sizes.push_back(size_of(like, i));
  const Value* in[] = {&tangent};
  return bind1(primitive("broadcast_in_dim"), in, Attrs::intern({axes}), sizes);
}

}  // namespace tn
