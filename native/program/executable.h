// Executable: a compiled function. Called like a primitive: the operand of the highest level decides. Plain
// operands run its program; tracked ones record one node, whose backward is a executable again, so every
// order works; duals run the executable of its derivative; a trace inlines it.
#pragma once
#include "program/program.h"

namespace tn {

// The derivative of a executable with respect to the operands in `need` (one character each, '1' or '0').
struct Derived {
  std::string need;
  // Reverse: operands -> outputs, then residuals. Forward: operands, tangents of the needed -> outputs,
  // tangents.
  Ref<Executable> forward;
  // Residuals, then a cotangent of each output of floating-point dtype -> a cotangent for each operand.
  Ref<Executable> backward;
  int n_residuals = 0;
};

// What a trace says at some shapes of its inputs; without outputs that are identically zero.
struct Served {
  bool ok;
  std::vector<Meta> outs;
};

struct Executable {
  RefCount refs = 0;
  Ref<Graph> traced;                // what its sizes are checked on
  std::vector<int> traced_outputs;  // registers of it
  Program program;
  std::shared_ptr<void> source;  // the Python objects that it was made from: (traced, what runs)
  std::vector<std::unique_ptr<Derived>> pullbacks, pushforwards;

  static void destroy(Executable* r);

  int n_out() const { return static_cast<int>(program.outputs().size()); }
  // Outputs that are identically zero stay default-constructed.
  void call(std::span<const Value* const> in, Value* out);
  // Whether its trace serves operands of these shapes, and what comes out. Remembered.
  const Served& serve(std::span<const Dims* const> shapes);

 private:
  std::vector<int64_t> last_shapes_, shapes_;
  const Served* last_ = nullptr;
  std::unordered_map<std::string, Served> known_;
};

// Set by the bindings: differentiate a executable at the shapes of these operands.
extern Derived (*derive_pullback)(const Executable&, std::span<const Value* const> in,
                                  const std::string& need);
extern Derived (*derive_pushforward)(const Executable&, std::span<const Value* const> in,
                                     const std::string& need);

}  // namespace tn
