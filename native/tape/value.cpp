#include "tape/value.h"

#include <vector>

#include "core/pool.h"
#include "program/executable.h"

namespace tn {

Node::Node() = default;
Node::~Node() = default;

void* Node::operator new(size_t bytes) { return pool::take(bytes); }
void Node::operator delete(void* p, size_t bytes) { pool::give(p, bytes); }

Graph* graph_under(const Value& v) {
  const Value* at = &v;
  while (at->kind != Value::Kind::Traced) {
    if (!at->box) return nullptr;
    at = &at->box->inner;
  }
  return at->box->graph;
}

Value Value::lower() const { return box ? box->inner : Value(t); }

void Box::destroy(Box* b) { delete b; }

Ref<Node> Node::create() {
  static uint64_t next_id = 0;
  auto* n = new Node;
  n->id = ++next_id;
  return Ref<Node>(n);
}

void Node::destroy(Node* n) {
  static auto& doomed = *new std::vector<Node*>;  // under the interpreter lock, like every node
  static bool draining = false;
  doomed.push_back(n);
  if (draining) return;
  draining = true;
  while (!doomed.empty()) {
    Node* next = doomed.back();
    doomed.pop_back();
    delete next;  // its edges and saved values may add to the list
  }
  draining = false;
}

}  // namespace tn
