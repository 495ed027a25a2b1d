// SPDX-License-Identifier: Apache-2.0
#include "store/data_files.h"

#include "store/shard_tables.h"
#include "store/trailer.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxOpenFiles = 64;

/// Bytes of decompressed chunks: two of the usual 1 MiB for each of 8 threads.
constexpr std::size_t kChunkCacheBytes = std::size_t{16} << 20;

}  // namespace

const ChunkReader& DataFile::activation(const std::string& site, int layer) {
  const std::string name = activation_path(site, layer);
  const std::lock_guard guard(mutex_);
  return readers_.try_emplace(name, file_, name, cache_).first->second;
}

DataFiles::DataFiles(const fs::path& path, const CaptureTables& tables)
    : shards_(tables.shards),
      identity_sha256_(tables.identity_sha256),
      cache_(std::make_shared<ChunkCache>(kChunkCacheBytes)) {
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

}  // namespace lime
