// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "core/running_statistics.h"
#include "store/capture_info.h"

namespace lime {

/// Reads a capture file, whether one packed file or a master over shards.
///
/// Opening reads the attributes only. Activations are read straight from the file's chunks, their
/// checksums are tested on the way, and float16 is widened to float.
/// Thread-safe: several threads may read through one object; disk access and conversion run in
/// parallel, only HDF5's own calls are serialised.
class CaptureReader {
 public:
  /// @throws IoError      if the file or one of its shards is missing or cannot be read.
  /// @throws FormatError  if it is not a capture, of a later schema, cut short, or refers to files
  ///                      other than its shards.
  explicit CaptureReader(const std::filesystem::path& path);
  ~CaptureReader();
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;

  const std::filesystem::path& path() const;
  const CaptureInfo& info() const;
  /// config.json of the captured checkpoint.
  const Json& config() const { return info().config; }
  /// False if shards were missing when the file was written: what is there is right, but it is
  /// not all that was asked for.
  bool complete() const { return info().complete; }

  /// Sites in the order in which they were captured, e.g. {"values", "hidden"}.
  const std::vector<std::string>& sites() const;
  /// Layers of `site`, ascending. @throws FormatError that lists the sites there are.
  std::vector<int> layers(const std::string& site) const;
  bool has(const std::string& site, int layer) const;
  /// Lets `alias` stand for `site` in every function below and above that is given a site; sites()
  /// lists it not. Call before other threads read.
  void set_alias(const std::string& alias, const std::string& site);
  /// @throws FormatError that lists the sites or layers there are.
  const ActivationInfo& activation(const std::string& site, int layer) const;
  std::int64_t dim(const std::string& site, int layer) const { return activation(site, layer).dim; }

  std::int64_t num_rows() const;
  std::int64_t num_sequences() const;

  /// Rows [first, first + count) of one site and layer, [count, dim].
  /// @throws InvalidArgument  if the range leaves the file.
  /// @throws FormatError      if a checksum is wrong.
  MatrixF read_rows(const std::string& site, int layer, std::int64_t first,
                    std::int64_t count) const;
  /// The same into the caller's buffer of count * dim floats, row-major.
  void read_rows(const std::string& site, int layer, std::int64_t first, std::int64_t count,
                 std::span<float> out) const;
  /// All rows of one site and layer.
  MatrixF read_all(const std::string& site, int layer) const {
    return read_rows(site, layer, 0, num_rows());
  }
  /// All rows of one sequence.
  MatrixF read_sequence(const std::string& site, int layer, std::int64_t sequence) const;

  /// Sequence, position, token and class of every row; read at the first call.
  const RowTable& rows() const;
  /// First row of each sequence and, last, the number of rows, [num_sequences + 1].
  const std::vector<std::int64_t>& offsets() const;
  /// Text, label, pair and task of every sequence; read at the first call.
  const std::vector<Sequence>& sequences() const;

  /// True for more sites and layers than have activations.
  bool has_statistics(const std::string& site, int layer) const;
  /// Over all rows that the model computed, also those not kept.
  /// @throws FormatError  if there are none; lists those there are.
  RunningStatistics statistics(const std::string& site, int layer) const;
  /// Root mean square per head of keys or values, [num_heads].
  VectorD rms_per_head(const std::string& site, int layer) const;

  /// Layers that have a router, ascending; empty for plain transformers.
  std::vector<int> router_layers() const;
  /// [kv_heads, (layer + 1) * kv_heads]. @throws FormatError that lists the layers there are.
  MatrixF router(int layer) const;
  /// Whether there are the weights per dimension whose mean router() is.
  bool has_router_dimensions(int layer) const;
  /// [kv_heads, (layer + 1) * kv_heads * head_dim], see RouterDimensions. @throws FormatError
  MatrixF router_dimensions(int layer) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lime
