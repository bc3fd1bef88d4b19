#include "probe/record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tn::probe {
namespace {

constexpr char kMagic[16] = "taenite-probe-1";
std::atomic<File*> current{nullptr};
char directory[3072];

// A new file at an address, or anywhere. The name holds the time because exec keeps the number of a process.
File* map_file(void* address) {
  char path[sizeof directory + 64];
  snprintf(path, sizeof path, "%s/%d-%lld.probe", directory, getpid(), static_cast<long long>(now_ns()));
  const int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (ftruncate(descriptor, sizeof(File)) == 0)
    mapped = mmap(address, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED | (address ? MAP_FIXED : 0),
                  descriptor, 0);
  close(descriptor);
  return mapped == MAP_FAILED ? nullptr : static_cast<File*>(mapped);
}

void read_command(char* text, size_t size) {
  const int descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  if (read(descriptor, text, size - 1) < 0) text[0] = 0;
  close(descriptor);
}

void fill_header(Header& header) {
  memcpy(header.magic, kMagic, sizeof kMagic);
  header.pid = getpid();
  header.parent = getppid();
  header.started_ns = now_ns();
  read_command(header.command, sizeof header.command);
}

const char* main_program() {
  static char path[503];
  if (!path[0] && readlink("/proc/self/exe", path, sizeof path - 1) < 0) strcpy(path, "?");
  return path;
}

// Libraries that multiply matrices, by names of their own.
bool sounds_numerical(const char* path) {
  for (const char* word : {"blas", "lapack", "mkl_", "blis", "jax", "xla_ext", "tensorflow", "dnnl"})
    if (strstr(path, word)) return true;
  return false;
}

bool same_row(const Row& row, uint32_t entry, const Target& target, int dims, const int64_t* shape) {
  return row.entry == entry && row.library == target.library && row.dims == dims &&
         memcmp(row.shape, shape, dims * sizeof *shape) == 0;
}

void fill_row(Row& row, uint32_t id, const Entry& entry, const Target& target, int dims,
              const int64_t* shape) {
  row.entry = id;
  snprintf(row.routine, sizeof row.routine, "%s", kNames[entry.name].text);
  snprintf(row.symbol, sizeof row.symbol, "%s", target.symbol);
  row.library = target.library;
  row.dims = static_cast<uint8_t>(dims);
  memcpy(row.shape, shape, dims * sizeof *shape);
  row.state.store(2, std::memory_order_release);
}

uint64_t hash(uint32_t entry, int library, int dims, const int64_t* shape) {
  uint64_t h = entry * 0x9e3779b97f4a7c15u + library;
  for (int i = 0; i < dims; ++i) h = (h ^ (h >> 29) ^ static_cast<uint64_t>(shape[i])) * 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 32);
}

// Open addressing without locks; who finds a row half filled waits for the few stores that it lacks.
Row* find_row(File* in, const Entry& entry, const Target& target, int dims, const int64_t* shape, int limit) {
  const auto id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&entry));
  uint64_t at = hash(id, target.library, dims, shape);
  for (int tries = 0; tries < kMaxRows; ++tries, ++at) {
    Row& row = in->row[at % kMaxRows];
    uint32_t state = row.state.load(std::memory_order_acquire);
    if (state == 0) {
      if (in->header.rows >= limit) return nullptr;
      if (row.state.compare_exchange_strong(state, 1)) {
        ++in->header.rows;
        fill_row(row, id, entry, target, dims, shape);
        return &row;
      }
    }
    while (row.state.load(std::memory_order_acquire) != 2) {
    }
    if (same_row(row, id, target, dims, shape)) return &row;
  }
  return nullptr;
}

}  // namespace

File* file() { return current.load(std::memory_order_relaxed); }

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void open_file() {
  const char* name = getenv("TAENITE_PROBE_DIR");
  if (!name || strlen(name) >= sizeof directory) return;
  strcpy(directory, name);
  File* made = map_file(nullptr);
  if (made) fill_header(made->header);
  current = made;
}

void reopen_file() {
  File* shared = file();
  if (!shared) return;
  static Library libraries[kMaxLibraries];
  const int64_t known = shared->header.libraries;
  memcpy(libraries, shared->library, known * sizeof(Library));
  current = map_file(shared);  // null: the child counts nothing rather than into its parent's file
  if (!file()) return;
  fill_header(file()->header);
  memcpy(file()->library, libraries, known * sizeof(Library));
  file()->header.libraries = known;
}

int note_library(const Object& object) {
  File* into = file();
  const int known = static_cast<int>(into->header.libraries);
  for (int i = 0; i < known; ++i)
    if (into->library[i].base == object.first) return i;
  if (known == kMaxLibraries) return kMaxLibraries - 1;
  Library& fresh = into->library[known];
  snprintf(fresh.path, sizeof fresh.path, "%s", *object.path ? object.path : main_program());
  fresh.is_blas = object.is_blas;
  fresh.base = object.first;
  into->header.libraries = known + 1;
  return known;
}

void note_end() {
  if (!file() || file()->header.pid != getpid()) return;  // a child of vfork shares our memory
  each_object([](const Object& object) {
    if (object.is_blas || sounds_numerical(object.path)) note_library(object);
  });
  file()->header.ended_ns = now_ns();
}

Row* row_for(const Entry& entry, const Target& target, int dims, const int64_t* shape) {
  File* into = file();
  if (Row* found = find_row(into, entry, target, dims, shape, kMaxRows / 4 * 3)) return found;
  ++into->header.shapeless;
  if (Row* found = find_row(into, entry, target, 0, shape, kMaxRows)) return found;
  ++into->header.lost;
  return nullptr;
}

}  // namespace tn::probe
