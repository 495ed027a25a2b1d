// SPDX-License-Identifier: Apache-2.0
#include "store/capture_verify.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "store/capture_layout.h"
#include "store/capture_master.h"
#include "store/capture_tables.h"
#include "store/data_files.h"
#include "store/hdf5/chunk_reader.h"
#include "store/trailer.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

/// Runs all checks and collects their problems.
class Verification {
 public:
  Verification(const fs::path& path, const ProgressFn& on_progress, std::stop_token stop)
      : path_(path), on_progress_(on_progress), stop_(std::move(stop)) {}

  std::vector<std::string> run() {
    const bool has_trailer = check_trailer(path_);
    const Hdf5File file(path_);
    tables_ = read_attributes(file);
    if (!tables_.info.complete) {
      problems_.push_back("store: '" + path_.string() +
                          "': the capture is incomplete; complete it with --resume");
    }
    const std::size_t known = problems_.size();
    attempt([&] { check_sequences(file); });
    attempt([&] { check_statistics(file); });
    attempt([&] { check_router(file); });
    if (tables_.shards.empty()) {
      attempt([&] { check_data(file, file.num_rows("rows/sequence")); });
    }
    if (!has_trailer && problems_.size() == known) report_missing_trailer(path_);
    std::int64_t num_rows = 0;
    for (const ShardRecord& shard : tables_.shards) num_rows += shard.num_rows;
    progress_.total = bytes_of_rows(tables_, num_rows, path_);
    for (const ShardRecord& shard : tables_.shards) attempt([&] { check_shard_file(shard); });
    return std::move(problems_);
  }

 private:
  void attempt(const std::function<void()>& check) {
    try {
      check();
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      // Several checks may read what is damaged.
      const bool is_known =
          std::find(problems_.begin(), problems_.end(), error.what()) != problems_.end();
      if (!is_known) problems_.emplace_back(error.what());
    }
  }

  /// Call only for a file without other problems, because damage may also remove the digest.
  void report_missing_trailer(const fs::path& path) {
    problems_.push_back("store: '" + path.string() +
                        "' has no digest because another program wrote or truncated it; its texts "
                        "and attributes cannot be verified");
  }

  static void check_sequences(const Hdf5File& file) {
    const std::size_t texts = read_sequences(file).size();
    const std::size_t offsets = file.read<std::int64_t>("sequences/offset").size();
    if (offsets != texts + 1) {
      throw FormatError(
          "store: '{}': the number of offsets must be the number of texts plus one, got {} and {}",
          file.path().string(), offsets, texts);
    }
  }

  static void check_statistics(const Hdf5File& file) {
    for (const auto& [site, layer] : list_statistics(file)) {
      read_statistics(file, site, layer);
      const std::string rms = statistics_path(site, layer) + "/rms";
      if (file.has(rms)) file.read<double>(rms);
    }
  }

  static void check_router(const Hdf5File& file) {
    for (const std::string group : {"router", "router_dimensions"}) {
      if (!file.has(group)) continue;
      for (const std::string& name : file.datasets(group)) file.read_matrix(group + "/" + name);
    }
  }

  void check_shard_file(const ShardRecord& record) {
    CaptureTables one;
    one.shards = {record};
    check_shards_exist(path_, one);
    const fs::path path = path_.parent_path() / record.file;
    const bool has_trailer = check_trailer(path);
    const std::size_t known = problems_.size();
    const Hdf5File shard(path);
    check_shard(shard, record, tables_.identity_sha256);
    attempt([&] { check_sequences(shard); });
    attempt([&] { check_statistics(shard); });
    check_data(shard, record.num_rows);
    if (!has_trailer && problems_.size() == known) report_missing_trailer(path);
  }

  /// Checks rows and activations of a plain file.
  void check_data(const Hdf5File& file, std::int64_t num_rows) {
    if (progress_.total == 0) progress_.total = bytes_of_rows(tables_, num_rows, path_);
    attempt([&] { check_row_table(file, num_rows); });
    for (const ActivationInfo& one : tables_.activations) {
      attempt([&] { check_activation(file, one, num_rows); });
    }
  }

  void check_row_table(const Hdf5File& file, std::int64_t num_rows) const {
    RowTable rows;
    read_rows_into(file, rows);
    if (rows.size() != num_rows) {
      throw FormatError("store: '{}': 'rows' must have {} entries, got {}", file.path().string(),
                        num_rows, rows.size());
    }
    const std::vector<std::int64_t> offsets = file.read<std::int64_t>("sequences/offset");
    const std::int64_t first =
        file.has_attribute("first_sequence") ? file.int_attribute("first_sequence") : 0;
    check_rows(rows, {offsets, first, tables_.info.class_names.size()}, file.path());
  }

  void check_activation(const Hdf5File& file, const ActivationInfo& one, std::int64_t num_rows) {
    const std::string name = activation_path(one.site, one.layer);
    const ChunkReader reader(file, name);
    if (reader.num_rows() != num_rows || reader.dim() != one.dim) {
      throw FormatError("store: '{}': '{}' must be [{}, {}], got [{}, {}]", file.path().string(),
                        name, num_rows, one.dim, reader.num_rows(), reader.dim());
    }
    progress_.note = fmt::format("{} {}", one.site, one.layer);
    reader.verify(problems_, [&](std::int64_t bytes) {
      progress_.done += bytes;
      if (on_progress_) on_progress_(progress_);
      if (stop_.stop_requested()) {
        throw Interrupted("store: verifying '{}' was interrupted", path_.string());
      }
    });
  }

  fs::path path_;
  const ProgressFn& on_progress_;
  std::stop_token stop_;
  CaptureTables tables_;
  Progress progress_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify_capture(const fs::path& path, const ProgressFn& on_progress,
                                        std::stop_token stop) {
  return Verification(path, on_progress, std::move(stop)).run();
}

}  // namespace lime
