// The levels that are open on this thread, and no_grad.
#pragma once
#include "tape/value.h"

namespace tn {

// Opens a level above all others; its number is at least 1.
int open_level();
void close_level(int level);
int top_level();
uint32_t stamp_of(int level);
// Raises TracingError for a value that has outlived the transform that made it.
void require_live(const Value& v);

// The trace of a user's function that this thread is in, if any. What its function does with values of lower
// levels alone (closures) belongs to the trace too, so that it runs when the program does, or not at all.
Graph* open_trace();
// Returns the trace that was open before.
Graph* exchange_open_trace(Graph* g);

class LevelScope {
 public:
  LevelScope() : level(open_level()) {}
  ~LevelScope() { close_level(level); }
  LevelScope(const LevelScope&) = delete;
  LevelScope& operator=(const LevelScope&) = delete;
  const int level;
};

// no_grad: levels up to the ceiling do not record. The bindings keep it in a context variable and count the
// blocks that are open anywhere, so that nobody pays when there are none.
struct NoGrad {
  int blocks = 0;
  int (*ceiling)() = nullptr;  // -1 when this context is in no block
};
extern NoGrad no_grad;
// The value without recordings at levels up to the ceiling.
Value unrecorded(const Value& v, int ceiling);

// A tracked leaf over a value of a lower level.
Value track(const Value& v, int level);
// Operands one level down; operands of lower levels stay as they are.
struct Lowered {
  SmallVector<Value, 3> values;
  SmallVector<const Value*, 8> at;

  Lowered(std::span<const Value* const> in, int level);
};
// Saves a value in a node, for its shape only or with its data, and notes how often it was written to.
void keep(Node& node, Value&& v, bool with_data);
// Makes a value of a lower level output j of a node at this level.
void make_tracked(Value& v, const Ref<Node>& node, int j, int level);
Value make_dual(const Value& primal, const Value& tangent, int level);
bool at_level(const Value& v, Value::Kind kind, int level);

}  // namespace tn
