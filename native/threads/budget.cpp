#include "threads/budget.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "core/local.h"
#ifdef __linux__
#include <sched.h>
#endif

namespace tn::threads {
namespace {

std::atomic<int> process_budget{0};
TN_THREAD_LOCAL int block_budget = 0;

int affinity_count() {
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

// CPUs that a quota of microseconds per period buys, rounded up; 0 when there is no quota.
int cpus_of(double quota, double period) {
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(std::ceil(quota / period))) : 0;
}

// The path of this process below the cgroup mount: "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1).
std::string cgroup_path(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controller.empty() ? names == ",," : names.find("," + controller + ",") != std::string::npos)
      return line.substr(second + 1);
  }
  return "/";
}

int quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  return cpus_of(std::strtod(quota.c_str(), nullptr), period);
}

int quota_v1(const std::string& folder) {
  double quota = 0, period = 0;
  std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  return cpus_of(quota, period);
}

// The tightest quota on the way up to the mount.
int tightest(const std::string& mount, std::string path, int (*quota)(const std::string&)) {
  int least = 0;
  for (;; path.erase(path.rfind('/'))) {
    int here = quota(mount + path);
    if (here && (!least || here < least)) least = here;
    if (path.empty() || path.rfind('/') == std::string::npos) return least;
  }
}

int cgroup_count() {
  int v2 = tightest("/sys/fs/cgroup", cgroup_path(""), quota_v2);
  return v2 ? v2 : tightest("/sys/fs/cgroup/cpu", cgroup_path("cpu"), quota_v1);
}

int environment_count() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  return text ? std::max(0, std::atoi(text)) : 0;
}

int count_available() {
  int count = affinity_count();
  for (int limit : {cgroup_count(), environment_count()})
    if (limit) count = std::min(count, limit);
  return std::max(1, count);
}

}  // namespace

int available() {
  static const int count = count_available();
  return count;
}

int chosen() { return block_budget ? block_budget : process_budget.load(std::memory_order_relaxed); }

int budget() {
  int number = chosen();
  return number ? number : available();
}

int exchange_process_budget(int threads) { return process_budget.exchange(threads); }

int exchange_block_budget(int threads) {
  int previous = block_budget;
  block_budget = threads;
  return previous;
}

}  // namespace tn::threads
