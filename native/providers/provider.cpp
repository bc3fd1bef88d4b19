#include "providers/provider.h"

#include <algorithm>

#include "core/error.h"
#include "threads/budget.h"

namespace tn::providers {
namespace {

using Recognise = std::unique_ptr<Provider> (*)(const std::string&, Files&);
// The last one takes everything.
constexpr Recognise kFamilies[] = {recognise_openblas, recognise_mkl, recognise_blis, recognise_reference};

std::string typed_name(Routine routine, int type) {
  const RoutineNames& names = kRoutineNames[index(routine)];
  return kTypeLetters[type] + std::string(type < 2 ? names.real_name : names.complex_name);
}

template <class Visit>
void for_each_entry(Visit visit) {
  for (int r = 0; r < kRoutines; ++r)
    for (int type = 0; type < kTypes; ++type) visit(static_cast<Routine>(r), type);
}

}  // namespace

Provider::Provider(std::string name, Files files) : name_(std::move(name)), files_(std::move(files)) {
  for (const SharedObject& file : files_) {
    Spelling spelling;
    if (!file.find_spelling("dgemm", &spelling)) file.find_spelling("dgetrf", &spelling);
    spellings_.push_back(spelling);
  }
}

void* Provider::find(const std::string& routine) const {
  for (size_t i = 0; i < files_.size(); ++i)
    if (void* found = files_[i].symbol(spellings_[i].prefix + routine + spellings_[i].suffix)) return found;
  return nullptr;
}

void Provider::fill() { fill(spellings_.front().says_ilp64() || probe_ilp64()); }

void Provider::fill(bool ilp64) {
  ilp64_ = ilp64;
  for_each_entry([this](Routine r, int type) {
    const std::string routine = typed_name(r, type);
    table_[index(r)][type] = offered_to_probe(routine, find(routine), ilp64_);
  });
  preferred_threads_ = std::max(1, preferred_threads());
}

// With 64-bit integers n is negative and isamax answers 0; with 32 bits its low half is 3 and the answer
// is 2.
bool Provider::probe_ilp64() const {
  void* isamax = find("isamax");
  if (!isamax) return false;
  const int64_t n = static_cast<int64_t>(0xffffffff00000003u), step = 1;
  const float x[] = {1, 2, 1};
  auto answer =
      reinterpret_cast<int64_t (*)(const int64_t*, const float*, const int64_t*)>(isamax)(&n, x, &step);
  return static_cast<int32_t>(answer) == 0;
}

std::string Provider::lapack_version() const {
  void* ilaver = find("ilaver");
  if (!ilaver) return "";
  int64_t part[3] = {};  // zeroed, so that a library that writes 32 bits is read rightly too
  reinterpret_cast<void (*)(int64_t*, int64_t*, int64_t*)>(ilaver)(&part[0], &part[1], &part[2]);
  return std::to_string(part[0]) + "." + std::to_string(part[1]) + "." + std::to_string(part[2]);
}

void Provider::follow_budget() {
  const int chosen = threads::chosen();
  if (told_.load(std::memory_order_relaxed) == chosen) return;
  std::lock_guard lock(telling_);
  set_threads(chosen ? chosen : std::min(threads::available(), preferred_threads_));
  told_ = chosen;
}

std::vector<std::string> Provider::paths() const {
  std::vector<std::string> paths = {file_of(find(typed_name(Routine::gemm, 1)))};
  if (void* lapack = find(typed_name(Routine::getrf, 1)))
    if (std::string path = file_of(lapack); path != paths.front()) paths.push_back(path);
  return paths;
}

Info Provider::info() const {
  Info info{name_,       kind(), {}, version(),        lapack_version(), kernel(),
            threading(), "",     "", ilp64_ ? 64 : 32, get_threads(),    {}};
  info.prefix = spellings_.front().prefix;
  info.suffix = spellings_.front().suffix;
  info.paths = paths();
  for_each_entry([&](Routine r, int type) {
    if (!function(r, type)) info.missing.push_back(typed_name(r, type));
  });
  return info;
}

std::unique_ptr<Provider> open_provider(const std::string& name, const std::vector<std::string>& paths) {
  Files files(paths.begin(), paths.end());
  std::unique_ptr<Provider> provider;
  for (size_t i = 0; !provider; ++i) provider = kFamilies[i](name, files);
  if (!provider->function(Routine::gemm, 1))
    fail(ErrorKind::Os, "providers: ", paths.front(),
         " is not a BLAS library: no dgemm under any known spelling");
  return provider;
}

}  // namespace tn::providers
