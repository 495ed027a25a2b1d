// SPDX-License-Identifier: Apache-2.0
#include "store/capture_tools.h"

#include <algorithm>
#include <system_error>

#include "core/files/output_lock.h"
#include "core/threads/thread_pool.h"
#include "store/capture_layout.h"
#include "store/capture_reader.h"
#include "store/capture_tables.h"
#include "store/hdf5/chunk_reader.h"
#include "store/hdf5/chunk_writer.h"
#include "store/hdf5/hdf5_api.h"
#include "store/hdf5/hdf5_writer.h"
#include "store/shard_folder.h"
#include "store/shard_tables.h"
#include "store/trailer.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kCopiedChunkBytes = std::int64_t{1} << 20;
constexpr std::int64_t kCopyValues = std::int64_t{1} << 20;

/// Returns the parts of a capture that fit in memory.
CaptureTables read_tables(const Hdf5File& file, const CaptureReader& reader) {
  CaptureTables tables = read_attributes(file);
  tables.sequences = reader.sequences();
  tables.offsets = reader.offsets();
  for (const auto& [site, layer] : list_statistics(file)) {
    tables.statistics[{site, layer}] = read_statistics(file, site, layer);
  }
  for (const int layer : reader.router_layers()) {
    tables.router[layer] = reader.router(layer);
    if (reader.has_router_dimensions(layer)) {
      tables.router_dimensions[layer] = reader.router_dimensions(layer);
    }
  }
  return tables;
}

/// Checks that a capture is complete: a packed file cannot be resumed.
void check_is_finished(const fs::path& path, const CaptureTables& tables) {
  if (tables.info.complete) return;
  throw_if(
      tables.shards.empty(),
      "store: '{}' was packed before the capture was finished; pack the finished capture instead",
      path.string());
  const std::optional<Json> manifest = ShardFolder(path).read_manifest();
  const int all = manifest ? planned_shards(*manifest) : 0;
  const std::string number = all > 0 ? fmt::format("{} of {}", tables.shards.size(), all)
                                     : fmt::format("{}", tables.shards.size());
  throw InvalidArgument(
      "store: '{}' is incomplete, {} shards are finished; complete it with --resume, then pack it",
      path.string(), number);
}

/// Returns true if `path` is a capture in a single file.
bool is_packed_capture(const fs::path& path) {
  try {
    return read_attributes(Hdf5File(path)).shards.empty();
  } catch (const FormatError&) {
    return false;
  }
}

/// Refuses to replace anything but another packed capture.
/// @param shards  of the capture that is packed
void check_output(const fs::path& path, const std::vector<ShardRecord>& shards,
                  const fs::path& out) {
  std::error_code error;
  throw_if(fs::equivalent(path, out, error),
           "store: '{}' cannot be packed into itself; use another name", path.string());
  for (const ShardRecord& shard : shards) {
    throw_if(fs::equivalent(path.parent_path() / shard.file, out, error),
             "store: '{}' is an input and would be overwritten; use another name", out.string());
  }
  throw_if(
      fs::is_regular_file(out, error) && !is_packed_capture(out),
      "store: '{}' is not a packed capture and will not be replaced; use another name or remove "
      "it",
      out.string());
}

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
    if (tables_.shards.empty()) attempt([&] { check_data(file, file.num_rows("rows/sequence")); });
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
      const bool is_known = std::ranges::find(problems_, error.what()) != problems_.end();
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
    throw_if<FormatError>(
        offsets != texts + 1,
        "store: '{}': the number of offsets must be the number of texts plus one, got {} and {}",
        file.path().string(), offsets, texts);
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
    CaptureTables capture_tables;
    capture_tables.shards = {record};
    check_shards_exist(path_, capture_tables);
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

  void check_data(const Hdf5File& file, std::int64_t num_rows) {
    if (progress_.total == 0) progress_.total = bytes_of_rows(tables_, num_rows, path_);
    attempt([&] { check_row_table(file, num_rows); });
    for (const ActivationInfo& activation_info : tables_.activations) {
      attempt([&] { check_activation(file, activation_info, num_rows); });
    }
  }

  void check_row_table(const Hdf5File& file, std::int64_t num_rows) const {
    RowTable rows;
    read_rows_into(file, rows);
    throw_if<FormatError>(rows.size() != num_rows,
                          "store: '{}': 'rows' must have {} entries, got {}", file.path().string(),
                          num_rows, rows.size());
    const std::vector<std::int64_t> offsets = file.read<std::int64_t>("sequences/offset");
    const std::int64_t first =
        file.has_attribute("first_sequence") ? file.int_attribute("first_sequence") : 0;
    check_rows(rows, {offsets, first, tables_.info.class_names.size()}, file.path());
  }

  void check_activation(const Hdf5File& file, const ActivationInfo& item, std::int64_t num_rows) {
    const std::string name = activation_path(item.site, item.layer);
    const ChunkReader reader(file, name);
    throw_if<FormatError>(reader.num_rows() != num_rows || reader.dim() != item.dim,
                          "store: '{}': '{}' must be [{}, {}], got [{}, {}]", file.path().string(),
                          name, num_rows, item.dim, reader.num_rows(), reader.dim());
    progress_.note = fmt::format("{} {}", item.site, item.layer);
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

void pack_capture(const fs::path& path, const fs::path& out, const ProgressFn& on_progress,
                  const std::stop_token& stop) {
  const CaptureReader reader(path);
  const OutputLock lock(out);
  CaptureTables tables = read_tables(Hdf5File(path, Hdf5Trial::kDone), reader);
  check_is_finished(path, tables);
  check_output(path, tables.shards, out);
  tables.shards.clear();
  Hdf5Writer file(out);
  Hdf5Access::append_trailer(file);
  write_rows(file, reader.rows(), tables.info.class_names);
  write_sequences(file, tables);
  write_statistics(file, tables.statistics);
  write_routers(file, tables);
  ChunkQueue queue(tables.info.compression == Compression::kDeflate ? available_threads() : 1);
  Progress progress{0, bytes_of_rows(tables, reader.num_rows(), path), ""};
  for (const ActivationInfo& activation : tables.activations) {
    ChunkWriter chunks(file, activation, tables.info.storage, tables.info.compression,
                       kCopiedChunkBytes, queue);
    const std::int64_t step = std::max<std::int64_t>(1, kCopyValues / activation.dim);
    progress.note = fmt::format("{} {}", activation.site, activation.layer);
    for (std::int64_t first = 0; first < reader.num_rows(); first += step) {
      if (stop.stop_requested()) {
        throw Interrupted("store: packing '{}' was interrupted; nothing was written",
                          path.string());
      }
      const std::int64_t count = std::min(step, reader.num_rows() - first);
      chunks.append(reader.read_rows(activation.site, activation.layer, first, count));
      progress.done +=
          count * activation.dim * static_cast<std::int64_t>(bytes_per_value(tables.info.storage));
      if (on_progress) on_progress(progress);
    }
    chunks.finish();
  }
  write_attributes(file, tables);
  file.commit();
}

std::string missing_prefix(const CaptureInfo& info, std::int64_t num_sequences) {
  if (!info.extra.is_object()) return "";
  const Json count = info.extra.value("sequences_without_prefix", Json());
  const Json prefix = info.extra.value("tokenizer_prefix", Json());
  if (!count.is_number_integer() || count == 0 || !prefix.is_string()) return "";
  return fmt::format(
      "{} of {} sequences do not begin with '{}', which the tokenizer puts before every text",
      count.get<std::int64_t>(), num_sequences, prefix.get<std::string>());
}

CaptureSummary summarize_capture(const fs::path& path) {
  const CaptureReader reader(path);
  const CaptureTables tables = read_attributes(Hdf5File(path, Hdf5Trial::kDone));
  CaptureSummary summary;
  summary.info = reader.info();
  summary.activations = tables.activations;
  summary.identity_sha256 = tables.identity_sha256;
  summary.num_rows = reader.num_rows();
  summary.num_sequences = reader.num_sequences();
  summary.router_layers = reader.router_layers();
  summary.bytes_on_disk = static_cast<std::int64_t>(fs::file_size(path));
  for (const ShardRecord& shard : tables.shards) {
    summary.shards.push_back(path.parent_path() / shard.file);
    summary.bytes_on_disk += shard.bytes;
  }
  return summary;
}

std::vector<std::string> verify_capture(const fs::path& path, const ProgressFn& on_progress,
                                        std::stop_token stop) {
  return Verification(path, on_progress, std::move(stop)).run();
}

}  // namespace lime
