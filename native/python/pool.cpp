#include "core/pool.h"

#include "python/bindings.h"

namespace tn {

void bind_pool(nb::module_& m) {
  m.def("pool_stats", [] {
    pool::Stats s = pool::stats();
    nb::dict d;
    d["bytes_in_use"] = s.bytes_in_use;
    d["peak_bytes_in_use"] = s.peak_bytes_in_use;
    d["bytes_cached"] = s.bytes_cached;
    d["cap_bytes"] = s.cap_bytes;
    d["takes"] = s.takes;
    d["reuses"] = s.reuses;
    return d;
  });
  m.def("pool_trim", [](size_t keep) { return pool::trim(keep); }, nb::arg("keep") = 0);
  m.def("pool_set_cap", [](size_t bytes) { pool::set_cap(bytes); }, nb::arg("bytes"));
  m.def("pool_reset_peak", [] { pool::reset_peak(); });
}

}  // namespace tn
