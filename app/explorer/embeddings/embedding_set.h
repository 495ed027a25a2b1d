// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/tsne/nearest_rows.h"
#include "core/program/progress.h"
#include "explorer/embeddings/selected_tokens_model.h"
#include "explorer/models/capture_locator.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/token_rows.h"
#include "store/embeddings_file.h"

namespace lime {
struct FigureSource;
}  // namespace lime

namespace lime::explorer {

/// The embeddings of one capture: its points in each layer, aligned, and their tokens.
struct EmbeddedModel {
  QString label;
  CaptureEmbeddings points;
  std::map<std::int64_t, int> point_of_row;
  std::shared_ptr<const TokenRows> tokens;          ///< of the points: its rows are their numbers
  std::shared_ptr<const SentenceReader> sentences;  ///< null where the capture is missing

  int size() const { return static_cast<int>(points.size()); }
  /// Returns null where the layer has no embedding.
  const MatrixF* coordinates(const std::string& site, int layer) const;
  std::vector<int> pointsOf(const TokenSelection& selected) const;
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

  std::vector<std::string> sites() const;
  std::vector<int> layers(const std::string& site) const;
  /// Returns whether all captures are of one text.
  bool isOneText() const;
  /// Returns whether a capture is of this text.
  bool hasText(const std::string& text) const;
};

/// Open documents that a set may use beside its own file.
struct OpenInputs {
  std::map<std::filesystem::path, std::shared_ptr<const CaptureReader>> captures;
  std::vector<std::filesystem::path> checkpoints;
  CaptureLocator locator = {};
};

/// Reads the embeddings beside results of lime-metrics tsne, and opens their captures. Runs in a
/// job.
/// @throws IoError, FormatError
EmbeddingSet loadEmbeddings(const FigureSource& results, const OpenInputs& open_inputs);

/// Names the rows of open captures that are embedded.
struct EmbeddingRequest {
  std::vector<std::filesystem::path> captures;
  std::vector<std::string> labels;
  std::string site;
  std::int64_t max_points = 2000;
  int threads = 0;
};

/// Computes t-SNE of all layers, each initialised from the one before. Runs in a job.
/// @throws as prepare_tsne() and run_analysis()
EmbeddingSet computeEmbeddings(const EmbeddingRequest& request, const OpenInputs& open_inputs,
                               const ProgressFn& on_progress, std::stop_token stop);

}  // namespace lime::explorer
