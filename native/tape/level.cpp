#include "tape/level.h"

#include <utility>
#include <vector>

#include "core/error.h"
#include "core/local.h"
#include "tape/bind.h"

namespace tn {

NoGrad no_grad;

namespace {
TN_THREAD_LOCAL std::vector<uint32_t> open_levels{0};  // stamps; level 0 is always open
TN_THREAD_LOCAL uint32_t last_stamp = 0;
TN_THREAD_LOCAL Graph* innermost_trace = nullptr;
}  // namespace

Graph* open_trace() { return innermost_trace; }
Graph* exchange_open_trace(Graph* g) { return std::exchange(innermost_trace, g); }

int open_level() {
  open_levels.push_back(++last_stamp);
  return static_cast<int>(open_levels.size()) - 1;
}

void close_level(int level) { open_levels.resize(level); }
int top_level() { return static_cast<int>(open_levels.size()) - 1; }
uint32_t stamp_of(int level) { return open_levels[level]; }

void require_live(const Value& v) {
  if (v.level <= 0) return;
  if (v.level <= top_level() && open_levels[v.level] == v.stamp) return;
  fail(ErrorKind::Tracing, "a value of shape ", show(v.t.shape()),
       " has escaped from the grad, vjp, jvp or trace that made it; return it from the function instead.");
}

Value unrecorded(const Value& v, int ceiling) {
  Value at = v;
  while (at.kind == Value::Kind::Tracked && at.level <= ceiling) at = at.lower();
  return at;
}

bool at_level(const Value& v, Value::Kind kind, int level) {
  return v.kind == kind && v.level == level && v.stamp == stamp_of(level);
}

Value track(const Value& v, int level) {
  Value out(v.t);
  out.kind = Value::Kind::Tracked;
  out.level = static_cast<int16_t>(level);
  out.stamp = stamp_of(level);
  out.node = Node::create();
  out.node->leaf = true;
  out.node->outs.push_back({v.t.dtype, v.t.shape()});
  if (!v.plain()) {
    out.box = Ref<Box>(new Box);
    out.box->inner = v;
    if (graph_under(v)) out.node->symbolic.reset(new Symbolic{{v}, {}, {}});
  }
  return out;
}

Value make_dual(const Value& primal, const Value& tangent, int level) {
  Value out(primal.t);
  out.kind = Value::Kind::Dual;
  out.level = static_cast<int16_t>(level);
  out.stamp = stamp_of(level);
  out.box = Ref<Box>(new Box);
  out.box->inner = primal;
  out.box->tangent = tangent;
  return out;
}

Lowered::Lowered(std::span<const Value* const> in, int level) : values(static_cast<int>(in.size())) {
  for (int i = 0; i < values.size(); ++i) {
    bool mine = in[i]->level == level && !in[i]->plain();
    if (mine) values[i] = in[i]->lower();
    at.push_back(mine ? &values[i] : in[i]);
  }
}

void keep(Node& node, Value&& v, bool with_data) {
  if (!with_data && v.plain()) {
    v.t.storage.reset();
    v.t.data = nullptr;
  }
  node.versions.push_back(v.t.storage ? v.t.storage->version : 0);
  node.saved.push_back(std::move(v));
}

void make_tracked(Value& v, const Ref<Node>& node, int j, int level) {
  if (!v.plain()) {
    Value inner = std::move(v);
    v = Value(inner.t);
    v.box = Ref<Box>(new Box);
    v.box->inner = std::move(inner);
  }
  v.kind = Value::Kind::Tracked;
  v.node = node;
  v.out = static_cast<uint8_t>(j);
  v.level = static_cast<int16_t>(level);
  v.stamp = stamp_of(level);
}

}  // namespace tn
