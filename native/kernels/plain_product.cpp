#include "kernels/plain_product.h"

#include <algorithm>

#include "core/visit.h"
#include "providers/routines.h"

namespace tn {
namespace {

// An operand as BLAS wants it, in column-major terms.
struct Form {
  char trans;
  int64_t ld;
};

bool stored_as_is(int64_t rows, int64_t columns, int64_t row, int64_t col) {
  return (row == 1 || rows == 1) && (col >= std::max<int64_t>(rows, 1) || columns == 1);
}

// op(X) of rows x columns; false if no form has these strides.
bool find_form(int64_t rows, int64_t columns, int64_t row, int64_t col, bool conj, Form& form) {
  if (!conj && stored_as_is(rows, columns, row, col)) {
    form = {'N', columns == 1 ? rows : col};
    return true;
  }
  if (!stored_as_is(columns, rows, col, row)) return false;
  form = {conj ? 'C' : 'T', rows == 1 ? columns : row};
  return true;
}

// C or, as C^T = B^T A^T, its transpose: a vector is a column, and a matrix column-major.
MatMul oriented(const MatMul& x) {
  const bool as_is = x.m == 1 || x.n == 1 ? x.n == 1 : stored_as_is(x.m, x.n, x.c_row, x.c_col);
  return as_is ? x : transposed(x);
}

// A x, where BLAS knows the strides of the vectors.
bool is_gemv(const MatMul& x) {
  return x.n == 1 && !x.conj_b && (x.k == 1 || x.b_row > 0) && (x.m == 1 || x.c_row > 0);
}

struct Forms {
  Form a, b;
  int64_t ldc;
};

bool find_forms(const MatMul& x, Forms& forms) {
  if (!find_form(x.m, x.k, x.a_row, x.a_col, x.conj_a, forms.a)) return false;
  if (is_gemv(x)) return true;
  forms.ldc = x.n == 1 ? x.m : x.c_col;
  return stored_as_is(x.m, x.n, x.c_row, x.c_col) && find_form(x.k, x.n, x.b_row, x.b_col, x.conj_b, forms.b);
}

template <class T>
T alpha_of(const MatMul& x) {
  return x.alpha ? *static_cast<const T*>(x.alpha) : T(1);
}

template <class T>
void gemv(const MatMul& x, const Form& a) {
  const bool as_is = a.trans == 'N';
  providers::gemv<T>(a.trans, as_is ? x.m : x.k, as_is ? x.k : x.m, alpha_of<T>(x),
                     static_cast<const T*>(x.a), a.ld, static_cast<const T*>(x.b), x.k == 1 ? 1 : x.b_row,
                     T(x.accumulate), static_cast<T*>(x.c), x.m == 1 ? 1 : x.c_row);
}

template <class T>
void provider_product(const MatMul& x) {
  Forms forms;
  find_forms(x, forms);
  if (is_gemv(x)) return gemv<T>(x, forms.a);
  providers::gemm<T>(forms.a.trans, forms.b.trans, x.m, x.n, x.k, alpha_of<T>(x), static_cast<const T*>(x.a),
                     forms.a.ld, static_cast<const T*>(x.b), forms.b.ld, T(x.accumulate),
                     static_cast<T*>(x.c), forms.ldc);
}

}  // namespace

bool takes(DType dtype, const MatMul& x) {
  Forms forms;
  return !is_inexact(dtype) || find_forms(oriented(x), forms);
}

void plain_product(DType dtype, const MatMul& x) {
  if (!is_inexact(dtype)) return kernels().matmul[static_cast<int>(dtype)](x);
  visit_inexact(dtype, [&]<class T>(Type<T>) { provider_product<T>(oriented(x)); });
}

}  // namespace tn
