#include "core/dtype.h"

#include <algorithm>

namespace tn {
namespace {

DType signed_of_size(size_t bytes) {
  return bytes <= 1 ? DType::I8 : bytes == 2 ? DType::I16 : bytes == 4 ? DType::I32 : DType::I64;
}

DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return itemsize(a) >= itemsize(b) ? a : b;
  DType s = is_signed(a) ? a : b, u = is_signed(a) ? b : a;
  if (itemsize(s) > itemsize(u)) return s;
  return u == DType::U64 ? DType::F64 : signed_of_size(2 * itemsize(u));
}

// The narrowest real float that holds an operand of this type as NumPy decides it.
DType float_for(DType t) {
  if (is_inexact(t)) return real_of(t);
  return itemsize(t) <= 2 ? DType::F32 : DType::F64;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (is_bool(a)) return b;
  if (is_bool(b)) return a;
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  DType real = std::max(float_for(a), float_for(b));
  return is_complex(a) || is_complex(b) ? complex_of(real) : real;
}

}  // namespace tn
