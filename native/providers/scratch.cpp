#include "providers/scratch.h"

#include <mutex>
#include <unordered_map>

namespace tn::providers {
namespace {

struct Hash {
  size_t operator()(const QueryKey& key) const {
    size_t hash = reinterpret_cast<size_t>(key.function) ^ static_cast<size_t>(key.job);
    for (int64_t dim : {key.m, key.n, key.k}) hash = (hash ^ static_cast<size_t>(dim)) * 0x9E3779B97F4A7C15u;
    return hash;
  }
};

std::mutex mutex;
std::unordered_map<QueryKey, Sizes, Hash> known;

}  // namespace

bool find_sizes(const QueryKey& key, Sizes* sizes) {
  std::lock_guard lock(mutex);
  auto found = known.find(key);
  if (found == known.end()) return false;
  *sizes = found->second;
  return true;
}

void keep_sizes(const QueryKey& key, const Sizes& sizes) {
  std::lock_guard lock(mutex);
  known.emplace(key, sizes);
}

}  // namespace tn::providers
