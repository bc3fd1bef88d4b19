// Program: a graph made ready to run. Dead code is gone, every input is known to be unused, read for its
// shape only, or read; registers are freed after their last use. Two evaluators: on plain tensors, and
// through bind, where values may be tracked, dual or traced (which inlines the program into that trace).
#pragma once
#include "program/graph.h"

namespace tn {

class TileGroup;

enum class Use : uint8_t { None, Shape, Value };

struct Step {
  const Primitive* primitive;
  const Attrs* attrs;
  std::vector<int> in;
  std::vector<int> sizes;
  std::vector<int> dies;  // registers whose last use this is
  int out;
  uint32_t mask;
  bool shape_only;  // nobody reads what it computes: inference will do
  int source = -1;  // an index into the program's sources
  int home = 0;     // where it writes: registers of the run from here on, or ~i for output i of the program
};

class Program {
 public:
  Program() = default;
  // `outputs`: registers, or -1 for an output that is identically zero. `listed`: with a listing.
  Program(const Graph& g, std::vector<int> outputs, bool listed = true);

  Use input_use(int i) const { return input_use_[i]; }
  bool size_input_used(int i) const { return size_used_[i]; }
  int n_inputs() const { return static_cast<int>(input_use_.size()); }
  const std::vector<int>& outputs() const { return outputs_; }
  const std::vector<Step>& steps() const { return steps_; }
  const std::string& listing() const { return listing_; }
  bool constants_plain() const { return constants_plain_; }

  // Unused inputs may be null; inputs of use Shape need no data. Zero outputs stay default-constructed.
  void run(const Tensor* const* inputs, std::span<const int64_t> sizes, Tensor* out) const;
  void run(const Value* const* inputs, std::span<const Size> sizes, Value* out) const;

  // For transposition: every register of a run through bind, and the sizes of one of its steps.
  std::vector<Value> replay(std::span<const Value* const> inputs, std::span<const Size> sizes) const;
  std::vector<Size> step_sizes(const Step& s, std::span<const Value> registers,
                               std::span<const Size> sizes) const;

 private:
  template <class T, class N>
  struct Frame;
  void analyse(const Graph& g);
  void find_last_uses();
  void find_homes();
  void find_groups(const Graph& g);

  int n_registers_ = 0;
  int n_made_ = 0;  // registers that have no other home
  bool constants_plain_ = true;
  std::vector<Use> input_use_;
  std::vector<bool> size_used_;
  std::vector<Step> steps_;
  std::vector<std::shared_ptr<const TileGroup>> groups_;  // at the first step of each
  std::vector<SizeExpr> sizes_;
  std::vector<std::pair<int, Value>> constants_;
  std::vector<int> outputs_;
  std::vector<std::string> sources_;  // lines of the user's; empty for rules
  std::string listing_;
};

}  // namespace tn
