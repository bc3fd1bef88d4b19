// The file in which a process counts its calls.
//
// It is mapped and shared, so that nothing has to be written at the end: what was counted is there after
// exit, _exit, exec, a signal that kills. diagnose/probe_file.py reads it; both know the layout.
#pragma once
#include <atomic>
#include <cstdint>

#include "probe/objects.h"
#include "probe/stubs.h"

namespace tn::probe {

constexpr int kMaxLibraries = 256;
constexpr int kMaxRows = 1 << 14;

struct Header {
  char magic[16];
  int64_t pid, parent;
  int64_t started_ns, ended_ns;  // ended_ns: 0 until the process ends in an orderly way
  std::atomic<int64_t> libraries, rows;
  std::atomic<int64_t> shapeless;  // calls whose shape is not kept, because the table is nearly full
  std::atomic<int64_t> lost;       // calls that are not counted at all, because it is full
  char command[3984];
};
static_assert(sizeof(Header) == 4064);

struct Library {
  char path[503];
  bool is_blas;
  uint64_t base;
};
static_assert(sizeof(Library) == 512);

// The calls of one symbol in one library with one shape.
struct Row {
  std::atomic<uint32_t> state;  // 0 free, 1 being filled, 2 filled
  uint32_t entry;               // which stub
  char routine[24], symbol[40];
  uint16_t library;
  uint8_t dims, spare[5];
  int64_t shape[kMaxDims];
  std::atomic<uint64_t> calls, queries, ns;
  uint64_t reserved;
};
static_assert(sizeof(Row) == 152);

struct File {
  Header header;
  char spare[32];
  Library library[kMaxLibraries];
  Row row[kMaxRows];
};

// The file of this process; null while nothing is counted.
File* file();

// Makes the file, in the directory that TAENITE_PROBE_DIR names.
void open_file();
// In a forked child: a file of its own, that knows the same libraries.
void reopen_file();

// The index of a library in the file; it is noted there if it is new. One thread at a time.
int note_library(const Object& object);
// Notes every mapped library that holds BLAS, or sounds like it, called or not; and the time.
void note_end();

// The row for a call, made if it is new; null if there is no place for it.
Row* row_for(const Entry& entry, const Target& target, int dims, const int64_t* shape);

int64_t now_ns();

// Where the calls of one stub go, if they come from one file.
struct Target {
  void* function;
  uintptr_t first, last;  // callers in [first, last)
  Target* next;
  const char* symbol;
  uint16_t library;
  bool is_blas;
};

}  // namespace tn::probe
