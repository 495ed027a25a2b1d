// SPDX-License-Identifier: Apache-2.0
// What audits share with lime-metrics audit: random numbers, changes, proofs and verdicts.
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "analysis/audit/audit_changes.h"
#include "arrays.h"
#include "bindings.h"
#include "core/random.h"
#include "result_rows.h"
#include "text.h"

namespace lime::python {
namespace {

nb::object normals(Random& random, std::int64_t count) {
  std::vector<double> drawn(static_cast<std::size_t>(count));
  for (double& value : drawn) value = random.normal();
  return to_numpy(std::move(drawn));
}

nb::object permutation(Random& random, std::int64_t count) {
  std::vector<std::int64_t> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), std::int64_t{0});
  random.shuffle(std::span(items));
  return to_numpy(std::move(items));
}

/// Returns the changes of values, as change_rows().
nb::list audit_changes(const nb::list& values) {
  std::vector<ResultRow> rows;
  rows.reserve(values.size());
  for (const nb::handle value : values) rows.push_back(from_dict(nb::cast<nb::dict>(value)));
  std::vector<const ResultRow*> pointers;
  for (const ResultRow& row : rows) pointers.push_back(&row);
  nb::list changes;
  for (const ResultRow& row : change_rows(pointers, AuditOver::kCoordinates)) {
    changes.append(to_dict(row));
  }
  return changes;
}

}  // namespace

void bind_audit(nb::module_& module) {
  nb::class_<Random>(module, "Random")
      .def(nb::init<std::uint64_t>())
      .def("normals", normals)
      .def("permutation", permutation);
  module.def("audit_changes", audit_changes);
  module.def("audit_cell",
             [](const nb::dict& row) { return to_str(cell_text(change_cell(from_dict(row)))); });
}

}  // namespace lime::python
