#include "program/executable.h"

#include "core/error.h"
#include "program/signature.h"
#include "tape/level.h"

namespace tn {

Derived (*derive_pullback)(const Executable&, std::span<const Value* const>, const std::string&) = nullptr;
Derived (*derive_pushforward)(const Executable&, std::span<const Value* const>, const std::string&) = nullptr;

namespace {

using Operands = std::span<const Value* const>;
using Values = SmallVector<Value, 4>;
using Pointers = SmallVector<const Value*, 16>;

constexpr int kMaxTracked = 32;     // outputs of one node
constexpr size_t kMaxKnown = 4096;  // shapes remembered

std::string needed(Operands in, int level) {
  std::string need;
  for (const Value* v : in) need += v->level == level && is_inexact(v->t.dtype) ? '1' : '0';
  return need;
}

void lower(Operands in, int level, Values& values, Pointers& at) {
  values.resize(static_cast<int>(in.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    bool mine = in[i]->level == level && !in[i]->plain();
    if (mine) values[static_cast<int>(i)] = in[i]->lower();
    at.push_back(mine ? &values[static_cast<int>(i)] : in[i]);
  }
}

void run_plain(const Executable& r, Operands in, Value* out) {
  SmallVector<const Tensor*, 16> tensors;
  for (const Value* v : in) tensors.push_back(&v->t);
  SmallVector<Tensor, 6> results(r.n_out());
  r.program.run(tensors.begin(), {}, results.begin());
  for (int i = 0; i < r.n_out(); ++i) out[i].t = std::move(results[i]);
}

void run_inline(const Executable& r, Operands in, Value* out) { r.program.run(in.data(), {}, out); }

// `more`: the shapes of what the derivative takes beside the operands.
template <class More>
const Derived& find(std::vector<std::unique_ptr<Derived>>& known, const Executable& r, Operands in,
                    const std::string& need, decltype(derive_pullback) derive, More more) {
  SmallVector<const Dims*, 16> shapes;
  for (const Value* v : in) shapes.push_back(&v->t.shape());
  more(shapes);
  for (const auto& d : known)
    if (d->need == need && d->forward->serve(shapes).ok) return *d;
  known.push_back(std::make_unique<Derived>(derive(r, in, need)));
  return *known.back();
}

const Derived& pullback_of(Executable& r, Operands in, const std::string& need) {
  return find(r.pullbacks, r, in, need, derive_pullback, [&](SmallVector<const Dims*, 16>& shapes) {
    SmallVector<const Dims*, 16> operands;
    for (const Dims* d : shapes) operands.push_back(d);
    for (const Meta& m : r.serve(operands).outs)
      if (is_inexact(m.dtype)) shapes.push_back(&m.shape);
  });
}

const Derived& pushforward_of(Executable& r, Operands in, const std::string& need) {
  return find(r.pushforwards, r, in, need, derive_pushforward, [&](SmallVector<const Dims*, 16>& shapes) {
    for (size_t i = 0; i < in.size(); ++i)
      if (need[i] == '1') shapes.push_back(&in[i]->t.shape());
  });
}

void save(Node& node, const Executable& backward, const Value* residuals, int n) {
  for (int k = 0; k < n; ++k) {
    Value& v = node.saved.emplace_back(residuals[k]);
    if (backward.program.input_use(k) != Use::Value && v.plain()) {
      v.t.storage.reset();
      v.t.data = nullptr;
    }
    node.versions.push_back(v.t.storage ? v.t.storage->version : 0);
  }
}

void run_tracked(Executable& r, Operands in, Value* out, int level) {
  std::string need = needed(in, level);
  Values values;
  Pointers at;
  lower(in, level, values, at);
  if (need.find('1') == std::string::npos) return r.call(at, out);
  const Derived& d = pullback_of(r, at, need);
  Values results(r.n_out() + d.n_residuals);
  d.forward->call(at, results.begin());
  Ref<Node> node = Node::create();
  node->executable = d.backward;
  for (size_t i = 0; i < in.size(); ++i) {
    Edge& edge = node->edges.emplace_back();
    if (need[i] != '1') continue;
    edge.node = in[i]->node;
    edge.out = in[i]->out;
  }
  save(*node, *d.backward, results.begin() + r.n_out(), d.n_residuals);
  int n_tracked = 0;
  for (int j = 0; j < r.n_out(); ++j) {
    out[j] = std::move(results[j]);
    if (!is_inexact(out[j].t.dtype) || !(out[j].t.data || out[j].box)) continue;
    node->outs.push_back({out[j].t.dtype, out[j].t.shape()});
    make_tracked(out[j], node, n_tracked++, level);
  }
}

void run_dual(Executable& r, Operands in, Value* out, int level) {
  std::string need = needed(in, level);
  Values values;
  Pointers at;
  lower(in, level, values, at);
  if (need.find('1') == std::string::npos) return r.call(at, out);
  const Derived& d = pushforward_of(r, at, need);
  for (size_t i = 0; i < in.size(); ++i)
    if (need[i] == '1') at.push_back(&in[i]->box->tangent);
  Values results(2 * r.n_out());
  d.forward->call(at, results.begin());
  for (int j = 0; j < r.n_out(); ++j) {
    bool zero = d.forward->program.outputs()[r.n_out() + j] < 0;
    out[j] = zero ? std::move(results[j]) : make_dual(results[j], results[r.n_out() + j], level);
  }
}

}  // namespace

void Executable::destroy(Executable* r) { delete r; }

void Executable::call(Operands in, Value* out) {
  const Value* top = nullptr;
  for (const Value* v : in)
    if (v->level >= 0 && (!top || v->level > top->level)) top = v;
  if (!top && program.constants_plain()) return run_plain(*this, in, out);
  if (!top) return run_inline(*this, in, out);
  for (const Value* v : in) require_live(*v);
  int ceiling = no_grad.blocks ? no_grad.ceiling() : -1;
  bool records = top->kind == Value::Kind::Tracked && top->level > ceiling;
  bool wide = n_out() > kMaxTracked;
  if (Graph* g = open_trace(); g && g->level > top->level) return run_inline(*this, in, out);
  if (records && !wide) return run_tracked(*this, in, out, top->level);
  if (top->kind == Value::Kind::Dual && !wide) return run_dual(*this, in, out, top->level);
  run_inline(*this, in, out);
}

const Served& Executable::serve(std::span<const Dims* const> shapes) {
  shapes_.clear();
  for (const Dims* d : shapes) shapes_.insert(shapes_.end(), d->begin(), d->end());
  if (last_ && shapes_ == last_shapes_) return *last_;
  std::string key(reinterpret_cast<const char*>(shapes_.data()), shapes_.size() * sizeof(int64_t));
  auto it = known_.find(key);
  if (it == known_.end()) {
    std::vector<Meta> registers;
    Served served{serves(*traced, shapes, registers), {}};
    for (int r : traced_outputs)
      if (r >= 0) served.outs.push_back(registers[r]);
    if (known_.size() >= kMaxKnown) known_.clear();
    it = known_.emplace(std::move(key), std::move(served)).first;
  }
  last_shapes_ = shapes_;
  return *(last_ = &it->second);
}

}  // namespace tn
