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
  keep,      // the same; b has room for kChainBlockBytes more
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
inline constexpr size_t kChainBlockBytes = 512;  // at most
inline constexpr int kChainOps = int(ChainOp::exp) + 1;

// b may be an operation on two operands itself; then the step is add, subtract, minus or multiply.
enum class ChainInner : uint8_t { none, multiply, add, subtract };

// What a step does, as a number: operation and inner operation, and whether the last operand is one element
// that meets every element.
constexpr uint8_t chain_code(ChainOp op, ChainInner inner, bool scalar) {
  if (inner == ChainInner::none) return uint8_t(2 * int(op) + scalar);
  return uint8_t(2 * (kChainOps + 3 * (int(op) - int(ChainOp::add)) + int(inner) - 1) + scalar);
}
constexpr uint8_t chain_code(ChainOp op) { return chain_code(op, ChainInner::none, false); }
inline constexpr int kChainCodes = chain_code(ChainOp::multiply, ChainInner::subtract, true) + 1;

struct ChainStep {
  uint8_t code;
  int slot, second;  // of b, or of the operands that it is made of
};

// Steps from `first` to an end over n elements; `at` has the address of every slot.
using ChainFn = void (*)(const ChainStep* first, char* const* at, size_t n);

}  // namespace tn
