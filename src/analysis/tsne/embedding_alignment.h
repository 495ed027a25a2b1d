// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/embeddings_file.h"

namespace lime {

/// Centres `points` and turns them by the rotation or reflection that minimises their distance to
/// the centred `target`. Neither changes the divergence of an embedding.
/// @param points, target  [num_points, 2]
MatrixD aligned_embedding(const ConstMatrixRefD& points, const ConstMatrixRefD& target);

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

}  // namespace lime
