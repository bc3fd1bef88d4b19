// A shared library opened at run time, and the spelling of its symbols.
#pragma once
#include <string>

namespace tn::providers {

// How a library spells "dgemm": scipy_dgemm_64_ has prefix "scipy_" and suffix "_64_".
struct Spelling {
  std::string prefix;
  std::string suffix;
  bool says_ilp64() const { return suffix.find("64") != std::string::npos; }
};

// Opened with RTLD_LOCAL and never closed: libraries of this kind keep threads.
class SharedObject {
 public:
  explicit SharedObject(const std::string& path);
  const std::string& path() const { return path_; }

  // Found in this file or in one that it depends on.
  void* symbol(const std::string& name) const;

  // The spelling under which a Fortran routine is found; false if under none.
  bool find_spelling(const std::string& routine, Spelling* spelling) const;

  // A C function of the library's own, such as openblas_get_config, which some builds decorate too.
  template <class F>
  F* function(const std::string& name) const {
    return reinterpret_cast<F*>(own_symbol(name));
  }

 private:
  void* own_symbol(const std::string& name) const;
  std::string path_;
  void* handle_;
};

// What to call in place of a Fortran routine: itself, unless `taenite probe` watches this process. What it
// preloads does not stand before functions that are found in a handle.
void* offered_to_probe(const std::string& routine, void* function, bool ilp64);

// The canonical path of the file that a symbol lies in.
std::string file_of(const void* symbol);
// A path as the system would spell it; names without a file of their own ("libblas.so.3") stay as they are.
std::string canonical(const std::string& path);

}  // namespace tn::providers
