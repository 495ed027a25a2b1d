// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "store/capture_layout.h"

namespace lime {

/// The folder `STEM.shards` beside a capture `STEM.h5` (shard_folder_of()), and the manifest in it:
///
///   manifest.json   what the shards have in common: identity and info of the capture
///   00000.h5        a shard
///   00000.json      its record; written last, so that a shard with a record is finished
///
/// Processes that write different shards share nothing but manifest.json, which all of them would
/// write alike.
class ShardFolder {
 public:
  explicit ShardFolder(const std::filesystem::path& capture);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path shard_path(int shard) const;
  /// As the master names it: "STEM.shards/00000.h5".
  std::string shard_name(int shard) const;

  /// What manifest.json holds, or nothing if there is none. @throws FormatError
  std::optional<Json> read_manifest() const;
  /// Creates the folder if need be. @throws IoError
  void write_manifest(const Json& identity, const CaptureInfo& info) const;
  /// The same where there is none yet. Of several processes that call it at once one succeeds.
  /// @return false if there is one; it stays as it is.
  bool write_new_manifest(const Json& identity, const CaptureInfo& info) const;

  /// Makes a network file system look again for what others have written.
  void refresh() const;
  /// The record of a finished shard; nothing if it is not finished, if its record is damaged, or if
  /// the file it describes is missing or of another size. @throws IoError
  std::optional<ShardRecord> finished(int shard) const;
  void write_record(const ShardRecord& record) const;

  /// Removes unfinished files of killed processes, of any machine. Only when all shards are
  /// finished, so that nobody writes any more.
  void remove_temporaries() const;
  /// Removes the shards and manifest files, and the folder if it is empty then.
  void remove_all() const;

 private:
  std::filesystem::path record_path(int shard) const;
  void make_folder() const;
  /// Shards, records, the manifest and what killed processes left of them.
  std::vector<std::filesystem::path> files_of_ours() const;

  std::filesystem::path path_;
};

/// The number of shards that a manifest says, at most 100,000, because it may claim any number; 0
/// if it says none.
int planned_shards(const Json& manifest);

/// True for names that a master may refer to: one folder "*.shards" beside it, which may be hidden,
/// and in it "NNNNN.h5".
bool is_shard_name(const std::string& name);

}  // namespace lime
