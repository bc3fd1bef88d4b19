// x1 @ x2 without a Python frame: which case of dot_general it is, by the ranks of the operands.
#include <array>

#include "python/operators.h"

namespace tn {
namespace {

// Attributes of dot_general: contract one axis of each, batch over `batch` leading ones.
const Attrs& product_attrs(int contract_a, int contract_b, int batch) {
  constexpr int kKnown = 8;
  static const Attrs* known[kKnown][kKnown][kKnown];
  const bool small = contract_a < kKnown && contract_b < kKnown && batch < kKnown;
  if (small && known[contract_a][contract_b][batch]) return *known[contract_a][contract_b][batch];
  std::vector<int64_t> leading(batch);
  for (int i = 0; i < batch; ++i) leading[i] = i;
  constexpr uint32_t kConjugates = 0b110000;
  const Attrs& attrs = Attrs::intern({{contract_a}, {contract_b}, leading, leading, {0}, {0}}, kConjugates);
  if (small) known[contract_a][contract_b][batch] = &attrs;
  return attrs;
}

Value dot(const Value& a, const Value& b, int contract_a, int contract_b, int batch = 0) {
  static const Primitive& p = primitive("dot_general");
  return bind1(p, std::array{&a, &b}, product_attrs(contract_a, contract_b, batch));
}

Value in_dtype(const Value& x, DType t) {
  static const Primitive& p = primitive("astype");
  return bind1(p, std::array{&x}, Attrs::intern({{static_cast<int64_t>(t)}}, 1));
}

// Moves the first axis before the last one.
Value rows_inside(const Value& x) {
  static const Primitive& p = primitive("transpose");
  std::vector<int64_t> perm;
  for (int i = 1; i < x.t.ndim() - 1; ++i) perm.push_back(i);
  perm.push_back(0);
  perm.push_back(x.t.ndim() - 1);
  return bind1(p, std::array{&x}, Attrs::intern({perm}));
}

// The leading axes of x, up to its matrices, seen in the shape that they and those of `other` broadcast to.
Value broadcast_batch(const Value& x, const Value& other) {
  static const Primitive& p = primitive("broadcast_in_dim");
  const int nx = x.t.ndim() - 2, ny = other.t.ndim() - 2, n = std::max(nx, ny);
  std::vector<Size> sizes;
  std::vector<int64_t> axes;
  for (int i = 0; i < n; ++i) {
    const int ix = i - (n - nx), iy = i - (n - ny);
    const bool from_x = ix >= 0 && (iy < 0 || x.t.shape()[ix] != 1);
    sizes.push_back(from_x ? size_of(x, ix) : size_of(other, iy));
    if (ix >= 0) axes.push_back(i);
  }
  for (int i : {0, 1}) {
    axes.push_back(n + i);
    sizes.push_back(size_of(x, nx + i));
  }
  return bind1(p, std::array{&x}, Attrs::intern({axes}), sizes);
}

bool same_batch(const Value& a, const Value& b) {
  const Dims &x = a.t.shape(), &y = b.t.shape();
  return x.size() == y.size() && std::equal(x.begin(), x.end() - 2, y.begin());
}

void check(const Value& a, const Value& b) {
  const Dims &x = a.t.shape(), &y = b.t.shape();
  if (x.empty() || y.empty())
    fail(ErrorKind::Value, "matmul: x1 and x2 must have at least 1 axis, got shapes ", show(x), " and ",
         show(y), ".");
  const int64_t k = y.size() == 1 ? y[0] : y[y.size() - 2];
  if (x.back() != k)
    fail(ErrorKind::Value, "matmul: the last axis of x1 must have the size of the ",
         y.size() == 1 ? "only" : "next to last", " axis of x2, got shapes ", show(x), " and ", show(y), ".");
  if (x.size() > 2 && y.size() > 2)
    broadcast_shapes(std::span(x.begin(), x.size() - 2), std::span(y.begin(), y.size() - 2), "matmul");
}

Value product(const Value& a, const Value& b) {
  const int ra = a.t.ndim(), rb = b.t.ndim();
  if (rb <= 2) return dot(a, b, ra - 1, 0);
  if (ra == 1) return dot(a, b, 0, rb - 2);
  if (ra == 2) return rows_inside(dot(a, b, 1, rb - 2));
  if (same_batch(a, b)) return dot(a, b, ra - 1, rb - 2, ra - 2);
  const Value x = broadcast_batch(a, b), y = broadcast_batch(b, a);
  return dot(x, y, x.t.ndim() - 1, y.t.ndim() - 2, x.t.ndim() - 2);
}

}  // namespace

Value matmul(const Value& a, const Value& b) {
  check(a, b);
  if (a.t.dtype == b.t.dtype) return product(a, b);
  const DType t = promote(a.t.dtype, b.t.dtype);
  return product(a.t.dtype == t ? a : in_dtype(a, t), b.t.dtype == t ? b : in_dtype(b, t));
}

PyObject* matmul_operator(PyObject* a, PyObject* b) noexcept try {
  nb::object keep_a, keep_b;
  const Value *x = unwrap(a), *y = unwrap(b);
  if ((!x && !is_array_like(a)) || (!y && !is_array_like(b))) Py_RETURN_NOTIMPLEMENTED;
  if (!x) x = unwrap(keep_a = to_tensor(a));
  if (!y) y = unwrap(keep_b = to_tensor(b));
  return wrap(matmul(*x, *y)).release().ptr();
} catch (...) {
  return raise_in_python();
}

}  // namespace tn
