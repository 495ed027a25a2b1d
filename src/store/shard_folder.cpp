// SPDX-License-Identifier: Apache-2.0
#include "store/shard_folder.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/files/atomic_file.h"
#include "store/capture_tables.h"
#include "store/file_names.h"
#include "store/hdf5/hdf5_api.h"
#include "store/shard_tables.h"
#include "store/trailer.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifestSchema = "lime-shards/1";
constexpr const char* kManifestFile = "manifest.json";

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char letter) { return letter >= '0' && letter <= '9'; });
}

/// Matches "00000.h5", "00000.json", "manifest.json" and their temporary files.
bool is_ours(std::string_view name) {
  if (name.starts_with('.')) {
    const std::size_t end = name.find(".part-");
    if (end == std::string_view::npos) return false;
    name = name.substr(1, end - 1);
  }
  if (name == kManifestFile) return true;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view suffix = name.substr(dot);
  return is_digits(name.substr(0, dot)) && (suffix == ".h5" || suffix == ".json");
}

std::string manifest_text(const Json& identity, const CaptureInfo& info) {
  const Json manifest = {
      {"schema", kManifestSchema}, {"identity", identity}, {"info", to_json(info)}};
  return dump_json(manifest, 1) + "\n";
}

bool is_manifest(const Json& json) {
  return json.is_object() && json.contains("schema") && json["schema"] == kManifestSchema &&
         json.contains("identity") && json.contains("info");
}

}  // namespace

ShardFolder::ShardFolder(const fs::path& capture) : path_(shard_folder_of(capture)) {}

fs::path ShardFolder::shard_path(int shard) const { return path_ / fmt::format("{:05}.h5", shard); }

fs::path ShardFolder::record_path(int shard) const {
  return path_ / fmt::format("{:05}.json", shard);
}

std::string ShardFolder::shard_name(int shard) const {
  return fmt::format("{}/{:05}.h5", path_.filename().string(), shard);
}

std::optional<Json> ShardFolder::read_manifest() const {
  const fs::path file = path_ / kManifestFile;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  try {
    Json manifest = read_json_file(file);
    const std::string where = "'" + file.string() + "'";
    throw_if<FormatError>(!is_manifest(manifest), "{}: is not a manifest of schema '{}'", where,
                          kManifestSchema);
    capture_info_from_json(manifest["info"], where);  // fail now rather than at the end
    return manifest;
  } catch (const FormatError& error) {
    throw FormatError("store: {}; remove its folder to start over", error.what());
  }
}

void ShardFolder::write_manifest(const Json& identity, const CaptureInfo& info) const {
  make_folder(path_);
  write_file_atomically(path_ / kManifestFile, manifest_text(identity, info));
}

bool ShardFolder::write_new_manifest(const Json& identity, const CaptureInfo& info) const {
  make_folder(path_);
  return write_new_file(path_ / kManifestFile, manifest_text(identity, info));
}

void ShardFolder::refresh() const {
  std::error_code ignored;
  const fs::directory_iterator opened(path_, ignored);
}

std::optional<ShardRecord> ShardFolder::finished(int shard) const {
  std::error_code error;
  const fs::path file = record_path(shard);
  if (!fs::exists(file, error)) return std::nullopt;
  ShardRecord record;
  try {
    record = shard_record_from_json(read_json_file(file), "'" + file.string() + "'");
  } catch (const FormatError&) {
    return std::nullopt;  // the shard and its record are rewritten
  }
  const auto bytes = fs::file_size(shard_path(shard), error);
  if (error || static_cast<std::int64_t>(bytes) != record.bytes || record.shard != shard) {
    return std::nullopt;
  }
  record.file = shard_name(shard);
  return record;
}

void ShardFolder::write_record(const ShardRecord& record) const {
  write_file_atomically(record_path(record.shard), dump_json(to_json(record), 1) + "\n");
}

std::vector<fs::path> ShardFolder::files_of_ours() const {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    if (is_ours(entry.path().filename().string())) files.push_back(entry.path());
  }
  return files;
}

void ShardFolder::remove_temporaries() const {
  std::error_code ignored;
  for (const fs::path& file : files_of_ours()) {
    if (file.filename().string().starts_with('.')) fs::remove(file, ignored);
  }
}

void ShardFolder::remove_all() const {
  std::error_code error;
  for (const fs::path& file : files_of_ours()) {
    if (!fs::remove(file, error) && error) {
      throw IoError("store: '{}' cannot be removed: {}", file.string(),
                    describe_errno(error.value()));
    }
  }
  fs::remove(path_, error);
}

int planned_shards(const Json& manifest) {
  constexpr std::int64_t kMax = 100'000;
  const Json::json_pointer place("/identity/num_shards");
  const Json count = manifest.contains(place) ? manifest.at(place) : Json();
  if (!count.is_number_integer()) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(count.get<std::int64_t>(), 0, kMax));
}

bool is_shard_name(const std::string& name) {
  constexpr std::string_view kFolder = ".shards/";
  constexpr std::string_view kSuffix = ".h5";
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos || name.find('\0') != name.npos) return false;
  const std::string_view folder = std::string_view(name).substr(0, slash + 1);
  const std::string_view file = std::string_view(name).substr(slash + 1);
  return folder.size() > kFolder.size() && folder.ends_with(kFolder) && file.ends_with(kSuffix) &&
         is_digits(file.substr(0, file.size() - kSuffix.size()));
}

void check_shards_exist(const fs::path& capture, const CaptureTables& tables) {
  for (const ShardRecord& shard : tables.shards) {
    throw_if<FormatError>(!is_shard_name(shard.file),
                          "store: '{}' refers to '{}', which is not a shard next to it",
                          capture.string(), shard.file);
    const fs::path path = capture.parent_path() / shard.file;
    std::error_code error;
    throw_if<MissingFile>(
        !fs::exists(path, error),
        "store: '{}' needs '{}', which is missing; keep the folder next to the file, or resume "
        "the capture",
        capture.string(), path.string());
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
    throw_if<FormatError>(bytes != shard.bytes,
                          "store: '{}' is {}: it has {} bytes instead of {}; resume the capture",
                          path.string(), bytes < shard.bytes ? "truncated" : "damaged", bytes,
                          shard.bytes);
  }
}

using hdf5::Id;
using hdf5::Lock;

namespace {

/// Sets the value that virtual datasets return for missing shards: NaN, or -1.
void set_fill_value(hid_t properties, hid_t type) {
  constexpr std::uint16_t kHalfNan = 0x7e00;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr std::int32_t kMinusOne = -1;
  if (hdf5::is_half(type)) {
    H5Pset_fill_value(properties, type, &kHalfNan);
  } else if (H5Tget_class(type) == H5T_FLOAT) {
    H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &kNan);
  } else {
    H5Pset_fill_value(properties, H5T_NATIVE_INT32, &kMinusOne);
  }
}

/// Total rows of all shards; dim 0 means a one-dimensional dataset.
struct VirtualShape {
  std::int64_t rows;
  std::int64_t dim;
};

Id row_space(const VirtualShape& shape) {
  const std::array<hsize_t, 2> size = {static_cast<hsize_t>(shape.rows),
                                       static_cast<hsize_t>(shape.dim)};
  return {H5Screate_simple(shape.dim > 0 ? 2 : 1, size.data(), nullptr), H5Sclose};
}

void write_virtual(Hdf5Writer& file, const std::string& name, hid_t type, std::int64_t dim,
                   const std::vector<ShardRecord>& shards) {
  const Lock lock;
  VirtualShape total = {0, dim};
  for (const ShardRecord& shard : shards) total.rows += shard.num_rows;
  const Id space = row_space(total);
  const Id properties = hdf5::dataset_properties();
  set_fill_value(properties.get(), type);
  std::array<hsize_t, 2> start = {0, 0};
  for (const ShardRecord& shard : shards) {
    if (shard.num_rows == 0) continue;
    const std::array<hsize_t, 2> count = {static_cast<hsize_t>(shard.num_rows),
                                          static_cast<hsize_t>(dim)};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
    const Id source = row_space({shard.num_rows, dim});
    const herr_t result = H5Pset_virtual(properties.get(), space.get(), shard.file.c_str(),
                                         ("/" + name).c_str(), source.get());
    hdf5::check_written(file, result >= 0, name);
    start[0] += count[0];
  }
  H5Sselect_all(space.get());
  hdf5::create_dataset(file, name, type, space, properties);
}

void append_shard(CaptureTables& tables, ShardTables&& shard, const ShardRecord& record,
                  const std::filesystem::path& path) {
  const auto known = static_cast<std::int64_t>(tables.sequences.size());
  const bool gap = record.first_sequence > known;
  throw_if<FormatError>(record.first_sequence < known || (gap && tables.info.complete),
                        "store: '{}' must start with sequence {}, got {}", path.string(), known,
                        record.first_sequence);
  const auto is_listed = [&](const auto& entry) { return tables.statistics.contains(entry.first); };
  throw_if<FormatError>(known > 0 && (shard.statistics.size() != tables.statistics.size() ||
                                      !std::ranges::all_of(shard.statistics, is_listed)),
                        "store: '{}' must have the statistics of the same sites and layers as the "
                        "shards before it; restore the original shard",
                        path.string());
  const std::int64_t rows_before = tables.offsets.back();
  tables.sequences.resize(static_cast<std::size_t>(record.first_sequence));
  tables.offsets.resize(tables.sequences.size() + 1, rows_before);
  for (Sequence& sequence : shard.sequences) tables.sequences.push_back(std::move(sequence));
  for (std::size_t i = 1; i < shard.offsets.size(); ++i) {
    tables.offsets.push_back(rows_before + shard.offsets[i]);
  }
  for (const auto& [place, more] : shard.statistics) {
    SiteStatistics& all = tables.statistics[place];
    all.running.merge(more.running);
    if (more.num_heads > 0) all.num_heads = more.num_heads;
  }
}

}  // namespace

CaptureTables gather_tables(const std::filesystem::path& capture, const CapturePlan& plan,
                            const CaptureInfo& info, const std::vector<ShardRecord>& records) {
  CaptureTables tables;
  tables.info = info;
  tables.activations = plan.activations;
  tables.router = plan.router;
  tables.router_dimensions = plan.router_dimensions;
  tables.identity_sha256 = identity_digest(plan);
  tables.shards = records;
  tables.offsets = {0};
  for (const ShardRecord& record : records) {
    const fs::path path = capture.parent_path() / record.file;
    append_shard(tables, read_shard_tables(path, record, tables.identity_sha256, Hdf5Trial::kDone),
                 record, path);
  }
  return tables;
}

void write_master(const std::filesystem::path& capture, const CaptureTables& tables) {
  const Lock lock;
  Hdf5Writer file(capture);
  Hdf5Access::append_trailer(file);
  for (const char* const column : {"rows/sequence", "rows/position", "rows/token"}) {
    write_virtual(file, column, H5T_STD_I32LE, 0, tables.shards);
  }
  if (!tables.info.class_names.empty()) {
    write_virtual(file, "rows/class", H5T_STD_I16LE, 0, tables.shards);
    file.set_attribute("names", tables.info.class_names, "rows/class");
  }
  const Id half = hdf5::half_type();
  const hid_t type = tables.info.storage == StorageType::kFloat16 ? half.get() : H5T_IEEE_F32LE;
  for (const ActivationInfo& activation : tables.activations) {
    const std::string name = activation_path(activation.site, activation.layer);
    write_virtual(file, name, type, activation.dim, tables.shards);
    file.set_attribute("hook", activation.hook, name);
  }
  write_sequences(file, tables);
  write_statistics(file, tables.statistics);
  write_routers(file, tables);
  write_attributes(file, tables);
  file.commit();
}

}  // namespace lime
