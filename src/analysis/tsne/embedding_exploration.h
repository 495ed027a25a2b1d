// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "store/capture_reader.h"
#include "store/embeddings_file.h"

namespace lime {

/// A layer whose optimisation diverged, as older versions could store it.
struct LayerFault {
  std::string site;
  int layer = 0;
  std::string what;  ///< from extent_fault() or radius_fault()
};

/// Aligns each layer of a site with the previous one as `lime-metrics tsne --align` does
/// (aligned_embedding()), and scales it to the same radius, to follow points across layers.
/// @return the layers that diverged. They are centred, and shrunk to that radius if they are
/// larger;
///         no other layer is aligned with them.
std::vector<LayerFault> align_layers(CaptureEmbeddings& capture);

/// A row of a capture and its distance from another.
struct NearRow {
  std::int64_t row = 0;
  double distance = 0.0;  ///< Euclidean, of rows of length 1: in [0, 2]
};

/// Returns the rows of `candidates` nearest to `row` in the representation space, the nearest
/// first.
/// @param candidates  rows of the capture, ascending; `row` itself is omitted.
/// @throws InvalidArgument  if a row is out of range. @throws Interrupted
/// Reads the candidates once, in blocks. Time candidates * dim.
std::vector<NearRow> nearest_rows(const CaptureReader& capture, const std::string& site, int layer,
                                  std::int64_t row, std::span<const std::int64_t> candidates,
                                  std::size_t count, const std::stop_token& stop = {});

}  // namespace lime
