#include "primitives/linalg.h"

#include "primitives/primitive.h"

namespace tn {

void register_linalg() {
  register_linalg_factor();
  register_linalg_solve();
  register_linalg_triangular();
  register_linalg_det();
  register_linalg_decomp();
  register_linalg_spectral();
}

}  // namespace tn
