// Errors that native code raises; the bindings turn each kind into its Python class.
#pragma once
#include <sstream>
#include <stdexcept>
#include <string>

namespace tn {

enum class ErrorKind {
  Type,
  Value,
  Index,
  NotImplemented,
  LinAlg,
  Gauge,
  Tracing,
  Memory,
  Runtime,
  Buffer,
  Os
};

struct Error : std::runtime_error {
  ErrorKind kind;
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind(kind) {}
};

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// Raises with the message made of the given parts.
template <class... Parts>
[[noreturn]] void fail(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, text(parts...));
}

}  // namespace tn
