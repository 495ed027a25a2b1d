// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store and to the Python package.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "store/capture_layout.h"

namespace lime {

/// Folder `STEM.shards` next to a capture `STEM.h5` (shard_folder_of()), with its manifest:
///
///   manifest.json   properties shared by all shards: identity and info of the capture
///   00000.h5        a shard
///   00000.json      its record; written last, so a shard with a record is finished
///
/// Processes that write different shards share only manifest.json, identical for all of them.
class ShardFolder {
 public:
  explicit ShardFolder(const std::filesystem::path& capture);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path shard_path(int shard) const;
  /// Returns the name used in the master: "STEM.shards/00000.h5".
  std::string shard_name(int shard) const;

  /// Returns the content of manifest.json, or nothing if it does not exist. @throws FormatError
  std::optional<Json> read_manifest() const;
  /// Writes the manifest; creates the folder if necessary. @throws IoError
  void write_manifest(const Json& identity, const CaptureInfo& info) const;
  /// Writes the manifest only if none exists. If several processes call it at once, one succeeds.
  /// @return false if one exists; it is unchanged.
  bool write_new_manifest(const Json& identity, const CaptureInfo& info) const;

  /// Makes a network file system refresh its view of files from other machines.
  void refresh() const;
  /// Returns the record of a finished, undamaged shard; else nothing. @throws IoError
  std::optional<ShardRecord> finished(int shard) const;
  void write_record(const ShardRecord& record) const;

  /// Removes temporary files of killed processes. Call only when no process writes.
  void remove_temporaries() const;
  /// Removes the shards and manifest files, then the folder if it is empty.
  void remove_all() const;

 private:
  std::filesystem::path record_path(int shard) const;
  /// Returns shards, records, the manifest and temporary files of killed processes.
  std::vector<std::filesystem::path> files_of_ours() const;

  std::filesystem::path path_;
};

/// Returns the number of shards in an untrusted manifest, at most 100,000; 0 if absent.
int planned_shards(const Json& manifest);

/// Returns true for "NNNNN.h5" in a sibling folder "*.shards": what a master may refer to.
bool is_shard_name(const std::string& name);

/// Checks that every shard has a safe name, exists and has its recorded size.
void check_shards_exist(const std::filesystem::path& capture, const CaptureTables& tables);

/// Collects sequences, statistics and attributes of the shards in `records`, in their order.
/// Sequences of missing shards in between become empty ones without rows; a complete capture has
/// none.
/// @throws FormatError  if a shard belongs to another capture, overlaps another, or has statistics
/// of other sites and layers than the first.
CaptureTables gather_tables(const std::filesystem::path& capture, const CapturePlan& plan,
                            const CaptureInfo& info, const std::vector<ShardRecord>& records);

/// Writes the master file: tables, and virtual datasets over the shards. @throws IoError
void write_master(const std::filesystem::path& capture, const CaptureTables& tables);

}  // namespace lime
