// Value: what Python calls a Tensor. A plain tensor, or one that a transform has wrapped:
//   Tracked  recorded on a tape (level 0: variables and backward(); above: grad and vjp)
//   Dual     carries a tangent (jvp)
//   Traced   a register of a graph that is being built
// Each grad, vjp, jvp and trace opens a level; an operation belongs to the highest level of its operands,
// and works there on inner values, which belong to lower levels. That is all there is to nesting.
#pragma once
#include "core/tensor.h"
#include "tape/node.h"

namespace tn {

struct Box;
struct Graph;

struct Value {
  enum class Kind : uint8_t { Plain, Tracked, Dual, Traced };

  Tensor t;        // shape and dtype always; data unless a graph is underneath
  Ref<Node> node;  // Tracked
  Ref<Box> box;    // Dual, Traced, and Tracked over a value that is not plain
  Kind kind = Kind::Plain;
  uint8_t out = 0;     // Tracked: which output of node
  int16_t level = -1;  // -1: plain
  uint32_t stamp = 0;  // which opening of that level

  Value() = default;
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

}  // namespace tn
