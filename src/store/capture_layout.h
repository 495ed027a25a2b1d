// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store: names and small tables of the capture file (docs/capture_format.md).

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/running_statistics.h"
#include "store/capture_info.h"

namespace lime {

inline constexpr std::string_view kCaptureFormat = "lime-capture";
inline constexpr std::string_view kShardFormat = "lime-capture-shard";

std::string activation_path(const std::string& site, int layer);
std::string statistics_path(const std::string& site, int layer);
std::string router_path(int layer);
std::string router_dimensions_path(int layer);
/// Parses a layer name: "003" -> 3; nothing for other names.
std::optional<int> layer_of_name(const std::string& name);
std::size_t bytes_per_value(StorageType storage);

/// One finished shard, as stored in its record file and in the master's attribute `shards`.
struct ShardRecord {
  int shard = 0;
  std::string file;  ///< "capture.shards/00003.h5", relative to the master
  std::int64_t first_sequence = 0;
  std::int64_t num_sequences = 0;
  std::int64_t num_rows = 0;
  std::int64_t bytes = 0;  ///< size of the file
};
Json to_json(const ShardRecord& record);
/// Parses a record. @throws FormatError
ShardRecord shard_record_from_json(const Json& json, const std::string& where);

/// Statistics of one site and layer, with the number of key-value heads.
struct SiteStatistics {
  RunningStatistics running;
  std::int64_t num_heads = 0;  ///< 0: no rms per head
};
using StatisticsTable = std::map<std::pair<std::string, int>, SiteStatistics>;

/// Everything in a capture except its row table and activations; small enough for memory.
struct CaptureTables {
  CaptureInfo info;
  std::vector<ActivationInfo> activations;
  std::vector<Sequence> sequences;
  std::vector<std::int64_t> offsets;  ///< [num_sequences + 1]
  StatisticsTable statistics;
  RouterWeights router;
  RouterDimensions router_dimensions;
  std::string identity_sha256;      ///< see capture_identity()
  std::vector<ShardRecord> shards;  ///< empty in a packed file
};

/// Returns the size in bytes of the activations of this many rows of the capture `path`.
/// @throws FormatError  if it exceeds the range of file sizes.
std::int64_t bytes_of_rows(const CaptureTables& tables, std::int64_t num_rows,
                           const std::filesystem::path& path);

/// Returns the identity as stored in files; identity_digest() returns its SHA-256.
std::string identity_text(const CapturePlan& plan);
std::string identity_digest(const CapturePlan& plan);

/// Storage of a member of CaptureInfo: an attribute of the root group, or one of a dataset.
enum class InfoPlace { kRoot, kDataset };

/// Calls `field(name, member, place)` for every member of a CaptureInfo.
template <typename Info, typename Field> void visit_info(Info&& info, const Field& field) {
  field("schema_version", info.schema_version, InfoPlace::kRoot);
  field("tool", info.tool, InfoPlace::kRoot);
  field("command", info.command, InfoPlace::kRoot);
  field("created_utc", info.created_utc, InfoPlace::kRoot);
  field("config", info.config, InfoPlace::kRoot);
  field("options", info.options, InfoPlace::kRoot);
  field("checkpoint_sha256", info.checkpoint_sha256, InfoPlace::kRoot);
  field("tokenizer_sha256", info.tokenizer_sha256, InfoPlace::kRoot);
  field("input_sha256", info.input_sha256, InfoPlace::kRoot);
  field("compute_dtype", info.compute_dtype, InfoPlace::kRoot);
  field("storage_dtype", info.storage, InfoPlace::kRoot);
  field("compression", info.compression, InfoPlace::kRoot);
  field("rows", info.rows, InfoPlace::kRoot);
  field("seed", info.seed, InfoPlace::kRoot);
  field("prepended", info.prepended, InfoPlace::kRoot);
  field("first_ids", info.first_ids, InfoPlace::kRoot);
  field("first_tokens", info.first_tokens, InfoPlace::kRoot);
  field("class_names", info.class_names, InfoPlace::kDataset);
  field("task_names", info.task_names, InfoPlace::kDataset);
  field("task_fields", info.task_fields, InfoPlace::kDataset);
  field("task_terms", info.task_terms, InfoPlace::kDataset);
  field("extra", info.extra, InfoPlace::kRoot);
  field("complete", info.complete, InfoPlace::kRoot);
}

Json to_json(const CaptureInfo& info);
/// Parses the metadata of a capture. @throws FormatError
CaptureInfo capture_info_from_json(const Json& json, const std::string& where);

}  // namespace lime
