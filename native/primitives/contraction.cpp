#include "primitives/primitive.h"

namespace tn {

void register_contraction() {}

}  // namespace tn
