// SPDX-License-Identifier: Apache-2.0
#include "store/capture_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "core/files/atomic_file.h"
#include "store/capture_layout.h"
#include "store/capture_master.h"
#include "store/capture_tables.h"
#include "store/file_names.h"
#include "store/shard_folder.h"
#include "store/shard_writer.h"

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
  throw_if(plan.num_shards < 1, "store: num_shards must be at least 1, got {}", plan.num_shards);
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

}  // namespace

void CaptureWriterOptions::validate() const {
  throw_if(num_processes < 1 || process < 0 || process >= num_processes,
           "store: process must be in [0, num_processes), got {} of {}", process, num_processes);
  constexpr std::int64_t kMin = std::int64_t{1} << 10;
  constexpr std::int64_t kMax = std::int64_t{4} << 20;
  throw_if(chunk_bytes < kMin || chunk_bytes > kMax,
           "store: chunk_bytes must be in [{}, {}], got {}", kMin, kMax, chunk_bytes);
  throw_if(compress_threads < 1, "store: compress_threads must be at least 1, got {}",
           compress_threads);
  throw_if(
      if_exists == IfExists::kReplace && num_processes > 1,
      "store: a capture that several processes write cannot be replaced because one would remove "
      "the shards of the others; remove it first");
}

std::int64_t compression_bytes(const CaptureWriterOptions& options, std::int64_t row_bytes) {
  return ChunkQueue::most_bytes(options.compress_threads, std::max(options.chunk_bytes, row_bytes));
}

struct CaptureWriter::Impl {
  fs::path path;
  CapturePlan plan;
  CaptureWriterOptions options;
  ShardFolder folder;
  Json identity;
  std::string identity_sha256;

  bool is_mine(int shard) const { return shard % options.num_processes == options.process; }
  void prepare();
  void remove_old();
  void check_may_start(const Json* manifest) const;
  /// @return false if the manifest belongs to another capture and may be replaced.
  /// @throws InvalidArgument  if it may not be replaced.
  bool is_same_capture(const Json& manifest) const;
  bool is_finished() const;
  std::vector<ShardRecord> finished_shards() const;
  /// Returns the info of the run that started the capture, possibly another process.
  CaptureInfo common_info() const;
};

void CaptureWriter::Impl::prepare() {
  if (options.if_exists == IfExists::kReplace) remove_old();
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
      "store: '{}' was started with different options: {}; use the same ones, or another -o",
      path.string(), to_text(*difference));
}

void CaptureWriter::Impl::remove_old() {
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
  for (int shard = 0; shard < plan.num_shards; ++shard) {
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
  for (int shard = 0; shard < plan.num_shards; ++shard) {
    if (std::optional<ShardRecord> record = folder.finished(shard)) {
      records.push_back(std::move(*record));
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
  std::vector<int> missing;
  for (int shard = 0; shard < impl_->plan.num_shards; ++shard) {
    if (impl_->is_mine(shard) && !is_finished(shard)) missing.push_back(shard);
  }
  return missing;
}

bool CaptureWriter::is_finished(int shard) const {
  return impl_->folder.finished(shard).has_value();
}

ShardWriter CaptureWriter::begin_shard(int shard, std::int64_t first_sequence) {
  throw_if(shard < 0 || shard >= impl_->plan.num_shards || !impl_->is_mine(shard),
           "store: shard {} of {} is not assigned to process {} of {}", shard,
           impl_->plan.num_shards, impl_->options.process, impl_->options.num_processes);
  throw_if(first_sequence < 0, "store: first_sequence must be >= 0, got {}", first_sequence);
  return ShardWriter(std::make_unique<ShardWriter::Impl>(
      impl_->folder, impl_->plan, ShardStart{shard, first_sequence, impl_->identity_sha256},
      impl_->options));
}

bool CaptureWriter::finish() {
  const std::vector<ShardRecord> records = impl_->finished_shards();
  if (records.size() != static_cast<std::size_t>(impl_->plan.num_shards)) return false;
  if (impl_->options.num_processes == 1 || !impl_->is_finished()) finish_partial();
  impl_->folder.remove_temporaries();
  return true;
}

int CaptureWriter::finish_partial() {
  const std::vector<ShardRecord> records = impl_->finished_shards();
  if (records.empty()) return 0;
  write_master(impl_->path, gather_tables(impl_->path, impl_->plan, impl_->common_info(), records));
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

}  // namespace lime
