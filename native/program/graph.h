// Graph: what a trace writes. Instructions in single assignment over registers, a table of sizes, guards.
#pragma once
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "tape/bind.h"

namespace tn {

// An integer that is computed from shapes before anything runs.
struct SizeExpr {
  enum class Op : uint8_t { Const, Input, Dim, Add, Sub, Mul, FloorDiv, Mod };
  Op op;
  int64_t a = 0;  // Const: the number. Input: which. Dim: the register. Else: an expression
  int64_t b = 0;  // Dim: the axis. Else: an expression
  bool computed() const { return op >= Op::Add; }
  friend bool operator==(const SizeExpr&, const SizeExpr&) = default;
};

// A comparison that a trace relied on.
struct Guard {
  enum class Relation : uint8_t { Eq, Lt, Le };
  Relation relation;
  int lhs, rhs;  // size expressions
  bool holds;
};
bool holds(Guard::Relation relation, int64_t a, int64_t b);

struct Instruction {
  const Primitive* primitive;
  const Attrs* attrs;
  std::vector<int> in;     // registers
  std::vector<int> sizes;  // size expressions
  int out;                 // the first of primitive->n_out registers
  uint32_t mask;
  int source = -1;  // where the call was written: an index into Graph::sources
};

struct Graph {
  RefCount refs = 0;
  std::vector<Meta> registers;  // dtype, and the shape in the trace
  std::vector<Instruction> instructions;
  std::vector<SizeExpr> sizes;
  std::vector<int64_t> size_hints;  // their values in the trace
  std::vector<std::pair<int, Value>> constants;
  std::vector<Guard> guards;
  std::vector<std::string> sources;  // "file:line"
  bool of_user = false;              // traces a user's function: notes sources, and lets sizes become numbers
  int n_inputs = 0;                  // registers 0..n_inputs-1
  int n_size_inputs = 0;
  int level = 0;
  uint32_t stamp = 0;

  static void destroy(Graph* g) { delete g; }

  Value add_input(const Meta& meta);  // before any instruction
  Size add_size_input(int64_t hint);
  // The register of a value; one that this graph did not make becomes a constant.
  int register_of(const Value& v);
  Size size(SizeExpr e, int64_t hint);
  // The expression of a number, or of a size of this graph or of one around it.
  int size_id(Size s);
  // Equal calls are written once.
  int emit(const Primitive& p, const Attrs& attrs, std::vector<int> in, std::vector<int> sizes, uint32_t mask,
           std::span<const Meta> outs);
  Value value(int reg) const;

 private:
  int adopt(const Graph& outer, int expr);
  std::unordered_map<std::string, int> written_;
  std::unordered_map<std::string, int> known_sizes_;
  std::unordered_map<std::string, int> scalars_;  // constants of no axes, by dtype and bytes
};

// The one that was opened last; either may be null.
Graph* inner(Graph* a, Graph* b);
// Whether both are one value, and not only equal ones.
bool same_value(const Value& a, const Value& b);

// Set by the bindings: the line of the user's that is being run, as "file:line".
extern std::string (*line_of_user)();
// The line that instructions written now come from: that of the scope, where there is one.
std::string line_of_trace();
class LineScope {
 public:
  explicit LineScope(const std::string* line);  // null: no other line than before
  ~LineScope();
  LineScope(const LineScope&) = delete;

 private:
  const std::string* outer_;
};

// Arithmetic and comparison of sizes; a comparison of symbolic sizes adds a guard.
Size combine(SizeExpr::Op op, Size a, Size b);
bool compare(Guard::Relation r, Size a, Size b);
int64_t evaluate(SizeExpr::Op op, int64_t a, int64_t b);
inline int64_t combine(SizeExpr::Op op, int64_t a, int64_t b) { return evaluate(op, a, b); }

// The values of expressions in a table, numbers or sizes of a trace, from those that are not computed. What
// is computed of computed ones is kept: a chain of doubled sizes has one value for each link, and a tree of
// 2^k.
template <class Leaf>
class SizeValues {
 public:
  using N = std::invoke_result_t<Leaf, int>;

  SizeValues(const std::vector<SizeExpr>& table, Leaf leaf) : table_(table), leaf_(std::move(leaf)) {}
  N operator()(int expr) {
    const SizeExpr& e = table_[expr];
    if (!e.computed()) return leaf_(expr);
    const int a = static_cast<int>(e.a), b = static_cast<int>(e.b);
    if (!table_[a].computed() && !table_[b].computed()) return combine(e.op, leaf_(a), leaf_(b));
    if (known_.empty()) known_.resize(table_.size());
    if (!known_[expr]) known_[expr] = combine(e.op, (*this)(a), (*this)(b));
    return *known_[expr];
  }

 private:
  const std::vector<SizeExpr>& table_;
  Leaf leaf_;
  std::vector<std::optional<N>> known_;
};

// Visits what an expression is computed from. Each expression is visited once for each stamp, which `seen`
// has where it was.
template <class Visit>
void visit_leaves(const std::vector<SizeExpr>& table, int expr, std::vector<int>& seen, int stamp,
                  const Visit& visit) {
  if (std::exchange(seen[expr], stamp) == stamp) return;
  const SizeExpr& e = table[expr];
  if (!e.computed()) return visit(e);
  visit_leaves(table, static_cast<int>(e.a), seen, stamp, visit);
  visit_leaves(table, static_cast<int>(e.b), seen, stamp, visit);
}

// One instruction per line, with sizes and constants.
std::string show(const Graph& g, std::span<const int> outputs);

}  // namespace tn
