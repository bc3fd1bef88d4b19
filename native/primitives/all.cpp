#include "primitives/primitive.h"

namespace tn {

void register_all() {
  register_elementwise();
  register_reductions();
  register_shape();
  register_indexing();
  register_creation();
  register_contraction();
  register_linalg();
}

}  // namespace tn
