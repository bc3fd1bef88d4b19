#include "probe/objects.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <strings.h>

#include <algorithm>
#include <cstring>

namespace tn::probe {
namespace {

const char kHere = 0;

Object describe(const dl_phdr_info& info) {
  Object object{info.dlpi_name ? info.dlpi_name : "", UINTPTR_MAX, 0, false};
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    object.first = std::min<uintptr_t>(object.first, info.dlpi_addr + segment.p_vaddr);
    object.last = std::max<uintptr_t>(object.last, info.dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  return object;
}

enum class Symbol { defined, imported };

// The dynamic symbols of a loaded object.
class Symbols {
 public:
  explicit Symbols(const dl_phdr_info& info) : base_(info.dlpi_addr) {
    for (int i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
        read(reinterpret_cast<const ElfW(Dyn)*>(base_ + info.dlpi_phdr[i].p_vaddr));
  }

  template <class Test>
  bool any(Symbol kind, Test test) const {
    for (uint32_t i = 1; i < count_; ++i) {
      const bool undefined = table_[i].st_shndx == SHN_UNDEF;
      if (undefined == (kind == Symbol::imported) && test(names_ + table_[i].st_name)) return true;
    }
    return false;
  }

 private:
  void read(const ElfW(Dyn) * entry) {
    const uint32_t *hash = nullptr, *gnu_hash = nullptr;
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) table_ = at<ElfW(Sym)>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRTAB) names_ = at<char>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_HASH) hash = at<uint32_t>(entry->d_un.d_ptr);
      if (entry->d_tag == DT_GNU_HASH) gnu_hash = at<uint32_t>(entry->d_un.d_ptr);
    }
    if (table_ && names_) count_ = hash ? hash[1] : gnu_hash ? count_gnu(gnu_hash) : 0;
  }

  // glibc relocates these pointers in place; the vDSO's stay relative.
  template <class T>
  const T* at(uintptr_t pointer) const {
    return reinterpret_cast<const T*>(pointer < base_ ? base_ + pointer : pointer);
  }

  // The table has no length: the last chain ends with it.
  static uint32_t count_gnu(const uint32_t* hash) {
    const uint32_t buckets = hash[0], first = hash[1], words = hash[2];
    const uint32_t* bucket = hash + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
    if (last < first) return first;
    while (!(chain[last - first] & 1)) ++last;
    return last + 1;
  }

  uintptr_t base_;
  const ElfW(Sym) * table_ = nullptr;
  const char* names_ = nullptr;
  uint32_t count_ = 0;
};

bool starts(const char* text, const char* beginning) {
  return strncasecmp(text, beginning, strlen(beginning)) == 0;
}

// dgemm, scipy_dgemm_64_, cblas_sgemm, DGETRF, ...
bool says_blas(const char* symbol) {
  for (const char* prefix : {"scipy_", "cblas_", "LAPACKE_"})
    if (starts(symbol, prefix)) symbol += strlen(prefix);
  for (const char* known : {"sgemm", "dgemm", "sgetrf", "dgetrf"})
    if (starts(symbol, known)) {
      const char* rest = symbol + strlen(known);
      return !*rest || *rest == '_' || starts(rest, "64");
    }
  return false;
}

bool holds_blas(const dl_phdr_info& info) { return Symbols(info).any(Symbol::defined, says_blas); }

template <class Visit>
void iterate(Visit visit) {
  dl_iterate_phdr([](dl_phdr_info* info, size_t,
                     void* context) { return static_cast<int>((*static_cast<Visit*>(context))(*info)); },
                  &visit);
}

void* open_again(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE); }

// What the object itself would find in its own scope. It stays loaded from now on.
void* find_from(const char* path, const char* symbol) {
  void* handle = *path ? open_again(path) : nullptr;
  return handle ? dlsym(handle, symbol) : nullptr;
}

// A wrapper such as SciPy's cython_blas jumps instead of calling: the return address is then that of its
// caller, who may know nothing of the symbol. The one who does imports it.
void* find_from_importers(const char* symbol) {
  const char* paths[64];
  int count = 0;
  iterate([&](const dl_phdr_info& info) {
    auto same = [&](const char* name) { return strcmp(name, symbol) == 0; };
    if (count < 64 && Symbols(info).any(Symbol::imported, same)) paths[count++] = info.dlpi_name;
    return false;
  });
  for (int i = 0; i < count; ++i)
    if (void* found = find_from(paths[i], symbol)) return found;
  return nullptr;
}

// The last resort: a symbol that was looked up by name, in whatever defines it.
void* find_anywhere(const char* symbol) {
  const char* path = nullptr;
  iterate([&](const dl_phdr_info& info) {
    auto same = [&](const char* name) { return strcmp(name, symbol) == 0; };
    if (describe(info).holds(&kHere) || !Symbols(info).any(Symbol::defined, same)) return false;
    path = info.dlpi_name;
    return true;
  });
  return path ? find_from(path, symbol) : nullptr;
}

}  // namespace

bool object_at(const void* address, Object* found) {
  bool is_found = false;
  iterate([&](const dl_phdr_info& info) {
    const Object object = describe(info);
    if (!object.holds(address)) return false;
    *found = object;
    found->is_blas = holds_blas(info);
    return is_found = true;
  });
  return is_found;
}

void each_object(void (*visit)(const Object&)) {
  iterate([&](const dl_phdr_info& info) {
    Object object = describe(info);
    object.is_blas = holds_blas(info);
    if (!object.holds(&kHere)) visit(object);
    return false;
  });
}

// The linker looks in the global scope first, then in that of the caller's file: RTLD_NEXT sees the first
// only, and NumPy's and SciPy's own OpenBLAS are in the second.
void* bound_without_us(const char* symbol, const void* caller) {
  void* found = dlsym(RTLD_NEXT, symbol);
  Object object;
  if (!found && object_at(caller, &object)) found = find_from(object.path, symbol);
  if (!found) found = find_from_importers(symbol);
  if (!found) found = find_anywhere(symbol);
  dlerror();  // leave no error of ours behind
  return found;
}

}  // namespace tn::probe
