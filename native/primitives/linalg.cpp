#include "primitives/primitive.h"

namespace tn {

void register_linalg() {}

}  // namespace tn
