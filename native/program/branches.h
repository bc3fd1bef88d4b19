// Branch: one side of a `cond`. The primitive `cond` names two of them in its attributes, by number, and runs
// the one that its first operand chooses.
//
// Numbers are not used twice and branches live as long as the process: rules are cached by attributes for
// ever, and the programs of a rule name branches in turn.
#pragma once
#include "program/executable.h"

namespace tn {

struct Branch {
  static constexpr size_t kMost = 8;
  std::vector<Ref<Executable>> variants;  // each for the shapes that it serves; the last used first
  // What makes another variant for other shapes: a Python object. None for what a user's function wrote:
  // there the trace that the branch belongs to is made again.
  std::shared_ptr<void> recipe;
};

int add_branch(Branch branch);
// The variant for operands of these shapes. Raises where there is none and none can be made. Others make room
// for it later, so the caller holds it.
Ref<Executable> branch_for(int64_t id, std::span<const Tensor* const> operands);

// Variants of the branches that these, their derivatives, and branches of theirs name.
size_t count_variants(std::span<const Ref<Executable>> executables);

// At the end of the process, when nothing runs any more.
void forget_branches();

const Primitive& cond_primitive();
// Whether a call must be made even if nobody reads what it computes.
bool has_effect(const Primitive& p, const Attrs& attrs);

// Set by the bindings.
extern Ref<Executable> (*make_variant)(void* recipe, std::span<const Tensor* const> operands);

void register_branches();

}  // namespace tn
