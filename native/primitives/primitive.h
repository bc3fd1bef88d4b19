// The table of primitives: name -> inference + kernel.
#pragma once
#include <deque>
#include <string>

#include "core/error.h"
#include "core/tensor.h"
#include "primitives/attrs.h"

namespace tn {

// One call of a primitive, before its outputs exist.
struct Call {
  std::span<const Tensor* const> in;
  const Attrs& attrs;
  std::span<const int64_t> sizes;  // dynamic integers: shapes, offsets
  uint32_t mask;                   // outputs that are demanded, bit j for output j
  bool wants(int j) const { return mask >> j & 1; }
};

enum PrimitiveFlag : uint32_t {
  kElementwise = 1,  // broadcasts and promotes; the engine conforms cotangents and tangents
  kEffect = 2,       // kept by dead-code elimination; has no outputs
};

struct Primitive {
  const char* name;
  int n_in;  // -1: any number
  int n_out;
  // Writes dtype and shape of every output (hidden and undemanded ones too) from dtypes and shapes of the
  // operands; raises on operands that do not fit. Reads no data.
  void (*infer)(const Call&, Meta* out);
  // Allocates and fills the demanded outputs; leaves the others default-constructed. Outputs may be views
  // of operands. Copies no Tensor while unlocked (core/tensor.h).
  void (*kernel)(const Call&, Tensor* out);
  uint32_t flags = 0;
  uint32_t shape_only = 0;  // bit i: operand i is read for its shape only
  uint32_t hidden = 0;      // bit j: output j is a cache that only rules may name
  int id = -1;

  bool is(PrimitiveFlag f) const { return flags & f; }
};

constexpr int kMaxOutputs = 6;

// Registration happens once, when the module is loaded.
const Primitive& register_primitive(Primitive p);
const Primitive& primitive(const std::string& name);  // Error(Value) when there is none
const std::deque<Primitive>& primitives();

// Each file of primitives/ has one of these; module initialisation calls them all.
void register_elementwise();
void register_reductions();
void register_shape();
void register_indexing();
void register_creation();
void register_contraction();
void register_linalg();
void register_all();

}  // namespace tn
