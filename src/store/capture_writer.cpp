// SPDX-License-Identifier: Apache-2.0
#include "store/capture_writer.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "core/files/atomic_file.h"
#include "store/capture_layout.h"
#include "store/capture_tables.h"
#include "store/file_names.h"
#include "store/hdf5/chunk_writer.h"
#include "store/hdf5/hdf5_writer.h"
#include "store/shard_folder.h"
#include "store/shard_tables.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

void check_site_name(const std::string& site) {
  const bool good = !site.empty() && site.front() != '.' && site.size() <= 100 &&
                    std::ranges::all_of(site, [](char letter) {
                      return letter > ' ' && letter < 127 && letter != '/';
                    });
  throw_if(!good,
           "store: a site must be 1 to 100 visible ASCII characters without slashes, got '{}'",
           site);
}

void check_plan(const CapturePlan& plan) {
  throw_if(plan.num_shards < 0, "store: num_shards must be >= 0, got {}", plan.num_shards);
  std::set<std::pair<std::string, int>> seen;
  for (const ActivationInfo& activation : plan.activations) {
    check_site_name(activation.site);
    throw_if(activation.layer < 0 || activation.dim < 1,
             "store: {} must have layer >= 0 and dim >= 1, got {} and {}", activation.site,
             activation.layer, activation.dim);
    throw_if(!seen.emplace(activation.site, activation.layer).second,
             "store: {} of layer {} is duplicated in the plan", activation.site, activation.layer);
  }
}

/// Returns true if `path` may be removed as an old capture: never deletes other files of the user.
bool is_capture(const fs::path& path) {
  try {
    const Hdf5File file(path);
    return file.has_attribute("format") && file.string_attribute("format") == kCaptureFormat;
  } catch (const FormatError&) {
    return false;
  }
}

/// Returns the capture with another extension that uses the shard folder of `path`; empty for none.
fs::path owner_of_shards(const fs::path& path) {
  for (const char* const ending : {"", ".h5", ".hdf5"}) {
    fs::path other = path.parent_path() / (capture_stem(path) + ending);
    std::error_code ignored;
    if (other == path || !fs::is_regular_file(other, ignored)) continue;
    try {
      if (!read_attributes(Hdf5File(other)).shards.empty()) return other;
    } catch (const Error&) {  // unreadable without its shards too
    }
  }
  return {};
}

struct ShardStart {
  int shard = 0;
  std::int64_t first_sequence = 0;
  std::string identity_sha256;
};

/// Returns the first row of each sequence, then the number of rows.
std::vector<std::int64_t> sequence_offsets(const std::vector<std::int32_t>& row_sequences,
                                           std::int64_t first_sequence, std::size_t num_sequences) {
  std::vector<std::int64_t> offsets(num_sequences + 1, 0);
  for (const std::int32_t sequence : row_sequences) {
    ++offsets[static_cast<std::size_t>(sequence - first_sequence) + 1];
  }
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
  return offsets;
}

}  // namespace

void CaptureWriterOptions::validate() const {
  throw_if(num_processes < 1 || process < 0 || process >= num_processes,
           "store: process must be in [0, num_processes), got {} of {}", process, num_processes);
  constexpr std::int64_t kMin = std::int64_t{1} << 10;
  constexpr std::int64_t kMax = std::int64_t{4} << 20;
  throw_if(chunk_bytes < kMin || chunk_bytes > kMax,
           "store: chunk_bytes must be in [{}, {}], got {}", kMin, kMax, chunk_bytes);
  throw_if(threads < 1, "store: threads must be at least 1, got {}", threads);
  throw_if(
      if_exists == IfExists::kReplace && num_processes > 1,
      "store: a capture that several processes write cannot be replaced because one would remove "
      "the shards of the others; remove it first");
}

std::int64_t chunk_memory(const CaptureWriterOptions& options, std::int64_t row_bytes) {
  return ChunkQueue::most_bytes(options.threads, std::max(options.chunk_bytes, row_bytes));
}

struct ShardWriter::Impl {
  Impl(const ShardFolder& shard_folder, const CapturePlan& capture_plan, const ShardStart& start,
       const CaptureWriterOptions& options);

  void check_complete() const;

  ShardFolder folder;
  std::vector<std::string> class_names;
  std::int64_t first_sequence;
  int shard;
  std::int64_t bytes_written = 0;
  RowTable rows;
  CaptureTables tables;  // sequences and statistics
  std::optional<Hdf5Writer> file;
  std::vector<ChunkWriter> chunks;  // refer to *file: destroyed first
  ChunkQueue queue;                 // refers to them
};

struct CaptureWriter::Impl {
  fs::path path;
  CapturePlan plan;
  CaptureWriterOptions options;
  ShardFolder folder;
  Json identity;
  std::string identity_sha256;

  bool is_mine(int shard) const { return shard % options.num_processes == options.process; }
  bool has_shard(int shard) const { return plan.num_shards == 0 || shard < plan.num_shards; }
  void prepare();
  void check_may_start(const Json* manifest) const;
  /// @return false if it belongs to another capture and may be replaced. @throws InvalidArgument
  bool is_same_capture(const Json& manifest) const;
  bool is_finished() const;
  std::vector<ShardRecord> finished_shards() const;
  void write(const std::vector<ShardRecord>& records, const Json& extra, bool is_complete) const;
  /// Returns the info of the run that started the capture, possibly another process.
  CaptureInfo common_info() const;
};

void CaptureWriter::Impl::prepare() {
  if (options.if_exists == IfExists::kReplace) remove_capture(path);
  const std::optional<Json> manifest = folder.read_manifest();
  check_may_start(manifest ? &*manifest : nullptr);
  if (manifest && is_same_capture(*manifest)) return;
  // Fails before creating a folder if the location is not writable.
  { const AtomicFile probe(path); }
  if (manifest) {
    folder.write_manifest(identity, plan.info);
  } else if (!folder.write_new_manifest(identity, plan.info)) {
    is_same_capture(*folder.read_manifest());  // another process created it first
  }
}

bool CaptureWriter::Impl::is_same_capture(const Json& manifest) const {
  const auto difference = first_difference(manifest["identity"], identity);
  if (!difference) return true;
  const bool may_replace = options.if_exists != IfExists::kResume && options.num_processes == 1 &&
                           finished_shards().empty();
  if (may_replace) return false;
  throw InvalidArgument(
      "store: '{}' was started with different options: {}; use the same ones, or another "
      "output file",
      path.string(), to_text(*difference));
}

void remove_capture(const fs::path& path) {
  const ShardFolder folder(path);
  std::error_code error;
  if (fs::exists(path, error)) {
    throw_if(!is_capture(path) && !folder.read_manifest(),
             "store: '{}' is not a capture and will not be replaced; use another name or remove it",
             path.string());
    if (!fs::remove(path, error) || error) {
      throw IoError("store: '{}' cannot be removed: {}", path.string(),
                    describe_errno(error.value()));
    }
  }
  folder.remove_all();
}

void CaptureWriter::Impl::check_may_start(const Json* manifest) const {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  if (options.if_exists == IfExists::kResume) {
    throw_if(
        exists && manifest == nullptr,
        "store: '{}' is one file without shards and cannot be resumed; remove it, or use another "
        "-o",
        path.string());
    return;
  }
  throw_if(exists,
           "store: '{}' already exists; use --resume to continue, remove it, or use another -o",
           path.string());
  if (manifest == nullptr) return;
  for (int shard = 0; shard < std::max(plan.num_shards, 1); ++shard) {
    if (is_mine(shard) && folder.finished(shard)) {
      const fs::path owner = owner_of_shards(path);
      throw_if(!owner.empty(), "store: '{}' contains the shards of '{}'; use another -o",
               folder.path().string(), owner.string());
      throw InvalidArgument(
          "store: '{}' contains finished shards of an earlier run; use --resume to continue, "
          "remove the folder, or use another -o",
          folder.path().string());
    }
  }
}

std::vector<ShardRecord> CaptureWriter::Impl::finished_shards() const {
  folder.refresh();
  std::vector<ShardRecord> records;
  for (int shard = 0; has_shard(shard); ++shard) {
    if (std::optional<ShardRecord> record = folder.finished(shard)) {
      records.push_back(std::move(*record));
    } else if (plan.num_shards == 0) {
      break;
    }
  }
  return records;
}

CaptureInfo CaptureWriter::Impl::common_info() const {
  const std::optional<Json> manifest = folder.read_manifest();
  throw_if<IoError>(!manifest, "store: '{}' has no manifest.json; capture it again",
                    folder.path().string());
  return capture_info_from_json((*manifest)["info"],
                                "store: '" + (folder.path() / "manifest.json").string() + "'");
}

bool CaptureWriter::Impl::is_finished() const {
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  try {
    const CaptureTables tables = read_attributes(Hdf5File(path));
    return tables.info.complete && tables.identity_sha256 == identity_sha256;
  } catch (const FormatError&) {
    return false;
  }
}

CaptureWriter::CaptureWriter(const fs::path& path, CapturePlan plan, CaptureWriterOptions options) {
  options.validate();
  check_plan(plan);
  throw_if(plan.num_shards == 0 && options.num_processes > 1,
           "store: several processes need a known number of shards");
  throw_if(path.filename().empty() || path.stem().empty(), "store: '{}' must be a file name",
           path.string());
  impl_ = std::make_unique<Impl>(
      Impl{path, std::move(plan), options, ShardFolder(path), Json(), std::string()});
  impl_->identity = parse_json(identity_text(impl_->plan), "identity");
  impl_->identity_sha256 = identity_digest(impl_->plan);
  impl_->prepare();
}

CaptureWriter::~CaptureWriter() = default;

const CapturePlan& CaptureWriter::plan() const { return impl_->plan; }

std::vector<int> CaptureWriter::missing_shards() const {
  if (impl_->plan.num_shards == 0) return {static_cast<int>(impl_->finished_shards().size())};
  std::vector<int> missing;
  for (int shard = 0; shard < impl_->plan.num_shards; ++shard) {
    if (impl_->is_mine(shard) && !is_finished(shard)) missing.push_back(shard);
  }
  return missing;
}

bool CaptureWriter::is_finished(int shard) const {
  return impl_->folder.finished(shard).has_value();
}

RowTable CaptureWriter::read_rows(int shard) const {
  const std::optional<ShardRecord> record = impl_->folder.finished(shard);
  throw_if(!record, "store: shard {} of '{}' is not finished", shard, impl_->path.string());
  return read_shard_rows(impl_->path.parent_path() / record->file, *record, impl_->identity_sha256);
}

ShardWriter CaptureWriter::begin_shard(int shard, std::int64_t first_sequence) {
  throw_if(shard < 0 || !impl_->has_shard(shard) || !impl_->is_mine(shard),
           "store: shard {} of {} is not assigned to process {} of {}", shard,
           impl_->plan.num_shards, impl_->options.process, impl_->options.num_processes);
  throw_if(first_sequence < 0, "store: first_sequence must be >= 0, got {}", first_sequence);
  return ShardWriter(std::make_unique<ShardWriter::Impl>(
      impl_->folder, impl_->plan, ShardStart{shard, first_sequence, impl_->identity_sha256},
      impl_->options));
}

void CaptureWriter::Impl::write(const std::vector<ShardRecord>& records, const Json& extra,
                                bool is_complete) const {
  CaptureInfo info = common_info();
  info.extra.update(extra);
  info.complete = is_complete;
  write_master(path, gather_tables(path, plan, info, records));
}

bool CaptureWriter::finish(const Json& extra) {
  const std::vector<ShardRecord> records = impl_->finished_shards();
  const auto planned = static_cast<std::size_t>(impl_->plan.num_shards);
  if (records.empty() || (planned > 0 && records.size() != planned)) return false;
  if (impl_->options.num_processes == 1 || !impl_->is_finished()) {
    impl_->write(records, extra, true);
  }
  impl_->folder.remove_temporaries();
  return true;
}

int CaptureWriter::finish_partial(const Json& extra) {
  const std::vector<ShardRecord> records = impl_->finished_shards();
  if (records.empty()) return 0;
  const bool is_complete = records.size() == static_cast<std::size_t>(impl_->plan.num_shards);
  impl_->write(records, extra, is_complete);
  return static_cast<int>(records.size());
}

std::string unfinished_run(const fs::path& path) {
  std::error_code ignored;
  const ShardFolder folder(path);
  const std::optional<Json> manifest =
      fs::exists(path, ignored) ? std::nullopt : folder.read_manifest();
  if (!manifest) return "";
  const int all = planned_shards(*manifest);
  int finished = 0;
  if (all == 0) {  // a recording of the Python package that does not know its length beforehand
    while (folder.finished(finished)) ++finished;
    return fmt::format(
        "'{}' contains an unfinished run ({} shards); use the recorder's resume=True to continue",
        folder.path().string(), finished);
  }
  for (int shard = 0; shard < all; ++shard) finished += folder.finished(shard) ? 1 : 0;
  return fmt::format("'{}' contains an unfinished run ({} of {} shards); use --resume to continue",
                     folder.path().string(), finished, all);
}

std::optional<CaptureInfo> unfinished_info(const fs::path& path) {
  const std::optional<Json> manifest = ShardFolder(path).read_manifest();
  if (!manifest) return std::nullopt;
  return capture_info_from_json((*manifest)["info"], "store: '" + path.string() + "'");
}

ShardWriter::Impl::Impl(const ShardFolder& shard_folder, const CapturePlan& capture_plan,
                        const ShardStart& start, const CaptureWriterOptions& options)
    : folder(shard_folder),
      class_names(capture_plan.info.class_names),
      first_sequence(start.first_sequence),
      shard(start.shard),
      queue(options.threads) {
  file.emplace(folder.shard_path(shard));
  Hdf5Access::append_trailer(*file);
  tables.info = capture_plan.info;
  file->set_attribute("format", kShardFormat);
  file->set_attribute("schema_version", kCaptureSchemaVersion);
  file->set_attribute("shard", shard);
  file->set_attribute("first_sequence", first_sequence);
  file->set_attribute("identity_sha256", start.identity_sha256);
  // The queue refers to the writers, so they must not move.
  chunks.reserve(capture_plan.activations.size());
  for (const ActivationInfo& activation : capture_plan.activations) {
    chunks.emplace_back(*file, activation, capture_plan.info.storage, capture_plan.info.compression,
                        options.chunk_bytes, queue);
  }
}

ShardWriter::ShardWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ShardWriter::~ShardWriter() = default;
ShardWriter::ShardWriter(ShardWriter&&) noexcept = default;
ShardWriter& ShardWriter::operator=(ShardWriter&&) noexcept = default;

void ShardWriter::add_sequences(std::span<const Sequence> sequences) {
  auto& all = impl_->tables.sequences;
  all.insert(all.end(), sequences.begin(), sequences.end());
}

void ShardWriter::set_scores(std::int64_t first, std::span<const SequenceScore> scores) {
  std::vector<Sequence>& all = impl_->tables.sequences;
  const auto count = static_cast<std::int64_t>(scores.size());
  const std::int64_t begin = first - impl_->first_sequence;
  throw_if(
      begin < 0 || begin + count > static_cast<std::int64_t>(all.size()),
      "store: scores of sequences {} to {} must be within the shard's {} sequences starting at "
      "{}",
      first, first + count - 1, all.size(), impl_->first_sequence);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    Sequence& sequence = all[static_cast<std::size_t>(begin) + i];
    sequence.log_likelihood = scores[i].log_likelihood;
    sequence.scored_tokens = scores[i].scored_tokens;
  }
}

void ShardWriter::append_rows(const RowTable& rows) {
  const std::size_t size = rows.sequence.size();
  const std::size_t classes = impl_->class_names.empty() ? 0 : size;
  throw_if(
      rows.position.size() != size || rows.token.size() != size || rows.class_id.size() != classes,
      "store: positions, tokens{} must match the number of sequences, {}, got {}, {} and {} "
      "classes",
      classes > 0 ? " and classes" : "", size, rows.position.size(), rows.token.size(),
      rows.class_id.size());
  std::int64_t last = impl_->rows.size() > 0 ? impl_->rows.sequence.back() : impl_->first_sequence;
  for (const std::int32_t sequence : rows.sequence) {
    throw_if(sequence < last, "store: rows must be in sequence order, got {} after {}", sequence,
             last);
    last = sequence;
  }
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(impl_->rows.sequence, rows.sequence);
  append(impl_->rows.position, rows.position);
  append(impl_->rows.token, rows.token);
  append(impl_->rows.class_id, rows.class_id);
}

void ShardWriter::append(std::size_t index, const ConstMatrixRef& rows,
                         const std::shared_ptr<const void>& owner) {
  throw_if(index >= impl_->chunks.size(), "store: the capture has {} activations, got index {}",
           impl_->chunks.size(), index);
  ChunkWriter& chunk = impl_->chunks[index];
  throw_if(rows.cols() != chunk.activation().dim,
           "store: rows of {} in layer {} must have dim {}, got {}", chunk.activation().site,
           chunk.activation().layer, chunk.activation().dim, rows.cols());
  chunk.append(rows, owner);
  impl_->bytes_written +=
      rows.size() * static_cast<std::int64_t>(bytes_per_value(impl_->tables.info.storage));
}

void ShardWriter::set_statistics(const std::string& site, int layer,
                                 const RunningStatistics& statistics, std::int64_t num_heads) {
  throw_if(num_heads > 0 && statistics.mean.size() % num_heads != 0,
           "store: {} of layer {} has {} dimensions, not a multiple of {} heads", site, layer,
           statistics.mean.size(), num_heads);
  impl_->tables.statistics[{site, layer}] = {statistics, num_heads};
}

std::int64_t ShardWriter::num_rows() const { return impl_->rows.size(); }
std::int64_t ShardWriter::bytes_written() const { return impl_->bytes_written; }

void ShardWriter::Impl::check_complete() const {
  for (const ChunkWriter& chunk : chunks) {
    throw_if(chunk.num_rows() != rows.size(),
             "store: {} of layer {} must have the {} announced rows, got {}",
             chunk.activation().site, chunk.activation().layer, rows.size(), chunk.num_rows());
  }
  const auto end = first_sequence + static_cast<std::int64_t>(tables.sequences.size());
  if (rows.size() > 0 && rows.sequence.back() >= end) {
    throw InvalidArgument(
        "store: the last row belongs to sequence {}, but the shard's sequences end at {}",
        rows.sequence.back(), end);
  }
}

void ShardWriter::finish() {
  if (!impl_->file) throw InvalidArgument("store: a shard must be finished only once");
  impl_->check_complete();
  impl_->tables.offsets =
      sequence_offsets(impl_->rows.sequence, impl_->first_sequence, impl_->tables.sequences.size());
  // The last chunks of all datasets at the same time.
  for (ChunkWriter& chunk : impl_->chunks) chunk.end_rows();
  for (ChunkWriter& chunk : impl_->chunks) chunk.finish();
  impl_->chunks.clear();
  write_rows(*impl_->file, impl_->rows, impl_->class_names);
  write_sequences(*impl_->file, impl_->tables);
  write_statistics(*impl_->file, impl_->tables.statistics);
  impl_->file->commit();
  impl_->file.reset();
  ShardRecord record;
  record.shard = impl_->shard;
  record.file = impl_->folder.shard_name(impl_->shard);
  record.first_sequence = impl_->first_sequence;
  record.num_sequences = static_cast<std::int64_t>(impl_->tables.sequences.size());
  record.num_rows = impl_->rows.size();
  record.bytes =
      static_cast<std::int64_t>(std::filesystem::file_size(impl_->folder.shard_path(impl_->shard)));
  impl_->folder.write_record(record);
}

}  // namespace lime
