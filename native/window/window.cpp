// Windows of a profile, opened from inside the profiled process: valgrind's client requests, as plain C
// functions that any process can load, Python through ctypes. They do nothing outside of valgrind.
//
// A request is a sequence of instructions that leaves every register as it was. Valgrind, which translates
// all code, recognises it and reads six words: the request and its arguments (Valgrind manual, "The Client
// Request mechanism"; the numbers are part of its stable interface).
#include <cstdint>

#define TN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr uint64_t kRunningOnValgrind = 0x1001;
constexpr uint64_t kCallgrind = uint64_t{'C'} << 24 | uint64_t{'T'} << 16;
constexpr uint64_t kZero = kCallgrind + 1;
constexpr uint64_t kDumpAs = kCallgrind + 3;
constexpr uint64_t kStart = kCallgrind + 4;
constexpr uint64_t kStop = kCallgrind + 5;

uint64_t request(uint64_t code, uint64_t argument = 0) {
  volatile uint64_t words[6] = {code, argument, 0, 0, 0, 0};
  uint64_t answer = 0;
#if defined(__x86_64__) && defined(__linux__)
  // Four rotations by 128 bits in all, and an exchange of a register with itself.
  __asm__ volatile(
      "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(&words[0])
      : "cc", "memory");
#elif defined(__aarch64__) && defined(__linux__)
  register uint64_t result __asm__("x3") = 0;
  register volatile uint64_t* block __asm__("x4") = &words[0];
  __asm__ volatile(
      "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
      "orr x10, x10, x10"
      : "+r"(result)
      : "r"(block)
      : "cc", "memory");
  answer = result;
#else
  (void)words;
#endif
  return answer;
}

}  // namespace

// How many valgrinds this process runs under: 0 natively.
TN_EXPORT int taenite_window_on_valgrind() { return static_cast<int>(request(kRunningOnValgrind)); }

// Callgrind begins, or ceases, to count the instructions of all threads.
TN_EXPORT void taenite_window_start() { request(kStart); }
TN_EXPORT void taenite_window_stop() { request(kStop); }

// A window lasts from opening, which sets all counts to zero, to closing, which writes them under a label.
TN_EXPORT void taenite_window_open() { request(kZero); }
TN_EXPORT void taenite_window_close(const char* label) {
  request(kDumpAs, reinterpret_cast<uint64_t>(label));
}
