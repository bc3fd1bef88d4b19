// Which provider serves which routine: a choice for the process, and one for a block of one thread's code.
#pragma once
#include <string>
#include <vector>

#include "providers/provider.h"

namespace tn::providers {

// A provider per routine; null stands for the default. Matrix products of the library itself are native where
// that is faster, unless a provider was chosen for gemm; native_products makes all of them native.
struct Selection {
  Provider* of[kRoutines] = {};
  bool native_products = false;
  bool operator==(const Selection&) const = default;
};

// Loads a library, or finds it among those loaded; the first name stays. Safe to call without the GIL.
Provider* open(const std::string& name, const std::vector<std::string>& paths);
std::vector<Provider*> opened();

// The default is found by a hook, when the first call needs it.
struct Found {
  std::string name;
  std::vector<std::string> paths;
};
void set_default_finder(Found (*finder)());
Provider* default_provider();

// The scope that a choice in this thread changes: the block if there is one, else the process.
const Selection* selected();
void select(const Selection* selection);

// Selections live for ever and are equal only if they are the same.
const Selection* with_choice(const Selection* base, Provider* provider, const std::vector<Routine>& routines);
const Selection* with_native_products(const Selection* base);

// Begins a block with this selection in this thread; gives what end_block must put back.
const Selection* begin_block(const Selection* selection);
void end_block(const Selection* outer);

}  // namespace tn::providers
