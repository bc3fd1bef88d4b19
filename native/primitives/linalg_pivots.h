// When a pivot of Gaussian elimination is zero, and how far its errors go.
#pragma once
#include "core/visit.h"

namespace tn::linalg {

// The first pivot, counted from 1, that is zero to working precision, or 0 if there is none. L U: n x n,
// packed and column-major with leading dimension ld; norm: the largest absolute sum of a column of A, or
// more.
template <class T>
int64_t zero_pivot(const T* lu, int64_t ld, int64_t n, real_t<T> norm);

// About 1 / || |A^-1| |L| |U| ||, which bounds the error of a solution (Higham 2002, theorem 9.4), whatever
// the scale of the rows of A. L U is A, or with `transposed` its transpose, up to exchanges of rows.
template <class T>
real_t<T> row_scaled_rcond(const T* lu, int64_t n, bool transposed);

}  // namespace tn::linalg
