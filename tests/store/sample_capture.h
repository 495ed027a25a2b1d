// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/matrix.h"
#include "store/capture_writer.h"

namespace lime::testing {

/// A small capture whose values are functions of their position, so that tests can compute them.
struct SampleCapture {
  int num_shards = 3;
  int sequences_per_shard = 4;
  int num_layers = 2;
  StorageType storage = StorageType::kFloat32;
  Compression compression = Compression::kNone;
  bool with_classes = true;
  std::int64_t chunk_bytes = 1 << 10;
  std::uint64_t seed = 1;

  std::int64_t num_sequences() const { return std::int64_t{num_shards} * sequences_per_shard; }
  /// Sequences have 3 to 20 rows; sequence 5 has none.
  std::int64_t rows_of(std::int64_t sequence) const;
  std::int64_t num_rows() const;

  CapturePlan plan() const;
  RowTable rows(std::int64_t sequence) const;
  Sequence sequence(std::int64_t number) const;
  /// Returns [rows_of(sequence), dim], as passed to the writer.
  MatrixF activations(std::size_t index, std::int64_t sequence) const;
  /// Returns all rows as a reader must return them, rounded to the type on disk.
  MatrixF expected(std::size_t index) const;

  void write_shard(CaptureWriter& writer, int shard) const;
  /// Writes the missing shards of one process, and the master if all exist.
  /// @return the value of CaptureWriter::finish().
  bool write(const std::filesystem::path& path, CaptureWriterOptions options = {}) const;
};

}  // namespace lime::testing
