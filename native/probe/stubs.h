// The contract between the stubs, which are assembly, and the hooks that they call.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tn::probe {

enum class Interface : uint8_t { fortran, cblas, cblas_layout, lapacke };

constexpr int kMaxDims = 5;

// What routines.def says of a routine: where it takes lwork (0: nowhere) and the integers of its shape.
struct Routine {
  uint8_t lwork, dims;
  uint8_t positions[kMaxDims];
};

// A name with its type, such as "dgemm", and its row in kRoutines.
struct Name {
  char text[24];
  uint16_t routine;
};

extern const Routine kRoutines[];
extern const Name kNames[];
extern const int kNameCount;

struct Target;
struct Row;

// One stub's data. Its layout is known to stubs.cpp.
struct Entry {
  Target* targets;  // where its calls have gone so far
  int32_t stub;     // the stub's address, relative to this field
  uint16_t name;    // index into kNames
  Interface interface;
  bool wide;  // the suffix says that integers have 64 bits

  const void* address() const { return reinterpret_cast<const char*>(&stub) + stub; }
};
static_assert(sizeof(Entry) == 16);

// A call on its way: the arguments in registers, as the trampoline saved them, and what passes from the first
// hook to the second. Its layout is known to stubs.cpp.
struct Frame {
  uint64_t integers[6];
  uint64_t rax, r10;
  unsigned char vectors[8][16];
  Row* row;  // null: this call is not counted
  uint64_t start;
  uint64_t is_query;
  uint64_t unused;
};
static_assert(sizeof(Frame) == 224 && offsetof(Frame, row) == 192);

// Spare stubs, for pointers that a process has from dlsym and hands over.
constexpr int kSlots = 2048;
constexpr int kSlotBytes = 16;

}  // namespace tn::probe

extern "C" {
[[gnu::visibility("hidden")]] extern const char taenite_probe_slots[];
[[gnu::visibility("hidden")]] extern tn::probe::Entry taenite_probe_slot_entries[];

// Before a call: gives the function to go on to, and sets frame->row if the call is to be counted.
[[gnu::visibility("hidden")]] void* taenite_probe_enter(tn::probe::Frame* frame, tn::probe::Entry* entry,
                                                        const uint64_t* stack, const void* caller);
// After a call that is counted.
[[gnu::visibility("hidden")]] void taenite_probe_leave(tn::probe::Frame* frame);
}
