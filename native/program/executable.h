// Executable: a compiled function. Called like a primitive: the operand of the highest level decides. Plain
// operands run its program; tracked ones record one node, whose backward is an executable again, so every
// order works; duals run the executable of its derivative; a trace inlines it.
#pragma once
#include "program/program.h"
#include "program/signature.h"

namespace tn {

// The derivative of an executable with respect to the operands in `need` (one character each, '1' or '0').
struct Derived {
  std::string need;
  // Of the joint trace: operands, then cotangents of outputs or tangents of the needed.
  Signature sizes;
  // Reverse: operands -> outputs, then residuals. Forward: operands, tangents of the needed -> outputs,
  // tangents.
  Ref<Executable> forward;
  // Residuals, then a cotangent of each output of floating-point dtype -> a cotangent for each operand.
  Ref<Executable> backward;
  int n_residuals = 0;
};

struct Executable {
  RefCount refs = 0;
  Signature sizes;
  Program program;
  std::shared_ptr<void> source;  // the Python objects that it was made from: (traced, what runs)
  std::vector<std::shared_ptr<Derived>> pullbacks, pushforwards;  // the last used first

  static void destroy(Executable* r);

  int n_out() const { return static_cast<int>(program.outputs().size()); }
  // Outputs that are identically zero stay default-constructed.
  void call(std::span<const Value* const> in, Value* out);
  // Whether the constants of its trace are what they were when it was made.
  bool is_current() const;
  void note_constants();

 private:
  std::vector<uint32_t> versions_;  // of the storages of constants
};

// Set by the bindings: differentiate an executable at the shapes of these operands.
extern Derived (*derive_pullback)(const Executable&, std::span<const Value* const> in,
                                  const std::string& need);
extern Derived (*derive_pushforward)(const Executable&, std::span<const Value* const> in,
                                     const std::string& need);

}  // namespace tn
