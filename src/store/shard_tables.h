// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store and to the Python package.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/capture_info.h"
#include "store/capture_layout.h"
#include "store/hdf5/hdf5_file.h"

namespace lime {

/// Throws FormatError unless `file` is shard `record.shard` of the capture with that identity.
void check_shard(const Hdf5File& file, const ShardRecord& record,
                 const std::string& identity_sha256);

/// The tables of one finished shard.
struct ShardTables {
  std::vector<std::int64_t> offsets;  ///< [num_sequences + 1], of rows in the shard
  std::vector<Sequence> sequences;
  StatisticsTable statistics;
};

/// Verifies and reads the tables of a shard.
/// @throws FormatError  unless it is shard `record.shard` of the capture with that identity, and
/// its sequences cover its rows. @throws IoError
ShardTables read_shard_tables(const std::filesystem::path& path, const ShardRecord& record,
                              const std::string& identity_sha256,
                              Hdf5Trial trial = Hdf5Trial::kFirst);

/// Verifies a shard, as read_shard_tables(), and reads its rows. @throws FormatError, IoError
RowTable read_shard_rows(const std::filesystem::path& path, const ShardRecord& record,
                         const std::string& identity_sha256);

}  // namespace lime
