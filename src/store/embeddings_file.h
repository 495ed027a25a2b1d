// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/capture_info.h"

namespace lime {

/// Maximum number of layers in a results or embeddings file, as in config.json.
inline constexpr int kMaxLayers = 10'000;

struct LayerEmbedding {
  std::string site;
  int layer = 0;        ///< in [0, kMaxLayers)
  MatrixF coordinates;  ///< [points, 2], finite
  double kl_divergence = 0.0;
};

/// The embeddings of one capture, with metadata per point.
struct CaptureEmbeddings {
  std::string label;
  std::vector<std::int64_t> row;         ///< [points], rows of the capture
  RowTable table;                        ///< of those rows; class_id: -1 for rows without a class
  std::vector<std::string> class_names;  ///< of the capture; empty without classes
  std::vector<LayerEmbedding> layers;

  std::int64_t size() const { return static_cast<std::int64_t>(row.size()); }
};

/// Writes embeddings as HDF5, format "lime-embeddings" of schema 1 (docs/results_format.md).
/// @throws IoError
void write_embeddings(const std::filesystem::path& path,
                      const std::vector<CaptureEmbeddings>& captures);

/// Reads the file format of write_embeddings().
/// @throws IoError, FormatError  if the file has another format or schema, its parts differ in
/// length, a class or layer is out of range, or a point is not finite.
std::vector<CaptureEmbeddings> read_embeddings(const std::filesystem::path& path);

}  // namespace lime
