#include "primitives/attrs.h"

#include <map>
#include <memory>

namespace tn {

const Attrs& Attrs::intern(Lists lists, uint32_t scalars) {
  static auto& table = *new std::map<std::pair<Lists, uint32_t>, std::unique_ptr<Attrs>>;
  auto [it, fresh] = table.try_emplace({lists, scalars});
  if (fresh) it->second.reset(new Attrs(std::move(lists), scalars));
  return *it->second;
}

const Attrs& Attrs::none() {
  static const Attrs& empty = intern({});
  return empty;
}

}  // namespace tn
