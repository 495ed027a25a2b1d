// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/running_statistics.h"
#include "store/capture_info.h"

namespace lime {

/// Reads a capture, either one packed file or a master file over shards.
///
/// Opening reads the attributes only. Activations are read directly from the file's chunks, with
/// their checksums verified, and widened to float. Thread-safe: disk access and conversion run in
/// parallel, only HDF5's own calls are serialised.
class CaptureReader {
 public:
  /// @throws MissingFile, IoError, FormatError  if the file or a shard is missing, truncated, of a
  /// later schema or no capture, or refers to files other than its shards.
  explicit CaptureReader(const std::filesystem::path& path);
  ~CaptureReader();
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;

  const std::filesystem::path& path() const;
  const CaptureInfo& info() const;
  /// Returns config.json of the captured checkpoint.
  const Json& config() const { return info().config; }
  /// Returns the attributes of the file by name, as it stores them: texts (also of JSON), numbers
  /// and lists of them; null for other types. @throws FormatError
  Json attributes() const;
  /// Returns false if shards were missing: the existing data is correct but not complete.
  bool complete() const { return info().complete; }

  /// Returns the sites in capture order, e.g. {"values", "hidden"}.
  const std::vector<std::string>& sites() const;
  /// Returns the layers of `site`, ascending. @throws FormatError that lists the existing sites.
  std::vector<int> layers(const std::string& site) const;
  /// Returns true if a layer has the site, or if `layer` has it.
  bool has(const std::string& site) const;
  bool has(const std::string& site, int layer) const;
  /// Lets `alias` stand for `site` in every function with a site. Call before other threads read.
  void set_alias(const std::string& alias, const std::string& site);
  /// @throws FormatError that lists the existing sites or layers.
  const ActivationInfo& activation(const std::string& site, int layer) const;
  std::int64_t dim(const std::string& site, int layer) const { return activation(site, layer).dim; }

  /// Hides the first `count` >= 0 tokens of every sequence from every function that reads rows, and
  /// the stored statistics, which include them. Call before other threads read.
  /// @throws InvalidArgument  if rows are not whole sequences, or fewer than two tokens are left of
  ///         a sequence that has two.
  void skip_tokens(std::int64_t count);
  std::int64_t skipped_tokens() const;
  /// Hides the rows for which `hides`, [num_rows], is true, as skip_tokens() does. Invalidates
  /// what rows() returned.
  void hide_rows(const std::vector<bool>& hides);
  /// Leaves out sequences [num_sequences] as if they were not in the file: num_sequences(),
  /// offsets() and all that count sequences count the others. rows() and sequences() keep the
  /// stored numbers. Call as hide_rows().
  void hide_sequences(const std::vector<bool>& hides);
  /// Hides dimensions of one site and layer from every function that reads its rows or its width,
  /// and the stored statistics. Call once, before other threads read.
  void hide_dimensions(const std::string& site, int layer, const std::vector<int>& dimensions);
  /// Returns true if rows or dimensions are hidden.
  bool hides_anything() const;

  std::int64_t num_rows() const;
  std::int64_t num_sequences() const;

  /// Reads rows [first, first + count) of one site and layer, [count, dim].
  /// @throws InvalidArgument, FormatError  if the range exceeds the file or a checksum is wrong.
  /// @throws Interrupted
  MatrixF read_rows(const std::string& site, int layer, std::int64_t first, std::int64_t count,
                    const std::stop_token& stop = {}) const;
  /// Reads rows into the caller's buffer of count * dim floats, row-major.
  void read_rows(const std::string& site, int layer, std::int64_t first, std::int64_t count,
                 std::span<float> out) const;
  /// Reads all rows of one site and layer.
  MatrixF read_all(const std::string& site, int layer) const {
    return read_rows(site, layer, 0, num_rows());
  }
  /// Reads all rows of one sequence.
  MatrixF read_sequence(const std::string& site, int layer, std::int64_t sequence) const;

  /// Returns sequence, position, token and class of every row; read at the first call.
  const RowTable& rows() const;
  /// Returns the same as rows(), reads it at every call and keeps nothing.
  RowTable read_row_table() const;
  /// Returns the first row of each sequence and, last, the number of rows, [num_sequences + 1].
  const std::vector<std::int64_t>& offsets() const;
  /// Returns text, label, pair and task of every sequence; read at the first call.
  const std::vector<Sequence>& sequences() const;
  /// Returns the same as sequences(), reads it at every call and keeps nothing.
  std::vector<Sequence> read_sequence_table() const;
  /// Returns the names of the columns of sequences that the file has, e.g. {"offset", "text"}.
  std::vector<std::string> sequence_columns() const;

  /// Returns true if statistics exist. They exist for more sites and layers than activations.
  bool has_statistics(const std::string& site, int layer) const;
  /// Returns the statistics over all rows that the model computed, including rows not stored.
  /// @throws FormatError  if there are none; lists the existing ones.
  RunningStatistics statistics(const std::string& site, int layer) const;
  /// Returns the root mean square per key or value head, [num_heads].
  VectorD rms_per_head(const std::string& site, int layer) const;

  /// Returns the layers that have a router, ascending; empty for plain transformers.
  std::vector<int> router_layers() const;
  /// Returns the router weights of a layer, [kv_heads, (layer + 1) * kv_heads].
  /// @throws FormatError  that lists the existing layers.
  MatrixF router(int layer) const;
  /// Returns true if the weights per dimension exist, whose mean is router().
  bool has_router_dimensions(int layer) const;
  /// Returns [kv_heads, (layer + 1) * kv_heads * head_dim]. @throws FormatError
  MatrixF router_dimensions(int layer) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
