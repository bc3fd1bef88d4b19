// What a trace takes for granted about sizes, checked at others: the comparisons that it noted, and which
// axes of size 1 were broadcast by which call.
#pragma once
#include "program/graph.h"

namespace tn {

// Infers the shape of every register from those of the inputs. False where the trace does not serve: a
// comparison turns out otherwise, another axis is broadcast, or some call would fail.
bool serves(const Graph& traced, std::span<const Dims* const> inputs, std::vector<Meta>& registers);

}  // namespace tn
