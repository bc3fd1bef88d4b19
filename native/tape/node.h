// One recorded primitive call, or a leaf. Nodes hold no Python objects.
#pragma once
#include <memory>
#include <vector>

#include "core/ref.h"
#include "core/tensor.h"

namespace tn {

struct Value;
struct Rule;
struct Node;

struct Edge {
  Ref<Node> node;  // null: this operand needs no cotangent
  int out = 0;
};

struct Node {
  RefCount refs = 0;
  bool released = false;  // its saved values are gone
  bool leaf = false;
  uint64_t id = 0;  // grows with every record: a node's parents have smaller ids
  const Rule* rule = nullptr;
  std::vector<Edge> edges;         // one per operand
  std::vector<Value> saved;        // in the order of rule->residuals
  std::vector<uint32_t> versions;  // of the saved storages, when they were saved
  std::vector<int64_t> sizes;      // dynamic integers of the call
  std::vector<Meta> outs;          // what a cotangent must conform to
  std::unique_ptr<Value> grad;     // leaf of level 0

  static Ref<Node> create();
  // Frees by a worklist: a chain of any length is freed without recursion.
  static void destroy(Node* n);
};

}  // namespace tn
