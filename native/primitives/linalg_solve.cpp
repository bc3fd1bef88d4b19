#include "primitives/linalg.h"
#include "primitives/primitive.h"

namespace tn {

void register_linalg_solve() {}

}  // namespace tn
