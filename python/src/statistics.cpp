// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
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
#include "chunk_buffer.h"
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

/// Adds rows of `parts`, from row `first` of part `part` on, until the chunk is full.
/// @return the part and row to continue at; the number of parts and 0 at the end.
std::pair<std::int64_t, std::int64_t> add_to_chunk(ChunkBuffer& chunk,
                                                   const std::vector<RowsF>& parts,
                                                   std::int64_t part, std::int64_t first) {
  const std::vector<ConstMatrixRef> matrices = matrix_refs(parts);
  const auto count = static_cast<std::int64_t>(matrices.size());
  if (part < 0 || part >= count || first < 0 ||
      first > matrices[static_cast<std::size_t>(part)].rows()) {
    throw InvalidArgument("chunk: part {}, row {} is not in {} parts", part, first, count);
  }
  const nb::gil_scoped_release without_gil;
  for (; part < count && !chunk.is_full(); ++part, first = 0) {
    const ConstMatrixRef& rows = matrices[static_cast<std::size_t>(part)];
    first = chunk.add(rows, first);
    if (first < rows.rows()) break;
  }
  return {part, part < count ? first : 0};
}

nb::object finish_chunk(nb::handle self) {
  auto& chunk = nb::cast<ChunkBuffer&>(self);
  std::span<const std::byte> bytes;
  {
    const nb::gil_scoped_release without_gil;
    bytes = chunk.finish();
  }
  using Bytes = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
  return nb::cast(Bytes(bytes.data(), {bytes.size()}, self), nb::rv_policy::reference);
}

/// Lets the system begin to write a file to the disk, so that syncing it later is quick.
void begin_writing(int file) {
  const nb::gil_scoped_release without_gil;
  sync_file_range(file, 0, 0, SYNC_FILE_RANGE_WRITE);  // a hint: errors show when it is synced
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
  nb::class_<ChunkBuffer>(module, "ChunkBuffer")
      .def(nb::init<std::string, std::int64_t, std::int64_t, bool>())
      .def("add", add_to_chunk)
      .def("finish", [](nb::handle_t<ChunkBuffer> self) { return finish_chunk(self); })
      .def("shrink", &ChunkBuffer::shrink)
      .def_prop_ro("chunk_rows", &ChunkBuffer::chunk_rows)
      .def_prop_ro("num_rows", &ChunkBuffer::num_rows)
      .def_prop_ro("is_full", &ChunkBuffer::is_full)
      .def_prop_ro("statistics", &ChunkBuffer::statistics, nb::rv_policy::reference_internal);
  module.def("begin_writing", begin_writing);
}

}  // namespace lime::python
