// Rule: the derivative of one primitive for one key (attributes, dtypes, ranks, which operands need a
// derivative, which outputs are demanded), traced once from Python into native programs.
#pragma once
#include <map>
#include <memory>

#include "program/program.h"

namespace tn {

// An operand or an output of a call that its derivative reads.
struct Residual {
  bool output;
  int index;
  Use use;
};

// The programs take [operands, outputs, cotangents or tangents] as inputs, absent ones as null.
struct Rule {
  const Primitive* primitive;
  const Attrs* attrs;
  int n_in;
  uint32_t need;          // operands
  uint32_t mask;          // outputs that are demanded
  uint32_t widened = 0;   // outputs that must be computed so that the rule can read them
  bool constant = false;  // not differentiable: outputs carry no derivative
  std::vector<Residual> residuals;
  std::vector<int> slot;  // of operand i, of output n_in + j: its place in residuals, or -1
  bool saves_sizes = false;

  // Cotangents of the needed operands from those of the outputs in `live`.
  const Program& vjp(uint32_t live) const;
  // Tangents of the demanded outputs from those of the needed operands.
  const Program& jvp() const;
  std::string listing() const;
  bool admits(std::span<const Tensor* const> in, std::span<const int64_t> sizes) const;
  // Repeats the comparisons that this rule relies on, so that a trace which the operands belong to keeps
  // them.
  void guard(std::span<const Value* const> in, std::span<const Size> sizes) const;

 private:
  friend const Rule& find_rule(const Primitive&, std::span<const Tensor* const>, const Attrs&,
                               std::span<const int64_t>, uint32_t, uint32_t);
  friend struct RuleBuilder;
  std::vector<Meta> operands_;  // of the trace: what later programs are traced with
  std::vector<int64_t> sizes_;
  std::vector<Guard> guards_;
  std::vector<SizeExpr> guard_sizes_;
  mutable std::map<uint32_t, std::unique_ptr<Program>> vjps_;
  mutable std::unique_ptr<Program> jvp_;
};

// Looks up the rule of a call, tracing it when the key is new. Raises NotImplementedError where the primitive
// has none.
const Rule& find_rule(const Primitive& p, std::span<const Tensor* const> in, const Attrs& attrs,
                      std::span<const int64_t> sizes, uint32_t need, uint32_t mask);

// What the bindings provide: runs the Python rule on traced values. A plain cotangent without data stands for
// zero. Returns false when the primitive is declared not differentiable; results stay default-constructed
// where the cotangent is zero.
struct RuleRequest {
  const Primitive& primitive;
  const Attrs& attrs;
  std::span<const Value> operands, outputs, cotangents;
  std::span<const Size> sizes;
  uint32_t need, live;
};
extern bool (*trace_rule)(const RuleRequest&, Value* results);

struct RuleStats {
  uint64_t rules, traces;
};
RuleStats rule_stats();
// The listings of every program traced for a primitive.
std::string show_rules(const std::string& primitive_name);

// Summation to a broadcast operand's shape, real part, cast: the one place where a cotangent meets its
// operand.
inline bool conforms(const Value& ct, const Meta& to) {
  return ct.t.dtype == to.dtype && ct.t.shape() == to.shape;
}
// `traced` is the operand where its sizes are symbolic, else null.
Value conform(Value cotangent, const Meta& to, const Value* traced = nullptr);
// The reverse for tangents: cast, then broadcast to the output.
Value conform_up(Value tangent, const Value& like);
Value add(const Value& a, const Value& b);

}  // namespace tn
