// SPDX-License-Identifier: Apache-2.0
#include "store/capture_layout.h"

#include <algorithm>
#include <iterator>

#include "core/files/sha256.h"

namespace lime {
namespace {

template <typename T> T member(const Json& json, const char* key, const std::string& where) {
  const auto found = json.find(key);
  if (found == json.end()) throw FormatError("{}: has no '{}'", where, key);
  try {
    return found->get<T>();
  } catch (const nlohmann::json::exception&) {
    throw FormatError("{}: '{}' has an unexpected type ({})", where, key, found->type_name());
  }
}

Json to_json(const std::vector<ActivationInfo>& activations) {
  Json list = Json::array();
  for (const ActivationInfo& activation_info : activations) {
    list.push_back({{"site", activation_info.site},
                    {"layer", activation_info.layer},
                    {"dim", activation_info.dim},
                    {"hook", activation_info.hook}});
  }
  return list;
}

/// Returns what two runs must share for their shards to belong together: options, inputs, datasets.
Json capture_identity(const CapturePlan& plan) {
  const CaptureInfo& info = plan.info;
  Json identity = {{"options", info.options},
                   {"checkpoint_sha256", info.checkpoint_sha256},
                   {"tokenizer_sha256", info.tokenizer_sha256},
                   {"input_sha256", info.input_sha256},
                   {"compute_dtype", info.compute_dtype},
                   {"storage_dtype", enum_name(info.storage)},
                   {"rows", enum_name(info.rows)},
                   {"seed", info.seed},
                   {"class_names", info.class_names},
                   {"task_names", info.task_names},
                   {"activations", to_json(plan.activations)}};
  if (plan.num_shards > 0) identity["num_shards"] = plan.num_shards;
  // Omitted if uncompressed, so that captures of versions without compression can still be resumed.
  if (info.compression != Compression::kNone) identity["compression"] = enum_name(info.compression);
  return identity;
}

}  // namespace

std::string activation_path(const std::string& site, int layer) {
  return fmt::format("activations/{}/{:03}", site, layer);
}

std::string statistics_path(const std::string& site, int layer) {
  return fmt::format("statistics/{}/{:03}", site, layer);
}

std::string router_path(int layer) { return fmt::format("router/{:03}", layer); }

std::string router_dimensions_path(int layer) {
  return fmt::format("router_dimensions/{:03}", layer);
}

std::optional<int> layer_of_name(const std::string& name) {
  int layer = -1;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, layer);
  if (parsed.ec != std::errc() || parsed.ptr != end || layer < 0) return std::nullopt;
  if (fmt::format("{:03}", layer) != name) return std::nullopt;
  return layer;
}

std::size_t bytes_per_value(StorageType storage) {
  return storage == StorageType::kFloat16 ? 2 : 4;
}

Json to_json(const ShardRecord& record) {
  return {{"shard", record.shard},
          {"file", record.file},
          {"first_sequence", record.first_sequence},
          {"num_sequences", record.num_sequences},
          {"num_rows", record.num_rows},
          {"bytes", record.bytes}};
}

ShardRecord shard_record_from_json(const Json& json, const std::string& where) {
  ShardRecord record;
  record.shard = member<int>(json, "shard", where);
  record.file = member<std::string>(json, "file", where);
  record.first_sequence = member<std::int64_t>(json, "first_sequence", where);
  record.num_sequences = member<std::int64_t>(json, "num_sequences", where);
  record.num_rows = member<std::int64_t>(json, "num_rows", where);
  record.bytes = member<std::int64_t>(json, "bytes", where);
  constexpr std::int64_t kLimit = std::int64_t{1} << 40;  // per shard: 2^20 of them fit in 63 bits
  for (const std::int64_t number : {record.first_sequence, record.num_sequences, record.num_rows}) {
    throw_if<FormatError>(number < 0 || number > kLimit, "{}: shard {} has an impossible size, {}",
                          where, record.shard, number);
  }
  return record;
}

std::int64_t bytes_of_rows(const CaptureTables& tables, std::int64_t num_rows,
                           const std::filesystem::path& path) {
  std::int64_t values = 0;
  std::int64_t bytes = 0;
  bool overflow = false;
  for (const ActivationInfo& activation_info : tables.activations) {
    std::int64_t more = 0;
    overflow |= __builtin_mul_overflow(num_rows, activation_info.dim, &more);
    overflow |= __builtin_add_overflow(values, more, &values);
  }
  const auto size = static_cast<std::int64_t>(bytes_per_value(tables.info.storage));
  throw_if<FormatError>(overflow || __builtin_mul_overflow(values, size, &bytes),
                        "store: '{}' declares {} rows, more than any file can contain",
                        path.string(), num_rows);
  return bytes;
}

std::string identity_text(const CapturePlan& plan) { return dump_json(capture_identity(plan)); }

std::string identity_digest(const CapturePlan& plan) { return sha256_of(identity_text(plan)); }

Json to_json(const CaptureInfo& info) {
  Json json;
  visit_info(info, [&]<typename T>(const char* name, const T& value, InfoPlace) {
    if constexpr (std::is_enum_v<T>) {
      json[name] = enum_name(value);
    } else {
      json[name] = value;
    }
  });
  return json;
}

CaptureInfo capture_info_from_json(const Json& json, const std::string& where) {
  constexpr std::string_view kAbsentInEarlierVersions[] = {"compression", "task_fields",
                                                           "task_terms"};
  CaptureInfo info;
  visit_info(info, [&]<typename T>(const char* name, T& value, InfoPlace) {
    if (!json.contains(name) &&
        std::ranges::find(kAbsentInEarlierVersions, name) != std::end(kAbsentInEarlierVersions)) {
      return;
    }
    if constexpr (std::is_enum_v<T>) {
      try {
        value = enum_value<T>(member<std::string>(json, name, where), where + ": " + name);
      } catch (const InvalidArgument& error) {
        throw FormatError("{}", error.what());
      }
    } else {
      value = member<T>(json, name, where);
    }
    if constexpr (std::is_same_v<T, Json>) {
      if (value.is_object()) return;
      throw FormatError("{}: '{}' must be a JSON object, got {}", where, name, value.type_name());
    }
  });
  return info;
}

}  // namespace lime
