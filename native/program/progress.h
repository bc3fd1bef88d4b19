// Where a compiled function is: for who reports errors and warnings, and for who asks what took its time.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "core/local.h"
#include "core/observe.h"

namespace tn::progress {

// The user's line that is being run, as "file:line"; null outside of compiled functions.
extern TN_THREAD_LOCAL const std::string* line;

// What the instructions of one primitive and line took so far, while somebody observed.
struct Timed {
  std::string primitive, line;
  int64_t count, nanoseconds;
};
void note(const char* primitive, const std::string& line, int64_t nanoseconds);
std::vector<Timed> timed();

// The line of one instruction, and its time while somebody observes. An instruction may run others inside.
class Instruction {
 public:
  Instruction(const char* primitive, const std::string& at) : primitive_(primitive), at_(at), around_(line) {
    line = &at;
    if (observe::on()) [[unlikely]]
      start_ = Clock::now();
  }
  ~Instruction() {
    if (start_ != Clock::time_point()) [[unlikely]]
      note(primitive_, at_, std::chrono::nanoseconds(Clock::now() - start_).count());
    line = around_;
  }
  void forget() { start_ = {}; }  // it did not happen
  Instruction(const Instruction&) = delete;
  Instruction& operator=(const Instruction&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  const char* primitive_;
  const std::string& at_;
  const std::string* around_;
  Clock::time_point start_;
};

}  // namespace tn::progress
