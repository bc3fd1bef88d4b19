// One call through a provider's table. Fortran takes every argument by address; integers travel in the width
// of the library (LP64: 32 bits, ILP64: 64), checked before the call; the lengths of character arguments
// follow the arguments as gfortran wants them.
#pragma once
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>

#include "providers/routine.h"

namespace tn::providers {

class Provider;

// What a call needs of the provider selected for a routine in this thread.
struct Entry {
  void* function;
  bool ilp64;
};
Entry entry(Routine routine, int type);  // opens the default on first use; throws if the routine is missing

[[noreturn]] void throw_too_large(Routine routine, int64_t value);

// Integer arrays (pivots) are 32 bits on our side: one that LAPACK fills, and one that it only reads.
struct Ints {
  int32_t* data;
  int64_t size;
};
struct ConstInts {
  const int32_t* data;
  int64_t size;
};
// Integer workspace, with room for 64 bits per element.
struct IntWork {
  void* data;
};
// An integer output.
struct IntOut {
  int64_t* value;
};

// How an argument of type A is handed to a library whose integers are I.
template <class I, class A>
struct Slot {  // a character, or a scalar of the element type
  A value;
  explicit Slot(A a) : value(a) {}
  A* address() { return &value; }
};
template <class I>
struct Slot<I, int64_t> {
  I value;
  explicit Slot(int64_t a) : value(static_cast<I>(a)) {}
  I* address() { return &value; }
};
template <class I, class T>
struct Slot<I, T*> {
  T* value;
  explicit Slot(T* a) : value(a) {}
  T* address() { return value; }
};
template <class I>
struct Slot<I, IntWork> {
  I* value;
  explicit Slot(IntWork a) : value(static_cast<I*>(a.data)) {}
  I* address() { return value; }
};
template <class I>
struct Slot<I, IntOut> {
  I value = 0;
  int64_t* target;
  explicit Slot(IntOut a) : target(a.value) {}
  Slot(const Slot&) = delete;
  ~Slot() { *target = value; }
  I* address() { return &value; }
};
template <>
struct Slot<int32_t, Ints> {
  int32_t* value;
  explicit Slot(Ints a) : value(a.data) {}
  int32_t* address() { return value; }
};
template <>
struct Slot<int32_t, ConstInts> {
  const int32_t* value;
  explicit Slot(ConstInts a) : value(a.data) {}
  const int32_t* address() { return value; }
};
template <>
struct Slot<int64_t, Ints> {
  Ints target;
  std::unique_ptr<int64_t[]> wide;
  explicit Slot(Ints a) : target(a), wide(new int64_t[static_cast<size_t>(a.size)]()) {}
  Slot(const Slot&) = delete;
  ~Slot() {
    for (int64_t i = 0; i < target.size; ++i) target.data[i] = static_cast<int32_t>(wide[i]);
  }
  int64_t* address() { return wide.get(); }
};
template <>
struct Slot<int64_t, ConstInts> {
  std::unique_ptr<int64_t[]> wide;
  explicit Slot(ConstInts a) : wide(new int64_t[static_cast<size_t>(a.size)]) {
    for (int64_t i = 0; i < a.size; ++i) wide[i] = a.data[i];
  }
  const int64_t* address() { return wide.get(); }
};

template <class I, class A>
using Passed = decltype(std::declval<Slot<I, A>>().address());

template <size_t>
using Length = size_t;

template <class I, size_t... Chars, class... A>
void invoke_with_lengths(void* function, std::index_sequence<Chars...>, A... args) {
  using Function = void (*)(Passed<I, A>..., Length<Chars>...);
  reinterpret_cast<Function>(function)(Slot<I, A>(args).address()..., ((void)Chars, size_t{1})...);
}

template <class I, class... A>
void invoke(void* function, A... args) {
  constexpr size_t characters = (size_t{0} + ... + std::is_same_v<A, char>);
  invoke_with_lengths<I>(function, std::make_index_sequence<characters>(), args...);
}

template <class A>
void check_fits(Routine routine, const A& a) {
  if constexpr (std::is_same_v<A, int64_t>)
    if (a != static_cast<int32_t>(a)) throw_too_large(routine, a);
}

template <class T, class... A>
void call_unobserved(Routine routine, A... args) {
  Entry e = entry(routine, TypeOf<T>::index);
  if (e.ilp64) return invoke<int64_t>(e.function, args...);
  (check_fits(routine, args), ...);
  invoke<int32_t>(e.function, args...);
}

using Dims = std::initializer_list<int64_t>;

template <class T, class... A>
void call(Routine routine, Dims dims, A... args) {
  observe::Call observed(index(routine), kTypeLetters[TypeOf<T>::index], dims);
  call_unobserved<T>(routine, args...);
}

// A LAPACK call: info is its last argument and the result.
template <class T, class... A>
int64_t call_info(Routine routine, Dims dims, A... args) {
  int64_t info = 0;
  call<T>(routine, dims, args..., IntOut{&info});
  return info;
}

// A call that is given `lwork` elements to work in.
template <class T, class... A>
int64_t call_working(Routine routine, int64_t lwork, Dims dims, A... args) {
  observe::workspace(index(routine), static_cast<size_t>(lwork) * sizeof(T));
  return call_info<T>(routine, dims, args...);
}

// A workspace query is not a call that an observer counts.
template <class T, class... A>
int64_t query_info(Routine routine, A... args) {
  int64_t info = 0;
  observe::workspace_query();
  call_unobserved<T>(routine, args..., IntOut{&info});
  return info;
}

}  // namespace tn::providers
