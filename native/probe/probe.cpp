// The probe: preloaded (LD_PRELOAD), it stands before the BLAS and LAPACK routines of a process, counts and
// times their calls, and hands them on. `taenite probe` starts it and reads what it counted.
//
// A call is counted if it comes from outside of BLAS: what a routine calls on its way (gesv: getrf: gemm) is
// part of that routine. A symbol is counted if the file that it is bound to looks like a BLAS or LAPACK
// library, for somebody else's `ddot` may be anything; it is handed on untouched then.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe/objects.h"
#include "probe/record.h"
#include "probe/stubs.h"

namespace tn::probe {
namespace {

// The call of this thread that is being counted. A counter of the depth would stay wrong for good once a call
// is left by longjmp; here, such a call is known to be over when a frame lies above its own (stacks grow
// down), or when something else has been written over it.
struct Outermost {
  Frame* frame;
  uint64_t start;
};
[[gnu::tls_model("initial-exec")]] thread_local Outermost outermost{};

pthread_mutex_t resolving = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
constexpr int kTargets = 1 << 14;
Target targets[kTargets];
int targets_used = 0;
int slots_used = 0;

[[noreturn]] void no_such_function(const char* symbol) {
  fprintf(stderr, "taenite probe: %s was called, but no library that is loaded defines it\n", symbol);
  abort();
}

[[noreturn]] void no_place() {
  fprintf(stderr, "taenite probe: BLAS routines are called from more than %d places\n", kTargets);
  abort();
}

const char* symbol_of(const Entry& entry) {
  Dl_info info;
  return dladdr(entry.address(), &info) && info.dli_sname ? info.dli_sname : kNames[entry.name].text;
}

Target* known_target(const Entry& entry, const void* caller) {
  const auto address = reinterpret_cast<uintptr_t>(caller);
  for (Target* one = __atomic_load_n(&entry.targets, __ATOMIC_ACQUIRE); one; one = one->next)
    if (one->first <= address && address < one->last) return one;
  return nullptr;
}

// The file that holds an address. Code made at run time has none: its page stands for it.
Object home(const void* address) {
  const uintptr_t page = reinterpret_cast<uintptr_t>(address) & ~uintptr_t{4095};
  Object object{"", page, page + 4096, false};
  object_at(address, &object);
  return object;
}

class Locked {
 public:
  Locked() { pthread_mutex_lock(&resolving); }
  ~Locked() { pthread_mutex_unlock(&resolving); }
};

// Adds a target to an entry. Under the lock nothing may ask the loader, whose own lock a thread can hold that
// waits for ours.
Target* add_target(Entry* entry, void* function, const char* symbol, const Object& library,
                   const Object& callers) {
  if (targets_used == kTargets) return nullptr;
  Target* target = &targets[targets_used++];
  *target = {function, callers.first, callers.last, entry->targets, symbol, 0, library.is_blas};
  if (file() && library.is_blas) target->library = static_cast<uint16_t>(note_library(library));
  __atomic_store_n(&entry->targets, target, __ATOMIC_RELEASE);
  return target;
}

Target* resolve(Entry* entry, const void* caller) {
  const int error = errno;
  const char* symbol = symbol_of(*entry);
  void* function = bound_without_us(symbol, caller);
  if (!function) no_such_function(symbol);
  const Object library = home(function), callers = home(caller);
  errno = error;
  Locked locked;
  Target* target = known_target(*entry, caller);
  return target ? target : add_target(entry, function, symbol, library, callers);
}

// The integers of a call: in registers, then on the stack; by reference in Fortran.
class Arguments {
 public:
  Arguments(const Entry& entry, const Frame& frame, const uint64_t* stack)
      : entry_(entry), frame_(frame), stack_(stack) {}

  int64_t at(int position) const {
    const bool by_value = entry_.interface != Interface::fortran;
    position += entry_.interface > Interface::cblas;  // the layout
    const uint64_t word = position < 6 ? frame_.integers[position] : stack_[position - 6];
    if (by_value) return entry_.wide ? static_cast<int64_t>(word) : static_cast<int32_t>(word);
    return entry_.wide ? *reinterpret_cast<const int64_t*>(word) : *reinterpret_cast<const int32_t*>(word);
  }

  bool ask_for_workspace(const Routine& routine) const {
    return routine.lwork && entry_.interface == Interface::fortran && at(routine.lwork) == -1;
  }

 private:
  const Entry& entry_;
  const Frame& frame_;
  const uint64_t* stack_;
};

bool is_inner(const Frame* frame) {
  return outermost.frame && frame < outermost.frame && outermost.frame->start == outermost.start;
}

void begin(Frame* frame, const Entry& entry, const Target& target, const uint64_t* stack) {
  const Routine& routine = kRoutines[kNames[entry.name].routine];
  const Arguments arguments(entry, *frame, stack);
  int64_t shape[kMaxDims];
  for (int i = 0; i < routine.dims; ++i) shape[i] = arguments.at(routine.positions[i]);
  frame->row = row_for(entry, target, routine.dims, shape);
  if (!frame->row) return;
  frame->is_query = arguments.ask_for_workspace(routine);
  frame->start = static_cast<uint64_t>(now_ns());
  outermost = {frame, frame->start};
}

uint16_t name_index(const char* routine) {
  for (int i = 0; i < kNameCount; ++i)
    if (strcmp(kNames[i].text, routine) == 0) return static_cast<uint16_t>(i);
  return UINT16_MAX;
}

void* slot_address(int slot) { return const_cast<char*>(taenite_probe_slots) + slot * kSlotBytes; }

[[gnu::constructor]] void start() {
  open_file();
  pthread_atfork(nullptr, nullptr, [] {
    outermost = {};
    resolving = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    reopen_file();
  });
}

[[gnu::destructor]] void finish() { note_end(); }

[[noreturn]] void end_at_once(const char* name, int status) {
  note_end();
  reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, name))(status);
  __builtin_unreachable();
}

}  // namespace
}  // namespace tn::probe

using namespace tn::probe;

void* taenite_probe_enter(Frame* frame, Entry* entry, const uint64_t* stack, const void* caller) {
  const Target* target = known_target(*entry, caller);
  if (!target) target = resolve(entry, caller);
  if (!target) no_place();
  frame->row = nullptr;
  if (file() && target->is_blas && !is_inner(frame)) begin(frame, *entry, *target, stack);
  return target->function;
}

void taenite_probe_leave(Frame* frame) {
  const uint64_t ns = static_cast<uint64_t>(now_ns()) - frame->start;
  outermost = {};
  (frame->is_query ? frame->row->queries : frame->row->calls).fetch_add(1, std::memory_order_relaxed);
  frame->row->ns.fetch_add(ns, std::memory_order_relaxed);
}

extern "C" {

// For programs that find routines with dlsym, which preloading does not reach: gives a function to call in
// place of `function`, the Fortran `routine` ("dgemm") with 64-bit integers or not. Unknown routines stay as
// they are.
[[gnu::visibility("default")]] void* taenite_probe_wrap(const char* routine, void* function, int wide) {
  const uint16_t name = name_index(routine);
  const Object library = home(function);
  if (name == UINT16_MAX || !library.is_blas || !file()) return function;
  Dl_info info;
  const bool named = dladdr(function, &info) && info.dli_sname;
  Locked locked;
  for (int slot = 0; slot < slots_used; ++slot)
    if (taenite_probe_slot_entries[slot].targets->function == function) return slot_address(slot);
  if (slots_used == kSlots) return function;
  Entry& entry = taenite_probe_slot_entries[slots_used];
  entry.name = name;
  entry.wide = wide;
  const Object anybody{"", 0, UINTPTR_MAX, false};
  if (!add_target(&entry, function, named ? info.dli_sname : kNames[name].text, library, anybody))
    return function;
  return slot_address(slots_used++);
}

// Ways to end without destructors.
[[gnu::visibility("default"), noreturn]] void _exit(int status) { end_at_once("_exit", status); }
[[gnu::visibility("default"), noreturn]] void _Exit(int status) noexcept { end_at_once("_Exit", status); }
}
