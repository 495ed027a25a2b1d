// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "analysis/engine/capture_rows.h"
#include "metrics/tsne/tsne.h"
#include "store/embeddings_file.h"

namespace lime {

enum class RowNormalization {
  kL2,    ///< rows of length 1, as the LIMe code does
  kNone,  ///< rows as they are
};

constexpr auto names_of(RowNormalization) {
  using enum RowNormalization;
  return enum_table<RowNormalization>({{kL2, "l2"}, {kNone, "none"}});
}

struct TsneAnalysisOptions {
  CaptureSetOptions captures;
  std::vector<std::string> classes = {};
  std::optional<std::int64_t> max_per_class = std::nullopt;  ///< the first rows of each class, > 0
  std::optional<std::int64_t> max_points =
      std::nullopt;  ///< maximum number of rows, drawn at random, > 0
  RowNormalization normalize = RowNormalization::kL2;
  bool align = false;
  TsneOptions tsne;
  std::int64_t trust_neighbors = 12;

  void describe_inputs(OptionList& list) { captures.describe_inputs(list); }
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares t-SNE of the rows of some captures, layer by layer; with `align` also moved, the mean
/// displacement of a point from the previous layer in units of the embedding's radius. Coordinates
/// are stored in NAME.embeddings.h5 or .csv beside the results (docs/results_format.md).
/// @throws InvalidArgument  if a class is unknown, or the perplexity does not fit the rows.
Analysis prepare_tsne(const TsneAnalysisOptions& options, const RunOptions& run);

/// The results of t-SNE and the coordinates that are stored beside them.
struct TsneEmbeddings {
  Results results;
  std::vector<CaptureEmbeddings> captures;
};

/// Receives the embedding of a layer as soon as it is computed. @param capture  index
using LayerEmbeddingFn = std::function<void(std::size_t capture, const LayerEmbedding& layer)>;

/// Computes what prepare_tsne() prepares. @throws as prepare_tsne() and compute()
/// @param on_layer  called from several threads, one at a time. May be empty.
TsneEmbeddings compute_embeddings(const TsneAnalysisOptions& options, const RunOptions& run,
                                  const ProgressFn& on_progress = {},
                                  const std::stop_token& stop = {},
                                  const LayerEmbeddingFn& on_layer = {});

/// Returns the same points on their first two principal components: a first view of the layers, in
/// a hundredth of the time of t-SNE. The divergences are 0. @throws as prepare_tsne()
std::vector<CaptureEmbeddings> principal_components(const TsneAnalysisOptions& options,
                                                    const RunOptions& run,
                                                    const std::stop_token& stop = {});

/// Returns the metadata of the points of `rows` from the capture's table, without layers.
CaptureEmbeddings points_of(const std::string& label, const CaptureReader& capture,
                            const ClassRows& rows);

}  // namespace lime
