// SPDX-License-Identifier: Apache-2.0
#include "store/shard_tables.h"

#include "core/errors.h"
#include "store/capture_tables.h"
#include "store/trailer.h"

namespace lime {

void check_shard(const Hdf5File& file, const ShardRecord& record,
                 const std::string& identity_sha256) {
  const bool is_shard =
      file.has_attribute("format") && file.string_attribute("format") == kShardFormat;
  throw_if<FormatError>(!is_shard || file.string_attribute("identity_sha256") != identity_sha256 ||
                            file.int_attribute("shard") != record.shard,
                        "store: '{}' belongs to another capture; restore the original shard",
                        file.path().string());
}

ShardTables read_shard_tables(const std::filesystem::path& path, const ShardRecord& record,
                              const std::string& identity_sha256, Hdf5Trial trial) {
  check_trailer(path);
  const Hdf5File file(path, trial);
  check_shard(file, record, identity_sha256);
  ShardTables tables;
  tables.offsets = file.read<std::int64_t>("sequences/offset");
  tables.sequences = read_sequences(file);
  throw_if<FormatError>(tables.offsets.size() != tables.sequences.size() + 1 ||
                            tables.offsets.back() != record.num_rows,
                        "store: '{}': its sequences do not cover its {} rows", path.string(),
                        record.num_rows);
  for (const auto& [site, layer] : list_statistics(file)) {
    tables.statistics[{site, layer}] = read_statistics(file, site, layer);
  }
  return tables;
}

RowTable read_shard_rows(const std::filesystem::path& path, const ShardRecord& record,
                         const std::string& identity_sha256) {
  check_trailer(path);
  const Hdf5File file(path);
  check_shard(file, record, identity_sha256);
  RowTable rows;
  read_rows_into(file, rows);
  throw_if<FormatError>(rows.size() != record.num_rows,
                        "store: '{}' must have {} rows, got {}; restore the original shard",
                        path.string(), record.num_rows, rows.size());
  return rows;
}

}  // namespace lime
