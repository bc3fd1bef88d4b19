#include "program/program.h"

#include "core/error.h"
#include "core/small_vector.h"
#include "program/branches.h"
#include "program/progress.h"
#include "program/tiles.h"

namespace tn {

Program::Program(const Graph& g, std::vector<int> outputs, bool listed)
    : n_registers_(static_cast<int>(g.registers.size())),
      sizes_(g.sizes),
      outputs_(std::move(outputs)),
      sources_(g.sources) {
  size_used_.assign(g.n_size_inputs, false);
  if (listed) listing_ = show(g, outputs_);
  analyse(g);
  find_last_uses();
  find_homes();
  find_groups(g);
}

// Backwards: who is used, and how; instructions that nobody needs are dropped.
void Program::analyse(const Graph& g) {
  std::vector<Use> use(n_registers_, Use::None);
  for (int r : outputs_)
    if (r >= 0) use[r] = Use::Value;
  std::vector<int> seen(sizes_.size());
  auto mark = [&](const SizeExpr& e) {
    if (e.op == SizeExpr::Op::Input) size_used_[e.a] = true;
    if (e.op == SizeExpr::Op::Dim) use[e.a] = std::max(use[e.a], Use::Shape);
  };
  for (auto it = g.instructions.rbegin(); it != g.instructions.rend(); ++it) {
    const Primitive& p = *it->primitive;
    uint32_t mask = 0;
    Use most = has_effect(p, *it->attrs) ? Use::Value : Use::None;
    for (int j = 0; j < p.n_out; ++j) {
      most = std::max(most, use[it->out + j]);
      if (use[it->out + j] != Use::None) mask |= 1u << j;
    }
    if (most == Use::None) continue;
    bool shape_only = most == Use::Shape;
    for (size_t i = 0; i < it->in.size(); ++i) {
      bool by_shape = shape_only || (i < 32 && p.shape_only >> i & 1);
      Use& u = use[it->in[i]];
      u = std::max(u, by_shape ? Use::Shape : Use::Value);
    }
    for (int s : it->sizes) visit_leaves(sizes_, s, seen, 1, mark);
    steps_.push_back(
        {&p, it->attrs, it->in, it->sizes, {}, it->out, mask & it->mask, shape_only, it->source});
  }
  std::reverse(steps_.begin(), steps_.end());
  input_use_.assign(use.begin(), use.begin() + g.n_inputs);
  for (const auto& [reg, value] : g.constants) {
    if (use[reg] == Use::None) continue;
    constants_.emplace_back(reg, value);
    constants_plain_ &= value.plain();
  }
}

void Program::find_last_uses() {
  std::vector<int> last(n_registers_, -1);
  std::vector<int> made(n_registers_, -1);
  std::vector<int> seen(sizes_.size(), -1);
  for (int s = 0; s < static_cast<int>(steps_.size()); ++s) {
    for (int r : steps_[s].in) last[r] = s;
    auto touch = [&](const SizeExpr& e) {
      if (e.op == SizeExpr::Op::Dim) last[e.a] = s;
    };
    for (int e : steps_[s].sizes) visit_leaves(sizes_, e, seen, s, touch);
    for (int j = 0; j < steps_[s].primitive->n_out; ++j) made[steps_[s].out + j] = s;
  }
  for (int r : outputs_)
    if (r >= 0) last[r] = -1;
  for (int r = 0; r < n_registers_; ++r)
    if (made[r] >= 0 && last[r] >= 0) steps_[last[r]].dies.push_back(r);
}

// A single result that is an output of the program is made where the caller wants it.
void Program::find_homes() {
  for (Step& s : steps_) {
    auto at = std::find(outputs_.begin(), outputs_.end(), s.out);
    if (s.primitive->n_out == 1 && at != outputs_.end()) {
      s.home = ~static_cast<int>(at - outputs_.begin());
    } else {
      s.home = n_made_;
      n_made_ += s.primitive->n_out;
    }
  }
}

void Program::find_groups(const Graph& g) {
  groups_.resize(steps_.size());
  for (size_t k = 0; k < steps_.size();) {
    groups_[k] = TileGroup::compile(steps_, k, g.registers, sizes_);
    k += groups_[k] ? groups_[k]->n_steps() : 1;
  }
}

namespace {

int64_t dim(const Tensor& t, int axis, int64_t*) { return t.shape()[axis]; }
Size dim(const Value& v, int axis, Size*) { return size_of(v, axis); }

// The sizes of one run. `registers` gives a pointer to each.
template <class N, class Registers>
auto sizes_of_run(const std::vector<SizeExpr>& table, std::span<const N> inputs, Registers registers) {
  return SizeValues(table, [&table, inputs, registers](int expr) -> N {
    const SizeExpr& e = table[expr];
    if (e.op == SizeExpr::Op::Const) return N{e.a};
    if (e.op == SizeExpr::Op::Input) return inputs[e.a];
    return dim(*registers(static_cast<int>(e.a)), static_cast<int>(e.b), static_cast<N*>(nullptr));
  });
}

void infer_step(const Step& s, std::span<const Tensor* const> in, std::span<const int64_t> sizes,
                Tensor* out) {
  Meta metas[kMaxOutputs];
  s.primitive->infer(Call{in, *s.attrs, sizes, s.mask}, metas);
  for (int j = 0; j < s.primitive->n_out; ++j) {
    out[j].dtype = metas[j].dtype;
    out[j].layout = Layout::c_contiguous(metas[j].shape);
  }
}

void execute(const Step& s, std::span<const Tensor* const> in, std::span<const int64_t> sizes, Tensor* out) {
  if (s.shape_only) return infer_step(s, in, sizes, out);
  s.primitive->kernel(Call{in, *s.attrs, sizes, s.mask}, out);
}

bool in_a_graph(std::span<const Value* const> in, std::span<const Size> sizes) {
  return std::any_of(in.begin(), in.end(), [](const Value* v) { return graph_under(*v) != nullptr; }) ||
         std::any_of(sizes.begin(), sizes.end(), [](const Size& n) { return n.graph != nullptr; });
}

void infer_step(const Step& s, std::span<const Value* const> in, std::span<const Size> sizes, Value* out) {
  SmallVector<const Tensor*, 8> tensors;
  for (const Value* v : in) tensors.push_back(&v->t);
  SmallVector<int64_t, 8> numbers;
  for (const Size& n : sizes) numbers.push_back(n.value);
  Tensor results[kMaxOutputs];
  infer_step(s, tensors, numbers, results);
  for (int j = 0; j < s.primitive->n_out; ++j) out[j] = Value(std::move(results[j]));
}

void execute(const Step& s, std::span<const Value* const> in, std::span<const Size> sizes, Value* out) {
  if (s.shape_only && !in_a_graph(in, sizes)) return infer_step(s, in, sizes, out);
  bind(*s.primitive, in, *s.attrs, sizes, s.mask, out);
}

const Tensor* constant(const Value& v, const Tensor*) { return &v.t; }
const Value* constant(const Value& v, const Value*) { return &v; }

}  // namespace

// The registers of one run: pointers to inputs, constants and the values made so far.
template <class T, class N>
struct Program::Frame {
  SmallVector<const T*, 48> at;
  SmallVector<T, 6> made;

  Frame(const Program& p, const T* const* inputs) : made(p.n_made_) {
    at.resize(p.n_registers_);
    std::copy(inputs, inputs + p.n_inputs(), at.begin());
    for (const auto& [reg, value] : p.constants_) at[reg] = constant(value, static_cast<const T*>(nullptr));
  }

  void run(const Program& p, std::span<const N> size_inputs, T* out) {
    auto size_of = sizes_of_run(p.sizes_, size_inputs, [this](int r) { return at[r]; });
    for (size_t k = 0; k < p.steps_.size();) {
      if (p.groups_[k] && run_group(p, *p.groups_[k], &p.steps_[k], out)) {
        k += p.groups_[k]->n_steps();
        continue;
      }
      const Step& s = p.steps_[k++];
      if (s.source < 0) {
        step(s, size_of, out);
      } else {
        located_step(p, s, size_of, out);
      }
    }
    give(p, out);
  }

  T* home_of(const Step& s, T* out) { return s.home >= 0 ? made.begin() + s.home : out + ~s.home; }

  template <class SizeOf>
  void step(const Step& s, SizeOf& size_of, T* out) {
    SmallVector<const T*, 8> in;
    for (int r : s.in) in.push_back(at[r]);
    SmallVector<N, 8> sizes;
    for (int e : s.sizes) sizes.push_back(size_of(e));
    T* home = home_of(s, out);
    execute(s, in, sizes, home);
    for (int j = 0; j < s.primitive->n_out; ++j) at[s.out + j] = home + j;
    for (int r : s.dies) *const_cast<T*>(at[r]) = T();
  }

  // With the user's line, for errors, warnings and observers.
  template <class SizeOf>
  void located_step(const Program& p, const Step& s, SizeOf& size_of, T* out) {
    const std::string& line = p.sources_[s.source];
    progress::Instruction running(s.primitive->name, line);
    LineScope inlined(&line);
    try {
      step(s, size_of, out);
    } catch (const Error& e) {
      if (s.primitive == &cond_primitive()) throw;  // its branch knows the line
      throw Error(e.kind, text(e.what(), " (In a compiled function, at ", line, ".)"));
    }
  }

  // The group whose first step this is; false where it does not run as one.
  bool run_group(const Program& p, const TileGroup& g, const Step* first, T* out)
    requires std::is_same_v<T, Tensor>
  {
    SmallVector<const T*, 8> in;
    for (int r : g.inputs()) in.push_back(at[r]);
    SmallVector<T*, 8> homes;
    for (int k : g.output_steps()) homes.push_back(home_of(first[k], out));
    if (!(first->source < 0 ? g.run(in, homes.begin()) : located_run(p, g, *first, in, homes.begin())))
      return false;
    for (int i = 0; i < homes.size(); ++i) at[g.outputs()[i]] = homes[i];
    for (int r : g.dies()) *const_cast<T*>(at[r]) = T();
    return true;
  }
  bool located_run(const Program& p, const TileGroup& g, const Step& first, std::span<const T* const> in,
                   T* const* homes)
    requires std::is_same_v<T, Tensor>
  {
    progress::Instruction running(g.n_steps() == 1 ? first.primitive->name : "group",
                                  p.sources_[first.source]);
    const bool ran = g.run(in, homes);
    if (!ran) running.forget();
    return ran;
  }
  // Values may be tracked: each step by itself.
  bool run_group(const Program&, const TileGroup&, const Step*, T*) { return false; }

  bool is_mine(const T* t) const { return t >= made.begin() && t < made.end(); }

  // Outputs that were not made in place: values made here are moved out at their last mention, others copied.
  void give(const Program& p, T* out) {
    for (size_t i = 0; i < p.outputs_.size(); ++i) {
      int r = p.outputs_[i];
      if (r < 0 || at[r] == out + i) continue;
      bool again = std::find(p.outputs_.begin() + i + 1, p.outputs_.end(), r) != p.outputs_.end();
      if (is_mine(at[r]) && !again) {
        out[i] = std::move(*const_cast<T*>(at[r]));
      } else {
        out[i] = *at[r];
      }
    }
  }
};

void Program::run(const Tensor* const* inputs, std::span<const int64_t> sizes, Tensor* out) const {
  Frame<Tensor, int64_t>(*this, inputs).run(*this, sizes, out);
}

void Program::run(const Value* const* inputs, std::span<const Size> sizes, Value* out) const {
  Frame<Value, Size>(*this, inputs).run(*this, sizes, out);
}

std::vector<Size> Program::step_sizes(const Step& s, std::span<const Value> registers,
                                      std::span<const Size> sizes) const {
  auto size_of = sizes_of_run(sizes_, sizes, [registers](int r) { return &registers[r]; });
  std::vector<Size> out;
  for (int e : s.sizes) out.push_back(size_of(e));
  return out;
}

std::vector<Value> Program::replay(std::span<const Value* const> inputs, std::span<const Size> sizes) const {
  std::vector<Value> at(n_registers_);
  for (size_t i = 0; i < inputs.size(); ++i) at[i] = *inputs[i];
  for (const auto& [reg, value] : constants_) at[reg] = value;
  for (const Step& s : steps_) {
    if (s.primitive->is(kEffect)) continue;
    std::vector<const Value*> in;
    for (int r : s.in) in.push_back(&at[r]);
    std::vector<Size> numbers = step_sizes(s, at, sizes);
    bind(*s.primitive, in, *s.attrs, numbers, s.mask, &at[s.out]);
  }
  return at;
}

}  // namespace tn
