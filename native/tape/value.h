// Value: what Python calls a Tensor. A plain tensor, or one that a transform has wrapped:
//   Tracked  recorded on a tape (level 0: variables and backward(); above: grad and vjp)
//   Dual     carries a tangent (jvp)
//   Traced   a register of a graph that is being built
// Each grad, vjp, jvp and trace opens a level; an operation belongs to the highest level of its operands,
// and works there on inner values, which belong to lower levels. That is all there is to nesting.
#pragma once
#include <memory>

#include "core/small_vector.h"
#include "core/tensor.h"

namespace tn {

struct Box;
struct Graph;
struct Node;
struct Executable;
struct Rule;
struct Symbolic;

struct Value {
  enum class Kind : uint8_t { Plain, Tracked, Dual, Traced };

  Tensor t;        // shape and dtype always; data unless a graph is underneath
  Ref<Node> node;  // Tracked
  Ref<Box> box;    // Dual, Traced, and Tracked over a value that is not plain
  Kind kind = Kind::Plain;
  uint8_t out = 0;     // Tracked: which output of node
  int16_t level = -1;  // -1: plain
  uint32_t stamp = 0;  // which opening of that level

  Value() {}  // not defaulted: Value() would then clear all of its bytes first
  explicit Value(Tensor tensor) : t(std::move(tensor)) {}

  bool plain() const { return kind == Kind::Plain; }
  const Value& inner() const;  // of a boxed value
  // The value one level down. Copies the tensor where the wrapped value is plain.
  Value lower() const;
};

struct Box {
  RefCount refs = 0;
  Value inner;             // Dual: the primal. Tracked: the value at the lower level.
  Value tangent;           // Dual
  Graph* graph = nullptr;  // Traced; the level keeps it alive
  int reg = -1;
  static void destroy(Box* b);
};

inline const Value& Value::inner() const { return box->inner; }

struct Edge {
  Ref<Node> node;  // null: this operand needs no cotangent
  int out = 0;
};

// One recorded primitive call, or a leaf. Nodes hold no Python objects.
struct Node {
  RefCount refs = 0;
  bool released = false;  // its saved values are gone
  bool leaf = false;
  uint64_t id = 0;                     // grows with every record: a node's parents have smaller ids
  const Rule* rule = nullptr;          // of a primitive call
  Ref<Executable> executable;          // of a call of a compiled function: its backward program
  SmallVector<Edge, 2> edges;          // one per operand
  SmallVector<Value, 2> saved;         // in the order of rule->residuals
  SmallVector<uint32_t, 2> versions;   // of the saved storages, when they were saved
  SmallVector<int64_t, 2> sizes;       // dynamic integers of the call
  SmallVector<Meta, 1> outs;           // what a cotangent must conform to
  std::unique_ptr<Symbolic> symbolic;  // where the level below is a trace
  std::unique_ptr<Value> grad;         // leaf of level 0

  Node();
  ~Node();
  static Ref<Node> create();
  // Frees by a worklist: a chain of any length is freed without recursion.
  static void destroy(Node* n);
  // Nodes come from a free list.
  static void* operator new(size_t bytes);
  static void operator delete(void* p, size_t bytes);
};

// The graph that this value, or a value it wraps, is a register of; null when there is none.
Graph* graph_under(const Value& v);

}  // namespace tn
