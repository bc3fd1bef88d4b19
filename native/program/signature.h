// What a trace takes for granted about sizes, checked at others: the comparisons that it noted, and which
// axes of size 1 were broadcast by which call.
#pragma once
#include <string>
#include <unordered_map>

#include "program/graph.h"

namespace tn {

// Infers the shape of every register from those of the inputs. False where the trace does not serve: a
// comparison turns out otherwise, another axis is broadcast, or some call would fail.
bool serves(const Graph& traced, std::span<const Dims* const> inputs, std::vector<Meta>& registers);

// What a trace says at some shapes of its inputs: whether it serves, and the outputs that are not identically
// zero.
struct Served {
  bool ok;
  std::vector<Meta> outs;
};

// A trace that sizes are checked on, and the answers so far.
class Signature {
 public:
  Signature() = default;
  Signature(Ref<Graph> traced, std::vector<int> outputs)
      : traced_(std::move(traced)), outputs_(std::move(outputs)) {}
  const Served& serve(std::span<const Dims* const> shapes);
  const Graph& traced() const { return *traced_; }

 private:
  Ref<Graph> traced_;
  std::vector<int> outputs_;
  std::vector<int64_t> last_shapes_, shapes_;  // rank and dimensions, one operand after the other
  const Served* last_ = nullptr;
  std::unordered_map<std::string, Served> known_;
};

}  // namespace tn
