#include "primitives/primitive.h"

#include <unordered_map>

namespace tn {
namespace {
std::deque<Primitive> table;
std::unordered_map<std::string, const Primitive*> by_name;
}  // namespace

const Primitive& register_primitive(Primitive p) {
  p.id = static_cast<int>(table.size());
  table.push_back(p);
  by_name[p.name] = &table.back();
  return table.back();
}

const Primitive& primitive(const std::string& name) {
  auto it = by_name.find(name);
  if (it == by_name.end()) fail(ErrorKind::Value, "there is no primitive named '", name, "'.");
  return *it->second;
}

const std::deque<Primitive>& primitives() { return table; }

}  // namespace tn
