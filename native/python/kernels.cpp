// The SIMD targets of the tile kernels: which there are, which runs.
#include "kernels/table.h"
#include "python/bindings.h"

namespace tn {

void bind_kernels(nb::module_& m) {
  m.def("simd_target", [] { return kernels().name; });
  m.def(
      "simd_targets",
      [] {
        nb::list names;
        for (const char* const* name = available_targets(); *name; ++name) names.append(*name);
        return names;
      },
      nb::sig("def simd_targets() -> list[str]"));
  m.def("select_simd_target", select_target, nb::arg("name"));
  m.def(
      "multiply_adds",
      [](int64_t repeats) {
        double operands[3] = {0.5, 1.0, 0.0};
        return kernels().multiply_adds[1](repeats, operands);
      },
      nb::arg("repeats"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace tn
