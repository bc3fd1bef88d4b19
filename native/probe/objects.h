// The files that are mapped into this process, and their dynamic symbols.
#pragma once
#include <cstdint>

namespace tn::probe {

// A copy of what is worth keeping of a loaded object. `path` is empty for the main program.
struct Object {
  const char* path;
  uintptr_t first, last;  // all of its segments lie in [first, last)
  bool is_blas;           // it defines a GEMM or an LU factorization under any spelling
  bool holds(const void* address) const {
    const auto a = reinterpret_cast<uintptr_t>(address);
    return first <= a && a < last;
  }
};

// The object that an address lies in; false if in none: code made at run time.
bool object_at(const void* address, Object* found);

// Every object but the probe itself.
void each_object(void (*visit)(const Object& object));

// The function that a symbol would have been bound to, had this library not been preloaded, in a call from
// `caller`. Null if there is none.
void* bound_without_us(const char* symbol, const void* caller);

}  // namespace tn::probe
