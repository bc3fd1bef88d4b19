// solve, inv and the same from factors that are at hand.
#include "primitives/linalg.h"
#include "primitives/linalg_lu.h"

namespace tn {
namespace {

using namespace linalg;

Dims pivot_shape(const Tensor& a) {
  Dims shape(batch_of(a));
  shape.push_back(a.shape().back() + 1);
  return shape;
}

Op op_of(const Attrs& attrs) { return {attrs.scalar(0) != 0, attrs.scalar(1) != 0}; }

// ---- solve: (a, b) -> x, lu, pivots, info; attribute: raises

void infer_solve(const Call& c, Meta* out) {
  const Tensor &a = *c.in[0], &b = *c.in[1];
  require_square("linalg.solve", a);
  require_right_side("linalg.solve", a, b);
  out[0] = {b.dtype, b.shape()};
  out[1] = {a.dtype, a.shape()};
  out[2] = {DType::I32, pivot_shape(a)};
  out[3] = {DType::I32, Dims(batch_of(a))};
}

// Factors of distinct matrices, as outputs that repeat them along the leading axes of a.
void put_factors(const Call& c, const Factored& f, Tensor* out) {
  const auto batch = batch_of(*c.in[0]);
  if (c.wants(1)) out[1] = with_repeats(f.lu, batch);
  if (c.wants(2)) out[2] = with_repeats(f.pivots, batch);
  if (c.wants(3)) out[3] = with_repeats(f.info, batch);
}

void solve(const Call& c, Tensor* out) {
  Meta meta[4];
  infer_solve(c, meta);
  const Tensor &a = *c.in[0], &b = *c.in[1];
  const bool raises = c.attrs.scalar(0);
  const Factored f = factor_square(a);
  if (raises) report("linalg.solve", batch_of(f.lu), f.failure, f.ill);
  put_factors(c, f, out);
  if (!c.wants(0)) return;
  const auto batch = batch_of(a);
  out[0] = like_right_side(a, b);
  solve_factored(with_repeats(f.lu, batch), with_repeats(f.pivots, batch), {}, b, out[0]);
  if (f.failure) mark_failures(with_repeats(f.info, batch), out[0], is_vector(a, b) ? 1 : 2);
}

// ---- solve_with: (a: shape only, lu, pivots, b) -> op(a)^-1 b; attributes: transposed, conjugated

void infer_solve_with(const Call& c, Meta* out) {
  require_right_side("linalg.solve_with", *c.in[0], *c.in[3]);
  *out = {c.in[3]->dtype, c.in[3]->shape()};
}

void solve_with(const Call& c, Tensor* out) {
  Meta meta;
  infer_solve_with(c, &meta);
  *out = like_right_side(*c.in[0], *c.in[3]);
  solve_factored(*c.in[1], *c.in[2], op_of(c.attrs), *c.in[3], *out);
}

// ---- inv: (a) -> y, info; attribute: raises

void infer_inv(const Call& c, Meta* out) {
  const Tensor& a = *c.in[0];
  require_square("linalg.inv", a);
  out[0] = {a.dtype, a.shape()};
  out[1] = {DType::I32, Dims(batch_of(a))};
}

void inv(const Call& c, Tensor* out) {
  Meta meta[2];
  infer_inv(c, meta);
  const auto batch = batch_of(*c.in[0]);
  const Inverses r = invert_square(*c.in[0]);
  if (c.attrs.scalar(0)) report("linalg.inv", batch_of(r.info, 0), r.failure, r.ill);
  out[0] = with_repeats(r.y, batch);
  if (c.wants(1)) out[1] = with_repeats(r.info, batch);
}

// ---- inv_with: (a: shape only, lu, pivots) -> op(a)^-1; attributes: transposed, conjugated

void infer_inv_with(const Call& c, Meta* out) { *out = {c.in[0]->dtype, c.in[0]->shape()}; }

void inv_with(const Call& c, Tensor* out) {
  if (has_zero_pivot(*c.in[1]))
    fail(ErrorKind::LinAlg,
         "linalg.slogdet: the logarithm of the determinant of a singular matrix has no derivative.");
  *out = invert_factored(*c.in[1], *c.in[2], op_of(c.attrs));
}

}  // namespace

void register_linalg_solve() {
  register_primitive(
      {.name = "solve", .n_in = 2, .n_out = 4, .infer = infer_solve, .kernel = solve, .hidden = 0b0110});
  register_primitive({.name = "solve_with",
                      .n_in = 4,
                      .n_out = 1,
                      .infer = infer_solve_with,
                      .kernel = solve_with,
                      .shape_only = 0b0001});
  register_primitive({.name = "inv", .n_in = 1, .n_out = 2, .infer = infer_inv, .kernel = inv});
  register_primitive({.name = "inv_with",
                      .n_in = 3,
                      .n_out = 1,
                      .infer = infer_inv_with,
                      .kernel = inv_with,
                      .shape_only = 0b001});
}

}  // namespace tn
