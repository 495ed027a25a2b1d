// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store: reads and writes the small tables of capture files.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "store/capture_info.h"
#include "store/capture_layout.h"
#include "store/hdf5/hdf5_file.h"
#include "store/hdf5/hdf5_writer.h"

namespace lime {

void write_attributes(Hdf5Writer& file, const CaptureTables& tables);
/// Checks format and version, reads the attributes of write_attributes() and lists the activations.
/// @throws FormatError
CaptureTables read_attributes(const Hdf5File& file);

void write_sequences(Hdf5Writer& file, const CaptureTables& tables);
/// Reads the table of sequences.
/// @throws FormatError  also if a label is not -1, 0 or 1, or a task has no name.
std::vector<Sequence> read_sequences(const Hdf5File& file);

void write_rows(Hdf5Writer& file, const RowTable& rows,
                const std::vector<std::string>& class_names);
/// Appends the rows of `file` to `rows`.
void read_rows_into(const Hdf5File& file, RowTable& rows);

/// Constraints on the rows of a capture or of a shard.
struct RowBounds {
  const std::vector<std::int64_t>& offsets;  ///< [num_sequences + 1], the first row of each
  std::int64_t first_sequence = 0;           ///< index of the first of these sequences
  std::size_t num_classes = 0;               ///< number of class names; 0: rows have no classes
};
/// Checks that the sequence of each row matches the offsets, and that its class has a name.
/// @throws FormatError
void check_rows(const RowTable& rows, const RowBounds& bounds, const std::filesystem::path& path);

void write_statistics(Hdf5Writer& file, const StatisticsTable& statistics);
/// Lists the sites and layers with statistics, without reading them.
std::vector<std::pair<std::string, int>> list_statistics(const Hdf5File& file);
SiteStatistics read_statistics(const Hdf5File& file, const std::string& site, int layer);

void write_routers(Hdf5Writer& file, const CaptureTables& tables);

}  // namespace lime
