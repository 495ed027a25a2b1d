// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "core/running_statistics.h"

namespace lime::python {
namespace {

RunningStatistics make_statistics(std::int64_t count, const Column<double>& mean,
                                  const Column<double>& m2) {
  if (mean.size() != m2.size()) {
    throw InvalidArgument("statistics: mean and m2 must have the same size, got {} and {}",
                          mean.size(), m2.size());
  }
  return {.count = count, .mean = vector_of(mean), .m2 = vector_of(m2)};
}

void add_rows(RunningStatistics& statistics, const RowsF& rows) {
  const ConstMatrixRef matrix = matrix_ref(rows);
  const nb::gil_scoped_release without_gil;
  statistics.add(matrix);
}

}  // namespace

void bind_statistics(nb::module_& module) {
  nb::class_<RunningStatistics>(module, "RunningStatistics",
                                "Count, mean and sum of squared deviations of each dimension, in "
                                "double, of rows that are added one after another.")
      .def(nb::init<>())
      .def("__getstate__",
           [](const RunningStatistics& self) {
             return nb::make_tuple(self.count, vector_to_numpy(self.mean),
                                   vector_to_numpy(self.m2));
           })
      .def("__setstate__",
           [](RunningStatistics& self,
              const std::tuple<std::int64_t, Column<double>, Column<double>>& state) {
             new (&self) RunningStatistics(
                 make_statistics(std::get<0>(state), std::get<1>(state), std::get<2>(state)));
           })
      .def("__repr__",
           [](const RunningStatistics& self) {
             return fmt::format("<RunningStatistics: {} rows of {} values>", self.count,
                                self.mean.size());
           })
      .def("__init__",
           [](RunningStatistics* self, std::int64_t count, const Column<double>& mean,
              const Column<double>& m2) {
             new (self) RunningStatistics(make_statistics(count, mean, m2));
           })
      .def("add", add_rows, nb::arg("rows"), "Adds rows, float32 [num_rows, dim].")
      .def(
          "merge",
          [](RunningStatistics& self, const RunningStatistics& other) { self.merge(other); },
          nb::arg("other"), "Adds the rows of other statistics.")
      .def(
          "rms_per_head",
          [](const RunningStatistics& self, std::int64_t num_heads) {
            return vector_to_numpy(self.rms_per_head(num_heads));
          },
          nb::arg("num_heads"), "Returns the root mean square of each head's part of a row.")
      .def_ro("count", &RunningStatistics::count, "Number of rows.")
      .def_prop_ro(
          "mean", [](const RunningStatistics& self) { return vector_to_numpy(self.mean); },
          "Mean of each dimension, [dim].")
      .def_prop_ro(
          "m2", [](const RunningStatistics& self) { return vector_to_numpy(self.m2); },
          "Sum of squared deviations, [dim]; the unbiased variance is m2 / (count - 1).");
}

}  // namespace lime::python
