// SPDX-License-Identifier: Apache-2.0
#include "store/data_files.h"

#include <system_error>

#include "core/errors.h"
#include "store/capture_master.h"
#include "store/shard_folder.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOpenFiles = 64;

/// Bytes of decompressed chunks: for the usual 1 MiB chunks, two for each of 8 threads that read at
/// different positions.
constexpr std::size_t kCacheBytes = std::size_t{16} << 20;

}  // namespace

const ChunkReader& DataFile::activation(const std::string& site, int layer) {
  const std::string name = activation_path(site, layer);
  const std::lock_guard guard(mutex_);
  return readers_.try_emplace(name, file_, name, cache_).first->second;
}

DataFiles::DataFiles(const fs::path& path, const CaptureTables& tables)
    : shards_(tables.shards),
      identity_sha256_(tables.identity_sha256),
      cache_(std::make_shared<ChunkCache>(kCacheBytes)) {
  std::int64_t row = 0;
  for (const ShardRecord& shard : shards_) {
    parts_.push_back({path.parent_path() / shard.file, row, shard.num_rows});
    row += shard.num_rows;
  }
  if (!shards_.empty()) return;
  auto whole = std::make_shared<DataFile>(path, Hdf5Trial::kDone, cache_);
  const std::vector<std::int64_t> shape = whole->file().shape("rows/sequence");
  parts_.push_back({path, 0, shape.empty() ? 0 : shape.front()});
  open_.emplace_front(0, std::move(whole));
}

std::int64_t DataFiles::num_rows() const {
  return parts_.empty() ? 0 : parts_.back().first_row + parts_.back().num_rows;
}

std::shared_ptr<DataFile> DataFiles::open(std::size_t part) {
  const std::lock_guard guard(mutex_);
  for (auto entry = open_.begin(); entry != open_.end(); ++entry) {
    if (entry->first != part) continue;
    open_.splice(open_.begin(), open_, entry);
    return open_.front().second;
  }
  open_.emplace_front(part, load(part));
  if (open_.size() > kMaxOpenFiles) open_.pop_back();
  return open_.front().second;
}

std::shared_ptr<DataFile> DataFiles::load(std::size_t part) const {
  check_trailer(parts_[part].path);
  auto file = std::make_shared<DataFile>(parts_[part].path, Hdf5Trial::kFirst, cache_);
  if (!shards_.empty()) check_shard(file->file(), shards_[part], identity_sha256_);
  return file;
}

void check_shards_exist(const fs::path& capture, const CaptureTables& tables) {
  for (const ShardRecord& shard : tables.shards) {
    if (!is_shard_name(shard.file)) {
      throw FormatError("store: '{}' refers to '{}', which is not a shard next to it",
                        capture.string(), shard.file);
    }
    const fs::path path = capture.parent_path() / shard.file;
    std::error_code error;
    if (!fs::exists(path, error)) {
      throw IoError(
          "store: '{}' needs '{}', which is missing; keep the folder next to the file, or resume "
          "the capture",
          capture.string(), path.string());
    }
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
    if (bytes != shard.bytes) {
      throw FormatError("store: '{}' is {}: it has {} bytes instead of {}; resume the capture",
                        path.string(), bytes < shard.bytes ? "truncated" : "damaged", bytes,
                        shard.bytes);
    }
  }
}

}  // namespace lime
