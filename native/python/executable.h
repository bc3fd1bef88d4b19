// What the bindings of graphs and of compiled functions share.
#pragma once
#include "program/executable.h"
#include "python/bindings.h"

namespace tn {

struct ExecutableHandle {
  Ref<Executable> r;
};

void bind_compiled(nb::module_& m);

}  // namespace tn
