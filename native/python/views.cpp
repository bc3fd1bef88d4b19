// x.T, x.mT, x.reshape and x.transpose without a Python frame.
#include <array>

#include "python/operators.h"

namespace tn {
namespace {

using Axes = std::vector<int64_t>;

Value transposed(const Value& x, const Attrs& perm) {
  static const Primitive& p = primitive("transpose");
  return bind1(p, std::array{&x}, perm);
}

// The permutation of `ndim` axes that reverses the last `last` of them.
const Attrs& reversal(int ndim, int last) {
  constexpr int kKnown = 8;
  static const Attrs* known[kKnown][kKnown];
  if (ndim < kKnown && known[ndim][last]) return *known[ndim][last];
  Axes perm(ndim);
  for (int i = 0; i < ndim; ++i) perm[i] = i < ndim - last ? i : 2 * ndim - last - 1 - i;
  const Attrs& attrs = Attrs::intern({perm});
  if (ndim < kKnown) known[ndim][last] = &attrs;
  return attrs;
}

nb::object all_reversed(const Value& x) { return wrap(transposed(x, reversal(x.t.ndim(), x.t.ndim()))); }

nb::object matrices_transposed(const Value& x) {
  if (x.t.ndim() < 2)
    fail(ErrorKind::Value, "matrix_transpose: x must have at least 2 axes, got shape ", show(x.t.shape()),
         ".");
  return wrap(transposed(x, reversal(x.t.ndim(), 2)));
}

// f(2, 3) or f((2, 3)).
nb::object given_numbers(nb::args given) {
  const bool one = given.size() == 1 && PySequence_Check(nb::object(given[0]).ptr());
  return one ? nb::object(given[0]) : nb::object(given);
}

nb::object reshaped(const Value& x, nb::args shape) {
  static const Primitive& p = primitive("reshape");
  SmallVector<Size, 8> sizes;
  for (nb::handle n : given_numbers(shape)) sizes.push_back(size_from_python(n));
  return wrap(bind1(p, std::array{&x}, Attrs::none(), sizes));
}

nb::object permuted(const Value& x, nb::args axes) {
  if (axes.size() == 0) return all_reversed(x);
  Axes perm;
  for (nb::handle axis : given_numbers(axes))
    perm.push_back(normalize_axis(integer_from_python(axis, "transpose: an axis"), x.t.ndim(), "transpose"));
  return wrap(transposed(x, Attrs::intern({perm})));
}

}  // namespace

void bind_views(nb::class_<Value>& tensor) {
  tensor.def_prop_ro("T", all_reversed, "A view with the axes in reverse order.");
  tensor.def_prop_ro("mT", matrices_transposed, "A view with the last two axes exchanged.");
  tensor.def("reshape", reshaped, "The elements in row-major order in another shape: `x.reshape(2, -1)`.");
  tensor.def("transpose", permuted, "A view with the axes in that order; without axes, in reverse order.");
}

}  // namespace tn
