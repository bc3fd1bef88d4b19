#include "tape/backward.h"

#include <algorithm>

#include "core/error.h"
#include "core/local.h"
#include "kernels/elementwise.h"
#include "tape/level.h"
#include "tape/rule.h"

namespace tn {
namespace {

// Which slot of a run belongs to a node: open addressing on the pointer.
class SlotTable {
 public:
  SlotTable() : keys_(64, nullptr), slots_(64) {}
  // The slot of the node, or `fresh` which then becomes it.
  int find_or_add(const Node* n, int fresh) {
    if (2 * (used_ + 1) > keys_.size()) grow();
    size_t i = place(n);
    if (keys_[i]) return slots_[i];
    keys_[i] = n;
    slots_[i] = fresh;
    ++used_;
    return fresh;
  }

 private:
  size_t place(const Node* n) const {
    size_t i = (n->id * 0x9E3779B97F4A7C15ull >> 20) & (keys_.size() - 1);
    while (keys_[i] && keys_[i] != n) i = (i + 1) & (keys_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<const Node*> keys(2 * keys_.size(), nullptr);
    std::vector<int> slots(keys.size());
    keys.swap(keys_);
    slots.swap(slots_);
    for (size_t k = 0; k < keys.size(); ++k) {
      if (!keys[k]) continue;
      size_t i = place(keys[k]);
      keys_[i] = keys[k];
      slots_[i] = slots[k];
    }
  }
  std::vector<const Node*> keys_;
  std::vector<int> slots_;
  size_t used_ = 0;
};

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

TN_THREAD_LOCAL bool running = false;

struct RunningScope {
  RunningScope() {
    if (running) fail(ErrorKind::Runtime, "backward: called from inside a backward pass.");
    running = true;
  }
  ~RunningScope() { running = false; }
};

// State of a run lives here and not in the nodes: an exception leaves nothing behind.
class Run {
 public:
  Run(bool retain, std::span<const Ref<Node>> leaves) : retain_(retain), functional_(!leaves.empty()) {
    results_.resize(leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) targets_.push_back(leaves[i].get());
  }

  void seed(const Seed& s) { add(s.output->node, s.output->out, s.cotangent); }

  void go() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      int slot = heap_.back().second;
      heap_.pop_back();
      Slot work = std::move(slots_[slot]);
      if (work.node->leaf) {
        deliver(*work.node, std::move(work.first));
      } else {
        step(work);
      }
    }
  }

  std::vector<Value> results() { return std::move(results_); }

 private:
  void add(const Ref<Node>& node, int out, Value ct) {
    ct = conform(std::move(ct), node->outs[out]);
    int fresh = static_cast<int>(slots_.size());
    int i = table_.find_or_add(node.get(), fresh);
    if (i == fresh) {
      slots_.emplace_back();
      slots_[i].node = node;
      heap_.emplace_back(node->id, i);
      std::push_heap(heap_.begin(), heap_.end());
    }
    Slot& slot = slots_[i];
    Value& at = slot.at(out);
    if (slot.live >> out & 1) {
      accumulate(at, std::move(ct));
    } else {
      at = std::move(ct);
      slot.live |= 1u << out;
    }
  }

  // In place where nobody else holds the sum so far.
  static void accumulate(Value& into, Value ct) {
    if (into.plain() && ct.plain() && elementwise::add_inplace(into.t, ct.t)) return;
    into = tn::add(into, ct);
  }

  void deliver(Node& leaf, Value ct) {
    if (!functional_) {
      if (!leaf.grad) {
        leaf.grad = std::make_unique<Value>(std::move(ct));
      } else {
        accumulate(*leaf.grad, std::move(ct));
      }
      return;
    }
    for (size_t i = 0; i < targets_.size(); ++i)
      if (targets_[i] == &leaf) results_[i] = ct;
  }

  void check_saved(const Node& n) const {
    const char* name = n.rule->primitive->name;
    if (n.released)
      fail(ErrorKind::Runtime, "backward: the saved values of ", name,
           " are gone after the first backward; pass retain_graph=True to it to go back again.");
    for (int k = 0; k < n.saved.size(); ++k)
      if (n.saved[k].t.storage && n.saved[k].t.storage->version != n.versions[k])
        fail(ErrorKind::Runtime, "backward: a value that ", name, " saved (",
             n.rule->residuals[k].output ? "output " : "operand ", n.rule->residuals[k].index, ", shape ",
             show(n.saved[k].t.shape()), ") was modified in place afterwards.");
  }

  void step(Slot& work) {
    Node& n = *work.node;
    check_saved(n);
    const Rule& rule = *n.rule;
    const Program& program = rule.vjp(work.live);
    int n_out = rule.primitive->n_out;
    SmallVector<const Value*, 12> inputs;
    for (int i = 0; i < rule.n_in + n_out; ++i)
      inputs.push_back(rule.slot[i] < 0 ? nullptr : &n.saved[rule.slot[i]]);
    for (int j = 0; j < n_out; ++j) inputs.push_back(work.live >> j & 1 ? &work.at(j) : nullptr);
    SmallVector<Value, 3> cts(rule.n_in);
    evaluate(program, inputs, n.sizes, cts.begin());
    if (!retain_) {
      n.saved.clear();
      n.released = true;
    }
    work.first = Value();
    for (int i = 0; i < rule.n_in; ++i)
      if (n.edges[i].node && program.outputs()[i] >= 0)
        add(n.edges[i].node, n.edges[i].out, std::move(cts[i]));
  }

  // Plain values go through kernels; anything else through bind.
  static void evaluate(const Program& program, std::span<const Value* const> inputs,
                       std::span<const int64_t> sizes, Value* out) {
    bool plain = program.constants_plain();
    for (const Value* v : inputs) plain &= !v || v->plain();
    if (!plain) {
      SmallVector<Size, 8> numbers;
      for (int64_t s : sizes) numbers.push_back({s});
      return program.run(inputs.data(), numbers, out);
    }
    SmallVector<const Tensor*, 12> tensors;
    for (const Value* v : inputs) tensors.push_back(v ? &v->t : nullptr);
    SmallVector<Tensor, 3> results(static_cast<int>(program.outputs().size()));
    program.run(tensors.begin(), sizes, results.begin());
    for (int i = 0; i < results.size(); ++i) out[i] = Value(std::move(results[i]));
  }

  bool retain_, functional_;
  SlotTable table_;
  std::vector<Slot> slots_;
  std::vector<std::pair<uint64_t, int>> heap_;
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
