// A check of a provider on this machine: each routine that decomposes or multiplies runs on a small matrix of
// every type, and is judged by its residual.
#pragma once
#include <string>
#include <vector>

namespace tn::providers {

struct Check {
  std::string routine;
  char type;
  double residual;  // relative, in units of the unit round-off
};

// With the providers selected in this thread.
std::vector<Check> run_checks(int64_t n);

// Empty if a gemm with a dimension of 2^31 is accepted (ILP64), else the message that refuses it.
std::string large_dimension_message();

}  // namespace tn::providers
