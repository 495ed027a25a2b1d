// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/class_rows.h"
#include "core/matrix.h"
#include "store/capture_info.h"

namespace lime {

/// The embedding of one layer.
struct LayerEmbedding {
  std::string site;
  int layer = 0;
  MatrixF coordinates;  ///< [points, 2]
  double kl_divergence = 0.0;
};

/// The embeddings of one capture, with what each point is.
struct CaptureEmbeddings {
  std::string label;
  ClassRows rows;
  RowTable table;  ///< of the chosen rows
  std::vector<LayerEmbedding> layers;
};

/// Writes embeddings as HDF5, format "lime-embeddings" of schema 1 (docs/results_format.md).
/// @throws IoError
void write_embeddings_hdf5(const std::filesystem::path& path,
                           const std::vector<CaptureEmbeddings>& captures);

/// Writes one line per point and layer: label, site, layer, row, sequence, position, token, class,
/// x, y. @throws IoError
void write_embeddings_csv(const std::filesystem::path& path,
                          const std::vector<CaptureEmbeddings>& captures);

/// The entries of `rows` in the capture's table.
RowTable table_of(const CaptureReader& capture, const ClassRows& rows);

}  // namespace lime
