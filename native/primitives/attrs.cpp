#include "primitives/attrs.h"

#include <map>
#include <memory>

namespace tn {

const Attrs& Attrs::intern(Lists lists) {
  static auto& table = *new std::map<Lists, std::unique_ptr<Attrs>>;
  auto [it, fresh] = table.try_emplace(lists);
  if (fresh) it->second.reset(new Attrs(std::move(lists)));
  return *it->second;
}

const Attrs& Attrs::none() {
  static const Attrs& empty = intern({});
  return empty;
}

}  // namespace tn
