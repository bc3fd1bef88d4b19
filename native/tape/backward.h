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

}  // namespace tn
