#include "providers/select.h"

#include <deque>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/local.h"
#include "providers/call.h"

namespace tn::providers {
namespace {

const Selection kAllDefault;
std::atomic<const Selection*> process_selection{&kAllDefault};
TN_THREAD_LOCAL const Selection* block_selection = nullptr;
std::atomic<Provider*> default_{nullptr};
std::atomic<Found (*)()> default_finder{nullptr};

// Providers and selections are never freed: calls in other threads may be using them.
struct Registry {
  std::mutex mutex;
  std::map<std::vector<std::string>, Provider*> by_request;
  std::vector<std::unique_ptr<Provider>> providers;
  std::deque<Selection> selections;

  // One library is one provider, by whatever names and links it was asked for.
  Provider* keep(std::unique_ptr<Provider> fresh) {
    for (auto& provider : providers)
      if (provider->paths() == fresh->paths()) return provider.get();
    return providers.emplace_back(std::move(fresh)).get();
  }
};
Registry& registry() {
  static Registry* forever = new Registry;
  return *forever;
}

[[noreturn]] void throw_missing(const Provider& provider, Routine routine, int type) {
  fail(ErrorKind::Value, "providers: ", provider.name(), " has no ", base_name(routine), " for type '",
       kTypeLetters[type], "'; choose another provider for it: tn.providers.use(name, routines=[\"",
       base_name(routine), "\"])");
}

}  // namespace

Provider* open(const std::string& name, const std::vector<std::string>& paths) {
  if (paths.empty()) fail(ErrorKind::Os, "providers: ", name, " has no file to load");
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  Provider*& known = r.by_request[paths];
  if (!known) known = r.keep(open_provider(name, paths));
  return known;
}

std::vector<Provider*> opened() {
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  std::vector<Provider*> all;
  for (auto& provider : r.providers) all.push_back(provider.get());
  return all;
}

void set_default_finder(Found (*finder)()) { default_finder = finder; }

// The finder may need the GIL, so it runs before any lock is taken.
Provider* default_provider() {
  if (Provider* known = default_.load(std::memory_order_acquire)) return known;
  auto finder = default_finder.load();
  if (!finder) fail(ErrorKind::Runtime, "providers: no default provider is registered");
  Found found = finder();
  default_ = open(found.name, found.paths);
  return default_;
}

const Selection* selected() {
  return block_selection ? block_selection : process_selection.load(std::memory_order_acquire);
}

void select(const Selection* selection) {
  block_selection ? void(block_selection = selection) : void(process_selection = selection);
}

namespace {

const Selection* interned(const Selection& changed) {
  if (changed == kAllDefault) return &kAllDefault;
  Registry& r = registry();
  std::lock_guard lock(r.mutex);
  for (const Selection& known : r.selections)
    if (known == changed) return &known;
  return &r.selections.emplace_back(changed);
}

}  // namespace

const Selection* with_choice(const Selection* base, Provider* provider,
                             const std::vector<Routine>& routines) {
  Selection changed = *base;
  for (Routine routine : routines) {
    changed.of[index(routine)] = provider;
    if (routine == Routine::gemm) changed.native_products = false;
  }
  return interned(changed);
}

const Selection* with_native_products(const Selection* base) {
  Selection changed = *base;
  changed.of[index(Routine::gemm)] = nullptr;
  changed.native_products = true;
  return interned(changed);
}

const Selection* begin_block(const Selection* selection) { return std::exchange(block_selection, selection); }

void end_block(const Selection* outer) { block_selection = outer; }

Entry entry(Routine routine, int type) {
  Provider* provider = selected()->of[index(routine)];
  if (!provider) provider = default_provider();
  provider->follow_budget();
  void* function = provider->function(routine, type);
  if (!function) throw_missing(*provider, routine, type);
  return {function, provider->ilp64()};
}

void throw_too_large(Routine routine, int64_t value) {
  fail(ErrorKind::Value, base_name(routine), ": the dimension or stride ", value,
       " does not fit the 32-bit integers of the selected provider; load a library with 64-bit integers "
       "(ILP64): "
       "tn.providers.use(path)");
}

}  // namespace tn::providers
