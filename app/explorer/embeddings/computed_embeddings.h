// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "analysis/tsne/tsne_analysis.h"
#include "explorer/embeddings/embedding_set.h"
#include "explorer/models/job_runner.h"
#include "explorer/models/open_inputs.h"

namespace lime::explorer {

/// Embeddings to be computed.
struct EmbeddingRequest {
  TsneAnalysisOptions options;
  int threads = 0;                                ///< 0: all CPUs
  std::optional<int> first_layer = std::nullopt;  ///< that is shown first, if the captures have it
};

/// Computes t-SNE of all layers, each initialised from the one before, or reads what an earlier
/// call stored beside the first capture. Runs in a job.
/// @param publish  gets principal components of the first layer, then of all layers, then t-SNE
///                 layer by layer in their place. May be empty.
/// @throws as prepare_tsne() and compute()
EmbeddingSet computeEmbeddings(const EmbeddingRequest& request, const OpenInputs& open_inputs,
                               const JobContext& context,
                               const std::function<void(EmbeddingSet)>& publish = {});

/// Returns the file that stores computed embeddings of a capture: results of lime-metrics tsne,
/// with the coordinates beside them.
std::filesystem::path embeddingCacheOf(const std::filesystem::path& capture, bool is_pca);

}  // namespace lime::explorer
