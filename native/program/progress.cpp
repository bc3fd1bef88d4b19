#include "program/progress.h"

#include <map>
#include <mutex>

namespace tn::progress {

TN_THREAD_LOCAL const std::string* line = nullptr;

namespace {

struct Sum {
  int64_t count = 0, nanoseconds = 0;
};

std::mutex lock;
std::map<std::pair<std::string, std::string>, Sum>& sums() {
  static auto& table = *new std::map<std::pair<std::string, std::string>, Sum>;
  return table;
}

}  // namespace

void note(const char* primitive, const std::string& at, int64_t nanoseconds) {
  std::lock_guard guard(lock);
  Sum& sum = sums()[{primitive, at}];
  ++sum.count;
  sum.nanoseconds += nanoseconds;
}

std::vector<Timed> timed() {
  std::lock_guard guard(lock);
  std::vector<Timed> out;
  for (const auto& [key, sum] : sums()) out.push_back({key.first, key.second, sum.count, sum.nanoseconds});
  return out;
}

}  // namespace tn::progress
