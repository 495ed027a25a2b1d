// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/tsne/embedding_alignment.h"
#include "analysis/tsne/nearest_rows.h"
#include "core/matrix.h"
#include "explorer/embeddings/selected_token.h"
#include "explorer/models/open_inputs.h"
#include "explorer/models/selection.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/token_rows.h"
#include "store/embeddings_file.h"
#include "store/results_file.h"

namespace lime {
struct FigureSource;
}  // namespace lime

namespace lime::explorer {

/// The embeddings of one capture: its points in each layer, aligned, and their tokens.
struct EmbeddedModel {
  QString label;
  CaptureEmbeddings points;
  std::vector<LayerFault> faults;  ///< layers that diverged
  /// Layers, as (site, layer), that principal components show until t-SNE is done.
  std::set<std::pair<std::string, int>> preliminary;
  std::map<std::int64_t, int> point_of_row;
  std::shared_ptr<const TokenRows> tokens;          ///< of the points: its rows are their numbers
  std::shared_ptr<const SentenceReader> sentences;  ///< null where the capture is missing

  int size() const { return static_cast<int>(points.size()); }
  /// Returns null where the layer has no embedding.
  const MatrixF* coordinates(const std::string& site, int layer) const;
  std::vector<int> pointsOf(const TokenSelection& selected) const;
  /// Returns the points of a token, spaces and capitals ignored.
  std::vector<int> pointsOfToken(const QString& text) const;
  TokenSelection tokensAt(const std::vector<int>& at) const;
  /// Returns the token of a point with its class as the note.
  SelectedToken describe(int point) const;
  /// Returns the `count` points nearest to `point` in the embedding, by their rows.
  std::vector<NearRow> nearestDrawn(const std::string& site, int layer, int point,
                                    std::size_t count) const;
};

/// The t-SNE embeddings of several captures, layer by layer.
struct EmbeddingSet {
  std::vector<EmbeddedModel> models;
  QStringList problems;  ///< captures that are missing

  /// Returns the problems, and the layers that diverged. @param layer_base  of their numbers
  QStringList warnings(int layer_base) const;
  std::vector<std::string> sites() const;
  std::vector<int> layers(const std::string& site) const;
  /// Returns the number of captures of this text.
  std::size_t numOfText(const std::string& text) const;
};

/// Returns a set of embeddings with the captures that `inputs` name by their labels.
/// @param results  file of the embeddings, which paths of inputs are relative to
EmbeddingSet setOf(std::vector<CaptureEmbeddings> captures, const std::vector<ResultsInput>& inputs,
                   const std::filesystem::path& results, const OpenInputs& open_inputs);

/// Reads the embeddings beside results of lime-metrics tsne, and opens their captures, in a job.
/// @throws IoError, FormatError
EmbeddingSet loadEmbeddings(const FigureSource& results, const OpenInputs& open_inputs);

}  // namespace lime::explorer
