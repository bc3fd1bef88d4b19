#include "core/layout.h"

#include <numeric>

#include "core/error.h"

namespace tn {

std::string show(std::span<const int64_t> dims) {
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + std::to_string(dims[i]);
  return out + (dims.size() == 1 ? ",)" : ")");
}

int64_t product(std::span<const int64_t> dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

bool Layout::is_c_contiguous() const {
  int64_t step = 1;
  for (int i = ndim() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool Layout::is_f_contiguous() const {
  int64_t step = 1;
  for (int i = 0; i < ndim(); ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

bool Layout::is_dense() const {
  if (is_c_contiguous() || is_f_contiguous()) return true;
  Dims order(ndim());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return strides[a] < strides[b]; });
  int64_t step = 1;
  for (int64_t i : order) {
    if (shape[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

Layout Layout::c_contiguous(std::span<const int64_t> shape) {
  Layout out{Dims(shape), Dims(static_cast<int>(shape.size()))};
  int64_t step = 1;
  for (int i = out.ndim() - 1; i >= 0; --i) {
    out.strides[i] = step;
    step *= std::max<int64_t>(out.shape[i], 1);
  }
  return out;
}

Layout Layout::column_major(std::span<const int64_t> shape) {
  Layout out = c_contiguous(shape);
  int n = out.ndim();
  if (n < 2) return out;
  out.strides[n - 2] = 1;
  out.strides[n - 1] = std::max<int64_t>(out.shape[n - 2], 1);
  return out;
}

int64_t checked_numel(std::span<const int64_t> shape, const char* who) {
  constexpr int64_t kMost = int64_t{1} << 58;  // of 16 bytes each they fill the address space
  int64_t n = 1;
  bool fits = true;
  for (int64_t d : shape) {
    if (d < 0) fail(ErrorKind::Value, who, ": a shape must not have negative sizes, got ", show(shape), ".");
    fits = fits && !__builtin_mul_overflow(n, std::max<int64_t>(d, 1), &n) && n <= kMost;
  }
  if (!fits) fail(ErrorKind::Value, who, ": a tensor of shape ", show(shape), " has too many elements.");
  return product(shape);
}

Dims broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b, const char* who) {
  Dims out(static_cast<int>(std::max(a.size(), b.size())));
  for (int i = 1; i <= out.size(); ++i) {
    int64_t da = i <= static_cast<int>(a.size()) ? a[a.size() - i] : 1;
    int64_t db = i <= static_cast<int>(b.size()) ? b[b.size() - i] : 1;
    if (da != db && da != 1 && db != 1)
      fail(ErrorKind::Value, who, ": shapes ", show(a), " and ", show(b), " do not broadcast together.");
    out[out.size() - i] = da == 1 ? db : da;
  }
  return out;
}

Dims broadcast_strides(const Layout& from, std::span<const int64_t> shape) {
  Dims out(static_cast<int>(shape.size()));
  int lead = out.size() - from.ndim();
  for (int i = 0; i < from.ndim(); ++i)
    out[lead + i] = from.shape[i] == 1 && shape[lead + i] != 1 ? 0 : from.strides[i];
  return out;
}

int normalize_axis(int64_t axis, int ndim, const char* who) {
  if (axis < -ndim || axis >= ndim)
    fail(ErrorKind::Index, who, ": axis ", axis, " is out of bounds for a tensor of ", ndim, " dimensions.");
  return static_cast<int>(axis < 0 ? axis + ndim : axis);
}

}  // namespace tn
