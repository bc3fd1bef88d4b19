#include "primitives/primitive.h"

namespace tn {

void register_indexing() {}

}  // namespace tn
