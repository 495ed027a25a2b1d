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

/// What to do when the output is there already.
enum class IfExists {
  kRefuse,   ///< throw InvalidArgument that says how to go on
  kResume,   ///< keep finished shards if their options are the same, else throw
  kReplace,  ///< remove the old file and its shards first
};

struct CaptureWriterOptions {
  IfExists if_exists = IfExists::kRefuse;
  /// This process writes shards s with s % num_processes == process; both 0-based.
  int process = 0;
  int num_processes = 1;
  /// Bytes of one chunk of activations on disk, 1 KiB to 4 MiB. 1 MiB is what HDF5's readers
  /// keep in their cache.
  std::int64_t chunk_bytes = std::int64_t{1} << 20;
  /// Threads beside the calling one that compress chunks, >= 1, where the capture asks for it.
  int compress_threads = 1;

  void validate() const;
};

/// Most memory, in bytes, that chunks take while `compress_threads` threads compress them.
/// @param row_bytes  of the longest row on disk
std::int64_t compression_bytes(const CaptureWriterOptions& options, std::int64_t row_bytes);

/// Writes one shard. Rows go in batches: first append_rows(), then append() once for each
/// activation of the plan. Without finish() the destructor removes what was written.
/// Not thread-safe; used by one thread at a time.
class ShardWriter {
 public:
  ~ShardWriter();
  ShardWriter(ShardWriter&&) noexcept;
  ShardWriter& operator=(ShardWriter&&) noexcept;

  /// Adds the next sequences; the first one added is number `first_sequence` of begin_shard().
  void add_sequences(std::span<const Sequence> sequences);
  /// Gives sequences [first, first + scores.size()), numbered over the whole capture, what the
  /// model thinks of them. @throws InvalidArgument  if they were not added.
  void set_scores(std::int64_t first, std::span<const SequenceScore> scores);
  /// Says what the next rows are. `sequence` holds numbers over the whole capture, ascending.
  /// @throws InvalidArgument  if the columns differ in length or order.
  void append_rows(const RowTable& rows);
  /// Adds the activations of these rows, [num_rows, dim], for plan.activations[index].
  /// @throws InvalidArgument  if dim differs from the plan.
  /// @throws IoError          if the disk is full.
  void append(std::size_t index, const ConstMatrixRef& rows);
  /// Keeps the statistics of one site and layer over this shard, for sites with or without
  /// activations. @param num_heads  > 0 also stores rms_per_head().
  void set_statistics(const std::string& site, int layer, const RunningStatistics& statistics,
                      std::int64_t num_heads = 0);
  /// Closes, syncs and renames the shard and enters it in the manifest.
  /// @throws InvalidArgument  if an activation has fewer or more rows than append_rows() announced.
  /// @throws IoError
  void finish();

  std::int64_t num_rows() const;
  std::int64_t bytes_written() const;

 private:
  friend class CaptureWriter;
  struct Impl;
  explicit ShardWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Writes a capture as shards under `STEM.shards/` and, when all are finished, the master file
/// `STEM.h5` over them.
///
///   CaptureWriter writer("capture.h5", plan, {.if_exists = IfExists::kResume});
///   for (const int shard : writer.missing_shards()) {
///     ShardWriter out = writer.begin_shard(shard, first_sequence_of(shard));
///     ...
///     out.finish();
///   }
///   writer.finish();
///
/// A killed run loses at most the shard it was writing. Processes do not talk to each other: the
/// one that finishes the last shard writes the master (should two finish at once, both write the
/// same). Not thread-safe.
class CaptureWriter {
 public:
  /// @throws InvalidArgument  if the plan is at odds with itself; if the output exists and may
  ///                          not be replaced; if it was begun with other options (names the
  ///                          first difference).
  /// @throws IoError          if the folder cannot be written.
  CaptureWriter(const std::filesystem::path& path, CapturePlan plan,
                CaptureWriterOptions options = {});
  ~CaptureWriter();
  CaptureWriter(CaptureWriter&&) noexcept;
  CaptureWriter& operator=(CaptureWriter&&) noexcept;

  const CapturePlan& plan() const;
  /// Shards of this process that are not finished yet, ascending.
  std::vector<int> missing_shards() const;
  bool is_finished(int shard) const;

  /// @param first_sequence  number of the shard's first sequence over the whole capture.
  ShardWriter begin_shard(int shard, std::int64_t first_sequence);

  /// Writes the master if the shards of all processes are finished.
  /// @return false if shards of other processes are still missing.
  bool finish();
  /// Writes a master over the shards that are finished, marked as incomplete if some are missing:
  /// for runs that were interrupted. @return number of shards in it; writes nothing for 0.
  int finish_partial();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Says of a capture file that is not there that its shards were begun: "'run.shards' holds an
/// unfinished run (3 of 11 shards); go on with --resume". Empty if none were, or if `path` exists.
/// @throws FormatError  if what lies there cannot be read.
std::string unfinished_run(const std::filesystem::path& path);

/// What the run noted that began the shards beside `path`; nothing if none were begun.
/// @throws FormatError  if what lies there cannot be read.
std::optional<CaptureInfo> begun_capture(const std::filesystem::path& path);

}  // namespace lime
