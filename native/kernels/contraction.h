// C (+)= alpha * A B over any axes: the problem behind dot_general, and the two ways to compute it.
//
// Every axis has a stride in A, in B and in C. Those that move in all three are the batch; m axes move in A
// and C, n axes in B and C, k axes in A and B.
#pragma once
#include "core/dtype.h"
#include "core/small_vector.h"
#include "kernels/table.h"

namespace tn {

struct Axis {
  int64_t size, a, b, c;  // strides in elements
};
using Axes = SmallVector<Axis, 4>;

struct Contraction {
  DType dtype;
  const char *a, *b;
  char* c;
  bool conj_a, conj_b, accumulate;
  const void* alpha;  // an element, or null for 1; null for exact dtypes
  Axes batch, m, n, k;
};

// The number of positions along these axes.
double volume(const Axes& axes);
inline double work(const Contraction& p) { return volume(p.batch) * volume(p.m) * volume(p.n) * volume(p.k); }

// Joins neighbours that are one run in every operand.
void join_runs(Axes& axes);
// Puts the axis with the smallest stride last.
void sort_by(Axes& axes, int64_t Axis::* stride);

// C^T = B^T A^T.
Contraction transposed(Contraction p);

// No axis is empty.
void contract(const Contraction& p);

// The same for two matrices, if they need no other orientation and no copies.
bool multiplies_directly(DType dtype, const MatMul& x);
void multiply_matrices(DType dtype, const MatMul& x);
inline double work(const MatMul& x) {
  return static_cast<double>(x.m) * static_cast<double>(x.n) * static_cast<double>(x.k);
}

// The same on kernels for plain strides: those of the selected provider or, for exact dtypes, native ones.
void contract_in_loops(Contraction p);

// Sums of elementwise products: where m and n have no axes, or the batch is contiguous and the rest is tiny.
void multiply_and_sum(const Contraction& p);

}  // namespace tn
