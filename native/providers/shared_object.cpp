#include "providers/shared_object.h"

#include <dlfcn.h>

#include <filesystem>

#include "core/error.h"

namespace tn::providers {
namespace {

constexpr const char* kPrefixes[] = {"", "scipy_"};
constexpr const char* kSuffixes[] = {"_", "_64_", "64_", "_64", ""};

}  // namespace

SharedObject::SharedObject(const std::string& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (!handle_) fail(ErrorKind::Os, "providers: cannot load ", path, ": ", dlerror());
}

void* SharedObject::symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

bool SharedObject::find_spelling(const std::string& routine, Spelling* spelling) const {
  for (const char* prefix : kPrefixes)
    for (const char* suffix : kSuffixes)
      if (symbol(prefix + routine + suffix)) {
        *spelling = {prefix, suffix};
        return true;
      }
  return false;
}

void* SharedObject::own_symbol(const std::string& name) const {
  for (const char* prefix : kPrefixes)
    for (const char* suffix : {"", "64_", "_64"})
      if (void* found = symbol(prefix + name + suffix)) return found;
  return nullptr;
}

void* offered_to_probe(const std::string& routine, void* function, bool ilp64) {
  using Wrap = void* (*)(const char*, void*, int);
  static const Wrap wrap = reinterpret_cast<Wrap>(dlsym(RTLD_DEFAULT, "taenite_probe_wrap"));
  return wrap && function ? wrap(routine.c_str(), function, ilp64) : function;
}

std::string file_of(const void* symbol) {
  Dl_info info;
  return dladdr(symbol, &info) && info.dli_fname ? canonical(info.dli_fname) : "";
}

std::string canonical(const std::string& path) {
  std::error_code missing;
  auto real = std::filesystem::canonical(path, missing);
  return missing ? path : real.string();
}

}  // namespace tn::providers
