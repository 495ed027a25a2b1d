// SPDX-License-Identifier: Apache-2.0
#include "store/capture_master.h"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "store/capture_tables.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_writer.h"

namespace lime {

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

void append_sequences(CaptureTables& tables, const Hdf5File& file, const ShardRecord& record) {
  const auto known = static_cast<std::int64_t>(tables.sequences.size());
  const bool gap = record.first_sequence > known;
  throw_if<FormatError>(record.first_sequence < known || (gap && tables.info.complete),
                        "store: '{}' must start with sequence {}, got {}", file.path().string(),
                        known, record.first_sequence);
  const std::int64_t rows_before = tables.offsets.back();
  tables.sequences.resize(static_cast<std::size_t>(record.first_sequence));
  tables.offsets.resize(tables.sequences.size() + 1, rows_before);
  const std::vector<std::int64_t> offsets = file.read<std::int64_t>("sequences/offset");
  for (Sequence& sequence : read_sequences(file)) tables.sequences.push_back(std::move(sequence));
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    tables.offsets.push_back(rows_before + offsets[i]);
  }
  throw_if<FormatError>(tables.offsets.size() != tables.sequences.size() + 1 ||
                            tables.offsets.back() != rows_before + record.num_rows,
                        "store: '{}': its sequences do not cover its {} rows", file.path().string(),
                        record.num_rows);
}

}  // namespace

void check_shard(const Hdf5File& file, const ShardRecord& record,
                 const std::string& identity_sha256) {
  const bool is_shard =
      file.has_attribute("format") && file.string_attribute("format") == kShardFormat;
  throw_if<FormatError>(!is_shard || file.string_attribute("identity_sha256") != identity_sha256 ||
                            file.int_attribute("shard") != record.shard,
                        "store: '{}' belongs to another capture; restore the original shard",
                        file.path().string());
}

CaptureTables gather_tables(const std::filesystem::path& capture, const CapturePlan& plan,
                            const CaptureInfo& info, const std::vector<ShardRecord>& records) {
  CaptureTables tables;
  tables.info = info;
  tables.info.complete = records.size() == static_cast<std::size_t>(plan.num_shards);
  tables.activations = plan.activations;
  tables.router = plan.router;
  tables.router_dimensions = plan.router_dimensions;
  tables.identity_sha256 = identity_digest(plan);
  tables.shards = records;
  tables.offsets = {0};
  for (const ShardRecord& record : records) {
    check_trailer(capture.parent_path() / record.file);
    const Hdf5File file(capture.parent_path() / record.file, Hdf5Trial::kDone);
    check_shard(file, record, tables.identity_sha256);
    append_sequences(tables, file, record);
    for (const auto& [site, layer] : list_statistics(file)) {
      const SiteStatistics more = read_statistics(file, site, layer);
      SiteStatistics& all = tables.statistics[{site, layer}];
      all.running.merge(more.running);
      if (more.num_heads > 0) all.num_heads = more.num_heads;
    }
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
