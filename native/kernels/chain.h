// Chains: elementwise operations of which each takes the result of the one before, which so stays in a
// register. Part of the table of kernels, and like it without the standard library.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace tn {

// On the result so far, y, and an operand b at a slot.
enum class ChainOp : uint8_t {
  end,       // after the last step
  load,      // y = b: the first step
  store,     // b = y
  sum,       // b = the sum of y over all elements; at most one
  add,       // y + b
  subtract,  // y - b
  minus,     // b - y
  multiply,  // y * b
  divide,    // y / b
  divides,   // b / y
  square,    // from here on without b
  negative,
  abs,
  sqrt,
  exp
};
inline constexpr int kChainOps = int(ChainOp::exp) + 1;

struct ChainStep {
  ChainOp op;
  bool scalar;  // b is one element that meets every element
  int slot;
};

// Steps from `first` to an end over n elements; `at` has the address of every slot.
using ChainFn = void (*)(const ChainStep* first, char* const* at, size_t n);

}  // namespace tn
