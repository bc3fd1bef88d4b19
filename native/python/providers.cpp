#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "core/error.h"
#include "core/observe.h"
#include "program/progress.h"
#include "providers/select.h"
#include "providers/selftest.h"
#include "python/bindings.h"
#include "threads/budget.h"

namespace tn {
namespace {

using namespace providers;

PyObject* finder = nullptr;

// Runs the Python finder: () -> (name, [path, ...]).
Found find_default() {
  nb::gil_scoped_acquire held;
  nb::tuple found = nb::cast<nb::tuple>(nb::handle(finder)());
  return {nb::cast<std::string>(found[0]), nb::cast<std::vector<std::string>>(found[1])};
}

nb::dict as_dict(const Info& info) {
  nb::dict d;
  d["name"] = info.name;
  d["kind"] = info.kind;
  d["version"] = info.version;
  d["lapack_version"] = info.lapack_version;
  d["kernel"] = info.kernel;
  d["integer_bits"] = info.integer_bits;
  d["threading"] = info.threading;
  d["threads"] = info.threads;
  d["prefix"] = info.prefix;
  d["suffix"] = info.suffix;
  d["paths"] = info.paths;
  d["missing"] = info.missing;
  return d;
}

std::vector<Routine> routines_named(const std::vector<int>& indices) {
  std::vector<Routine> routines;
  for (int i : indices) routines.push_back(static_cast<Routine>(i));
  return routines;
}

void bind_selection(nb::module_& m) {
  nb::class_<Provider>(m, "Provider", "A loaded BLAS and LAPACK library.")
      .def_prop_ro("name", [](const Provider& p) { return p.name(); })
      .def(
          "info", [](const Provider& p) { return as_dict(p.info()); },
          nb::sig("def info(self) -> dict[str, object]"));
  nb::class_<Selection>(m, "ProviderSelection", "A provider for each routine.")
      .def(
          "providers", [](const Selection& s) { return std::vector<Provider*>(s.of, s.of + kRoutines); },
          nb::rv_policy::reference, nb::sig("def providers(self) -> list[Provider | None]"));
  m.def("provider_open", &providers::open, nb::arg("name"), nb::arg("paths"), nb::rv_policy::reference,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("provider_default", &default_provider, nb::rv_policy::reference,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("providers_opened", &opened, nb::rv_policy::reference);
  m.def("provider_set_finder", [](nb::object found) {
    Py_XSETREF(finder, found.release().ptr());
    set_default_finder(find_default);
  });
  m.def("selection_current", &selected, nb::rv_policy::reference);
  m.def("selection_set", &select, nb::arg("selection"));
  m.def(
      "selection_with",
      [](const Selection* base, Provider* provider, const std::vector<int>& routines) {
        return with_choice(base, provider, routines_named(routines));
      },
      nb::arg("base"), nb::arg("provider"), nb::arg("routines"), nb::rv_policy::reference);
  m.def("selection_with_native_products", &with_native_products, nb::arg("base"), nb::rv_policy::reference);
  m.def("selection_begin_block", &begin_block, nb::arg("selection"), nb::rv_policy::reference,
        nb::sig("def selection_begin_block(selection: ProviderSelection) -> ProviderSelection | None"));
  m.def("selection_end_block", &end_block, nb::arg("outer").none());
}

std::vector<Check> run_checks_without_gil(int64_t n) {
  nb::gil_scoped_release released;
  return run_checks(n);
}

nb::list checks(int64_t n) {
  nb::list rows;
  for (const Check& c : run_checks_without_gil(n))
    rows.append(nb::make_tuple(c.routine, std::string(1, c.type), c.residual));
  return rows;
}

void bind_checks(nb::module_& m) {
  m.def("provider_routines", [] {
    std::vector<std::string> names;
    for (const RoutineNames& row : kRoutineNames) names.push_back(row.base);
    return names;
  });
  m.def("provider_checks", &checks, nb::arg("n"),
        nb::sig("def provider_checks(n: int) -> list[tuple[str, str, float]]"));
  m.def("provider_large_dimension_message", &large_dimension_message);
}

void bind_threads(nb::module_& m) {
  m.def("threads_available", &threads::available);
  m.def("threads_budget", &threads::budget);
  m.def("threads_exchange_process_budget", &threads::exchange_process_budget, nb::arg("threads"));
  m.def("threads_exchange_block_budget", &threads::exchange_block_budget, nb::arg("threads"));
}

nb::tuple as_tuple(const observe::Tally& tally) {
  return nb::make_tuple(tally.count.load(), tally.amount.load());
}

// The counters now: (copies, fills, materialisations, allocations, queries, (calls of routine 0, ...),
// (workspaces of routine 0, ...)).
nb::tuple snapshot() {
  const observe::State& s = observe::state;
  nb::list calls, workspaces;
  for (int r = 0; r < kRoutines; ++r) {
    calls.append(as_tuple(s.calls[r]));
    workspaces.append(as_tuple(s.workspaces[r]));
  }
  return nb::make_tuple(as_tuple(s.copies), as_tuple(s.fills), as_tuple(s.materialisations),
                        as_tuple(s.allocations), as_tuple(s.workspace_queries), nb::tuple(calls),
                        nb::tuple(workspaces));
}

nb::list shapes_since(size_t first) {
  nb::list rows;
  for (const observe::Shape& shape : observe::shapes_since(first)) {
    nb::list dims;
    for (int i = 0; i < shape.rank; ++i) dims.append(shape.dims[i]);
    rows.append(
        nb::make_tuple(kRoutineNames[shape.routine].base, std::string(1, shape.type), nb::tuple(dims)));
  }
  return rows;
}

void bind_observe(nb::module_& m) {
  m.def("observe_open", &observe::open, nb::arg("shapes"));
  m.def("observe_close", &observe::close, nb::arg("shapes"));
  m.def(
      "observe_snapshot", &snapshot,
      nb::sig("def observe_snapshot() -> tuple[tuple[int, int], tuple[int, int], tuple[int, int], "
              "tuple[int, int], tuple[int, int], tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]"));
  m.def(
      "observe_instructions",
      [] {
        nb::list out;
        for (const progress::Timed& t : progress::timed())
          out.append(nb::make_tuple(t.primitive, t.line, t.count, t.nanoseconds));
        return out;
      },
      nb::sig("def observe_instructions() -> list[tuple[str, str, int, int]]"));
  m.def("observe_shape_count", &observe::shape_count);
  m.def("observe_shapes_since", &shapes_since, nb::arg("first"),
        nb::sig("def observe_shapes_since(first: int) -> list[tuple[str, str, tuple[int, ...]]]"));
}

}  // namespace

void bind_providers(nb::module_& m) {
  bind_selection(m);
  bind_checks(m);
  bind_threads(m);
  bind_observe(m);
}

}  // namespace tn
