#include "python/operators.h"

NB_MODULE(_core, m) {
  tn::bind_errors(m);
  tn::bind_sizes(m);
  tn::bind_tensor(m);
  tn::bind_dlpack(m);
  tn::bind_pool(m);
  tn::bind_kernels(m);
  tn::bind_providers(m);
  tn::bind_primitives(m);
  tn::bind_tiles(m);
  tn::bind_functions(m);
  tn::bind_graph(m);
}
