#include "tape/backward.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/local.h"
#include "kernels/elementwise.h"
#include "program/executable.h"
#include "tape/level.h"
#include "tape/rule.h"

namespace tn {
namespace {

// A node that waits, with the cotangents that have arrived at its outputs.
struct Slot {
  Ref<Node> node;
  uint32_t live = 0;
  Value first;                // of output 0
  std::vector<Value> others;  // of outputs 1...

  Value& at(int out) {
    if (out == 0) return first;
    if (static_cast<int>(others.size()) < out) others.resize(out);
    return others[out - 1];
  }
};

// The nodes that wait, latest first: a max-heap on ids, and a table from nodes to their slots (open
// addressing; removal shifts back what follows). Slots are used again, so that a chain needs one.
class Waiting {
 public:
  Waiting() : table_(16, -1) {}

  bool empty() const { return heap_.empty(); }

  // One that is empty; its memory is that of the last run that finished on this thread.
  static std::unique_ptr<Waiting> take() { return spare ? std::move(spare) : std::make_unique<Waiting>(); }
  static void give(std::unique_ptr<Waiting> w) {
    if (w->empty() && w->slots_.size() <= kSpareSlots) spare = std::move(w);
  }

  // The slot of a node, which waits from now on.
  Slot& of(const Ref<Node>& node) {
    size_t i = place(*node);
    if (table_[i] >= 0) return slots_[table_[i]];
    int slot = vacant();
    slots_[slot].node = node;
    table_[i] = slot;
    heap_.emplace_back(node->id, slot);
    std::push_heap(heap_.begin(), heap_.end());
    if (2 * heap_.size() > table_.size()) grow();
    return slots_[slot];
  }

  Slot pop() {
    std::pop_heap(heap_.begin(), heap_.end());
    int slot = heap_.back().second;
    heap_.pop_back();
    remove(place(*slots_[slot].node));
    vacant_.push_back(slot);
    return std::exchange(slots_[slot], Slot());
  }

 private:
  size_t home(const Node& n) const { return (n.id * 0x9E3779B97F4A7C15ull >> 32) & (table_.size() - 1); }
  size_t after(size_t i) const { return (i + 1) & (table_.size() - 1); }
  const Node& node_at(size_t i) const { return *slots_[table_[i]].node; }

  size_t place(const Node& n) const {
    size_t i = home(n);
    while (table_[i] >= 0 && &node_at(i) != &n) i = after(i);
    return i;
  }

  void remove(size_t hole) {
    for (size_t i = after(hole); table_[i] >= 0; i = after(i)) {
      size_t mask = table_.size() - 1, reach = (i - home(node_at(i))) & mask;
      if (reach < ((i - hole) & mask)) continue;
      table_[hole] = table_[i];
      hole = i;
    }
    table_[hole] = -1;
  }

  int vacant() {
    if (vacant_.empty()) {
      slots_.emplace_back();
      return static_cast<int>(slots_.size()) - 1;
    }
    int slot = vacant_.back();
    vacant_.pop_back();
    return slot;
  }

  void grow() {
    table_.assign(2 * table_.size(), -1);
    for (const auto& [id, slot] : heap_) table_[place(*slots_[slot].node)] = slot;
  }

  static constexpr size_t kSpareSlots = 64;
  static TN_THREAD_LOCAL std::unique_ptr<Waiting> spare;

  std::vector<int> table_;
  std::vector<Slot> slots_;
  std::vector<int> vacant_;
  std::vector<std::pair<uint64_t, int>> heap_;
};

TN_THREAD_LOCAL std::unique_ptr<Waiting> Waiting::spare;

TN_THREAD_LOCAL bool running = false;
TN_THREAD_LOCAL const Graph* running_in = nullptr;

// A pass inside of a pass is refused, except in a trace that was opened since: a rule that is being written.
struct RunningScope {
  RunningScope() {
    if (running && running_in == open_trace())
      fail(ErrorKind::Runtime, "backward: called from inside a backward pass.");
    running = true;
    running_in = open_trace();
  }
  ~RunningScope() {
    running = outer_;
    running_in = outer_in_;
  }

 private:
  const bool outer_ = running;
  const Graph* const outer_in_ = running_in;
};

// State of a run lives here and not in the nodes: an exception leaves nothing behind.
class Run {
 public:
  Run(bool retain, std::span<const Ref<Node>> leaves)
      : retain_(retain), functional_(!leaves.empty()), waiting_(Waiting::take()) {
    results_.resize(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) targets_.push_back(leaves[i].get());
  }

  void seed(const Seed& s) { add(s.output->node, s.output->out, Value(s.cotangent)); }

  void go() {
    while (!waiting_->empty()) {
      Slot work = waiting_->pop();
      if (work.node->leaf) {
        deliver(*work.node, std::move(work.first));
      } else {
        step(work);
      }
    }
    Waiting::give(std::move(waiting_));
  }

  std::vector<Value> results() { return std::move(results_); }

 private:
  void add(const Ref<Node>& node, int out, Value&& ct) {
    const Meta& to = node->outs[out];
    if (!conforms(ct, to))
      ct = conform(std::move(ct), to, node->symbolic ? &node->symbolic->outs[out] : nullptr);
    Slot& slot = waiting_->of(node);
    Value& at = slot.at(out);
    if (slot.live >> out & 1) {
      accumulate(at, ct);
    } else {
      at = std::move(ct);
      slot.live |= 1u << out;
    }
  }

  // In place where nobody else holds the sum so far.
  static void accumulate(Value& into, const Value& ct) {
    if (into.plain() && ct.plain() && elementwise::add_inplace(into.t, ct.t)) return;
    into = tn::add(into, ct);
  }

  void deliver(Node& leaf, Value&& ct) {
    if (!functional_) {
      if (!leaf.grad) {
        leaf.grad = std::make_unique<Value>(std::move(ct));
      } else {
        accumulate(*leaf.grad, ct);
      }
      return;
    }
    for (size_t i = 0; i < targets_.size(); ++i)
      if (targets_[i] == &leaf) results_[i] = ct;
  }

  void check_saved(const Node& n) const {
    const char* name = n.rule ? n.rule->primitive->name : "a compiled function";
    if (n.released)
      fail(ErrorKind::Runtime, "backward: the saved values of ", name,
           " are gone after the first backward; pass retain_graph=True to it to go back again.");
    if (n.executable && !n.executable->is_current())
      fail(ErrorKind::Runtime,
           "backward: a tensor that a compiled function closed over was modified in place afterwards.");
    for (int k = 0; k < n.saved.size(); ++k)
      if (n.saved[k].t.storage && n.saved[k].t.storage->version != n.versions[k])
        fail(ErrorKind::Runtime, "backward: a value that ", name, " saved (", whose(n, k), "shape ",
             show(n.saved[k].t.shape()), ") was modified in place afterwards.");
  }

  static std::string whose(const Node& n, int k) {
    if (!n.rule) return "";
    const Residual& r = n.rule->residuals[k];
    return text(r.output ? "output " : "operand ", r.index, ", ");
  }

  void step(Slot& work) {
    Node& n = *work.node;
    check_saved(n);
    LineScope line(n.symbolic ? &n.symbolic->line : nullptr);
    if (n.executable) return step_executable(work);
    const Rule& rule = *n.rule;
    const Program& program = rule.vjp(work.live);
    const int n_out = rule.primitive->n_out;
    SmallVector<const Value*, 12> inputs;
    for (int i = 0; i < rule.n_in + n_out; ++i)
      inputs.push_back(rule.slot[i] < 0 ? nullptr : &n.saved[rule.slot[i]]);
    for (int j = 0; j < n_out; ++j) inputs.push_back(work.live >> j & 1 ? &work.at(j) : nullptr);
    if (all_plain(program, inputs)) {
      SmallVector<const Tensor*, 12> tensors;
      for (const Value* v : inputs) tensors.push_back(v ? &v->t : nullptr);
      SmallVector<Tensor, 3> cts(rule.n_in);
      program.run(tensors.begin(), n.sizes, cts.begin());
      leave(work, program, cts.begin());
    } else {
      SmallVector<Size, 8> sizes;
      if (n.symbolic)
        for (const Size& s : n.symbolic->sizes) sizes.push_back(s);
      else
        for (int64_t s : n.sizes) sizes.push_back({s});
      SmallVector<Value, 3> cts(rule.n_in);
      program.run(inputs.begin(), sizes, cts.begin());
      leave(work, program, cts.begin());
    }
  }

  // Its backward program takes what was saved, and a cotangent for each output.
  void step_executable(Slot& work) {
    Node& n = *work.node;
    const int n_out = n.outs.size();
    SmallVector<const Value*, 12> inputs;
    for (const Value& v : n.saved) inputs.push_back(&v);
    SmallVector<Value, 3> zeros(n_out);
    for (int j = 0; j < n_out; ++j) {
      bool live = work.live >> j & 1;
      if (!live) zeros[j] = Value(broadcast_view(scalar(n.outs[j].dtype, 0), n.outs[j].shape));
      inputs.push_back(live ? &work.at(j) : &zeros[j]);
    }
    Ref<Executable> executable = n.executable;
    SmallVector<Value, 3> cts(n.edges.size());
    executable->call(inputs, cts.begin());
    leave(work, executable->program, cts.begin());
  }

  // Plain values go through kernels; anything else through bind.
  static bool all_plain(const Program& program, std::span<const Value* const> inputs) {
    return program.constants_plain() &&
           std::all_of(inputs.begin(), inputs.end(), [](const Value* v) { return !v || v->plain(); });
  }

  // Hands the cotangents of the operands on, when what they were made of is gone.
  template <class T>
  void leave(Slot& work, const Program& program, T* cts) {
    Node& n = *work.node;
    if (!retain_) {
      n.saved.clear();
      n.released = true;
    }
    work.first = Value();
    for (int i = 0; i < n.edges.size(); ++i)
      if (n.edges[i].node && program.outputs()[i] >= 0)
        add(n.edges[i].node, n.edges[i].out, Value(std::move(cts[i])));
  }

  bool retain_, functional_;
  std::unique_ptr<Waiting> waiting_;
  std::vector<const Node*> targets_;
  std::vector<Value> results_;
};

}  // namespace

void backward(std::span<const Seed> seeds, bool retain) {
  RunningScope scope;
  Run run(retain, {});
  for (const Seed& s : seeds) run.seed(s);
  run.go();
}

std::vector<Value> pull(std::span<const Seed> seeds, std::span<const Ref<Node>> leaves, bool retain) {
  RunningScope scope;
  Run run(retain, leaves);
  for (const Seed& s : seeds) run.seed(s);
  run.go();
  return run.results();
}

}  // namespace tn
