// SPDX-License-Identifier: Apache-2.0
#pragma once

// Private to src/store.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store/capture_layout.h"
#include "store/hdf5/chunk_cache.h"
#include "store/hdf5/chunk_reader.h"
#include "store/hdf5/hdf5_file.h"

namespace lime {

/// Reads the rows of one file: a shard or a packed capture. Thread-safe.
class DataFile {
 public:
  DataFile(const std::filesystem::path& path, Hdf5Trial trial, std::shared_ptr<ChunkCache> cache)
      : file_(path, trial), cache_(std::move(cache)) {}

  const Hdf5File& file() const { return file_; }
  /// Returns the reader of one dataset, created at the first call. @throws FormatError
  const ChunkReader& activation(const std::string& site, int layer);

 private:
  Hdf5File file_;
  std::shared_ptr<ChunkCache> cache_;
  std::mutex mutex_;
  std::map<std::string, ChunkReader> readers_;
};

/// Opens the files of one capture, in row order; at most 64 are open. Thread-safe.
class DataFiles {
 public:
  DataFiles(const std::filesystem::path& path, const CaptureTables& tables);

  struct Part {
    std::filesystem::path path;
    std::int64_t first_row = 0;
    std::int64_t num_rows = 0;
  };
  const std::vector<Part>& parts() const { return parts_; }
  std::int64_t num_rows() const;

  /// @throws IoError, FormatError  if it is missing, truncated or of another capture.
  std::shared_ptr<DataFile> open(std::size_t part);

 private:
  std::shared_ptr<DataFile> load(std::size_t part) const;

  std::vector<Part> parts_;
  std::vector<ShardRecord> shards_;
  std::string identity_sha256_;
  std::shared_ptr<ChunkCache> cache_;  // shared by all files
  std::mutex mutex_;
  std::list<std::pair<std::size_t, std::shared_ptr<DataFile>>> open_;  // most recently used first
};

}  // namespace lime
