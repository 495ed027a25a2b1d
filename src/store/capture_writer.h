// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/running_statistics.h"
#include "store/capture_info.h"

namespace lime {

enum class IfExists {
  kRefuse,   ///< throws InvalidArgument with the options to use
  kResume,   ///< keeps finished shards if their options are the same, else throws
  kReplace,  ///< removes the old file and its shards first
};

struct CaptureWriterOptions {
  IfExists if_exists = IfExists::kRefuse;
  /// This process writes shards s with s % num_processes == process; both 0-based.
  int process = 0;
  int num_processes = 1;
  /// Bytes per chunk of activations on disk, 1 KiB to 4 MiB. HDF5 readers cache 1 MiB by default.
  std::int64_t chunk_bytes = std::int64_t{1} << 20;
  /// Threads that compress, check and write chunks, in addition to the calling one; >= 1.
  int threads = 1;

  void validate() const;
};

/// Returns the maximum memory, in bytes, for the chunks of `threads` threads.
/// @param row_bytes  of the longest row on disk
std::int64_t chunk_memory(const CaptureWriterOptions& options, std::int64_t row_bytes);

/// Writes one shard. Rows are written in batches: first append_rows(), then append() once for each
/// activation of the plan. Without finish() the destructor removes the unfinished shard. Not
/// thread-safe; may be used by one thread at a time.
class ShardWriter {
 public:
  ~ShardWriter();
  ShardWriter(ShardWriter&&) noexcept;
  ShardWriter& operator=(ShardWriter&&) noexcept;

  /// Adds the next sequences; the first one has the index `first_sequence` of begin_shard().
  void add_sequences(std::span<const Sequence> sequences);
  /// Sets the scores of sequences [first, first + scores.size()), numbered over the whole capture.
  /// @throws InvalidArgument  if they were not added.
  void set_scores(std::int64_t first, std::span<const SequenceScore> scores);
  /// Adds the metadata of the next rows; `sequence` counts over the whole capture, ascending.
  /// @throws InvalidArgument  if the columns differ in length or are not in order.
  void append_rows(const RowTable& rows);
  /// Adds the activations of these rows, [num_rows, dim], for plan.activations[index].
  /// @param owner  keeps dense rows alive, which are then not copied; null: they are copied
  /// @throws InvalidArgument, IoError  if dim differs from the plan, or the disk is full.
  void append(std::size_t index, const ConstMatrixRef& rows,
              const std::shared_ptr<const void>& owner = nullptr);
  /// Stores the statistics of one site and layer. @param num_heads  > 0: also rms_per_head().
  void set_statistics(const std::string& site, int layer, const RunningStatistics& statistics,
                      std::int64_t num_heads = 0);
  /// Closes, syncs and renames the shard and adds it to the manifest.
  /// @throws InvalidArgument, IoError  if an activation lacks announced rows or has more.
  void finish();

  std::int64_t num_rows() const;
  std::int64_t bytes_written() const;

 private:
  friend class CaptureWriter;
  struct Impl;
  explicit ShardWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Writes a capture as shards under `STEM.shards/` and finally the master file `STEM.h5`.
///
///   CaptureWriter writer("capture.h5", plan, {.if_exists = IfExists::kResume});
///   for (const int shard : writer.missing_shards()) {
///     ShardWriter out = writer.begin_shard(shard, first_sequence_of(shard));
///     ...
///     out.finish();
///   }
///   writer.finish();
///
/// A killed run loses only the shards that it was writing. Processes do not communicate: the one
/// that finishes last writes the master (if two finish at once, both write identical files).
/// Threads may write different shards at the same time; otherwise not thread-safe.
class CaptureWriter {
 public:
  /// @throws InvalidArgument  if the plan is inconsistent, or the output exists and may not be
  /// replaced or was started with different options (names the first). @throws IoError
  CaptureWriter(const std::filesystem::path& path, CapturePlan plan,
                CaptureWriterOptions options = {});
  ~CaptureWriter();

  const CapturePlan& plan() const;
  /// Returns the unfinished shards of this process, ascending; of an unknown number the first one.
  std::vector<int> missing_shards() const;
  bool is_finished(int shard) const;
  /// Reads the rows of a finished shard. @throws InvalidArgument, FormatError
  RowTable read_rows(int shard) const;

  /// @param first_sequence  index of the shard's first sequence over the whole capture.
  ShardWriter begin_shard(int shard, std::int64_t first_sequence);

  /// Writes the master if the shards of all processes are finished; of an unknown number those that
  /// are finished are all.
  /// @param extra  members to add to CaptureInfo::extra, known only at the end
  /// @return false if shards of other processes are still missing, or there are none.
  bool finish(const Json& extra = Json::object());
  /// Writes a master over the finished shards, which is incomplete if some are missing, or their
  /// number is unknown. @return their number
  int finish_partial(const Json& extra = Json::object());

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Removes a capture with its shards, or the shards of an unfinished run, if there are any.
/// @throws InvalidArgument  if `path` is another file. @throws IoError
void remove_capture(const std::filesystem::path& path);

/// Describes an unfinished run if the capture file does not exist but its shards do: "'run.shards'
/// contains an unfinished run (3 of 11 shards); use --resume to continue". Empty if there are no
/// shards, or if `path` exists. @throws FormatError  if they cannot be read.
std::string unfinished_run(const std::filesystem::path& path);

/// Returns the metadata of the unfinished run of `path`; nothing without shards. @throws
/// FormatError
std::optional<CaptureInfo> unfinished_info(const std::filesystem::path& path);

}  // namespace lime
