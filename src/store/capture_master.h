// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <filesystem>
#include <string>
#include <vector>

#include "store/capture_layout.h"
#include "store/hdf5/hdf5_file.h"

namespace lime {

/// Collects sequences, statistics and attributes of the shards in `records`, in their order.
/// Sequences of missing shards in between become empty ones without rows.
/// @throws FormatError  if a shard belongs to another capture or overlaps another.
CaptureTables gather_tables(const std::filesystem::path& capture, const CapturePlan& plan,
                            const CaptureInfo& info, const std::vector<ShardRecord>& records);

/// Writes the master file: tables, and virtual datasets over the shards. @throws IoError
void write_master(const std::filesystem::path& capture, const CaptureTables& tables);

/// Throws FormatError unless `file` is shard `record.shard` of the capture with that identity.
void check_shard(const Hdf5File& file, const ShardRecord& record,
                 const std::string& identity_sha256);

}  // namespace lime
