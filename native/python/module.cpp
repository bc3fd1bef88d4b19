#include "python/bindings.h"

NB_MODULE(_core, m) {
  tn::bind_errors(m);
  tn::bind_sizes(m);
  tn::bind_tensor(m);
  tn::bind_pool(m);
  tn::bind_providers(m);
  tn::bind_primitives(m);
}
