// The backward engine.
#pragma once
#include <vector>

#include "tape/value.h"

namespace tn {

struct Seed {
  const Value* output;  // tracked
  Value cotangent;
};

// Propagates cotangents from the seeds and adds them to `grad` of every leaf that is reached.
void backward(std::span<const Seed> seeds, bool retain);
// The same for given leaves, whose cotangents are returned; default-constructed where none arrived.
std::vector<Value> pull(std::span<const Seed> seeds, std::span<const Ref<Node>> leaves, bool retain);

// While it lives, a run may begin inside of another: for the engine's own use, to differentiate programs.
class NestedRuns {
 public:
  NestedRuns();
  ~NestedRuns();

 private:
  bool outer_;
};

}  // namespace tn
