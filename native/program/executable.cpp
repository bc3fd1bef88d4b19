#include "program/executable.h"

#include <algorithm>

#include "core/error.h"
#include "tape/level.h"

namespace tn {

Derived (*derive_pullback)(const Executable&, std::span<const Value* const>, const std::string&) = nullptr;
Derived (*derive_pushforward)(const Executable&, std::span<const Value* const>, const std::string&) = nullptr;

namespace {

using Operands = std::span<const Value* const>;
using Values = SmallVector<Value, 4>;

constexpr int kMaxTracked = 32;     // outputs of one node
constexpr size_t kMaxDerived = 16;  // programs of derivatives in each direction

std::string needed(Operands in, int level) {
  std::string need;
  for (const Value* v : in) need += v->level == level && is_inexact(v->t.dtype) ? '1' : '0';
  return need;
}

void run_plain(const Executable& r, Operands in, Value* out) {
  SmallVector<const Tensor*, 16> tensors;
  for (const Value* v : in) tensors.push_back(&v->t);
  SmallVector<Tensor, 6> results(r.n_out());
  r.program.run(tensors.begin(), {}, results.begin());
  for (int i = 0; i < r.n_out(); ++i) out[i].t = std::move(results[i]);
}

void run_inline(const Executable& r, Operands in, Value* out) { r.program.run(in.data(), {}, out); }

using Derivations = std::vector<std::shared_ptr<Derived>>;

// The one that serves these shapes, of operands and of what the derivative takes beside them. It is shared,
// because others may make room for theirs while it runs.
std::shared_ptr<Derived> find(Derivations& known, const Executable& r, Operands in, const std::string& need,
                              decltype(derive_pullback) derive, std::span<const Dims* const> shapes) {
  for (auto d = known.begin(); d != known.end(); ++d) {
    if ((*d)->need != need || !(*d)->sizes.serve(shapes).ok) continue;
    std::rotate(known.begin(), d, d + 1);
    return known.front();
  }
  auto made = std::make_shared<Derived>(derive(r, in, need));
  if (known.size() >= kMaxDerived) known.pop_back();
  known.insert(known.begin(), made);
  return made;
}

using Shapes = SmallVector<const Dims*, 16>;

void add_shapes(Operands in, Shapes& shapes) {
  for (const Value* v : in) shapes.push_back(&v->t.shape());
}

std::shared_ptr<Derived> pullback_of(Executable& r, Operands in, const std::string& need) {
  Shapes shapes;
  add_shapes(in, shapes);
  for (const Meta& m : r.sizes.serve(shapes).outs)
    if (is_inexact(m.dtype)) shapes.push_back(&m.shape);
  return find(r.pullbacks, r, in, need, derive_pullback, shapes);
}

std::shared_ptr<Derived> pushforward_of(Executable& r, Operands in, const std::string& need) {
  Shapes shapes;
  add_shapes(in, shapes);
  for (size_t i = 0; i < in.size(); ++i)
    if (need[i] == '1') shapes.push_back(&in[i]->t.shape());
  return find(r.pushforwards, r, in, need, derive_pushforward, shapes);
}

void run_tracked(Executable& r, Operands in, Value* out, int level) {
  std::string need = needed(in, level);
  Lowered inner(in, level);
  if (need.find('1') == std::string::npos) return r.call(inner.at, out);
  const std::shared_ptr<Derived> held = pullback_of(r, inner.at, need);
  const Derived& d = *held;
  Values results(r.n_out() + d.n_residuals);
  d.forward->call(inner.at, results.begin());
  Ref<Node> node = Node::create();
  node->executable = d.backward;
  for (size_t i = 0; i < in.size(); ++i) {
    Edge& edge = node->edges.emplace_back();
    if (need[i] != '1') continue;
    edge.node = in[i]->node;
    edge.out = in[i]->out;
  }
  for (int k = 0; k < d.n_residuals; ++k)
    keep(*node, std::move(results[r.n_out() + k]), d.backward->program.input_use(k) == Use::Value);
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
  Lowered inner(in, level);
  if (need.find('1') == std::string::npos) return r.call(inner.at, out);
  const std::shared_ptr<Derived> held = pushforward_of(r, inner.at, need);
  const Derived& d = *held;
  for (size_t i = 0; i < in.size(); ++i)
    if (need[i] == '1') inner.at.push_back(&in[i]->box->tangent);
  Values results(2 * r.n_out());
  d.forward->call(inner.at, results.begin());
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

void Executable::note_constants() {
  versions_.clear();
  for (const auto& [reg, v] : sizes.traced().constants)
    versions_.push_back(v.t.storage ? v.t.storage->version : 0);
}

bool Executable::is_current() const {
  auto version = versions_.begin();
  for (const auto& [reg, v] : sizes.traced().constants)
    if (*version++ != (v.t.storage ? v.t.storage->version : 0)) return false;
  return true;
}

}  // namespace tn
