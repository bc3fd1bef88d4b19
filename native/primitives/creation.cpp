#include "primitives/primitive.h"

namespace tn {

void register_creation() {}

}  // namespace tn
