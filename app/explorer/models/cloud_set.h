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

#include "core/progress.h"
#include "explorer/models/capture_locator.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/token_rows.h"
#include "store/embeddings_file.h"

namespace lime {
struct FigureSource;
}  // namespace lime

namespace lime::explorer {

/// The drawings of one capture: its points in each layer, aligned, and what they are.
struct CloudModel {
  QString label;
  CaptureEmbeddings points;
  std::map<std::int64_t, int> point_of_row;
  std::shared_ptr<const TokenRows> tokens;          ///< of the points: its rows are their numbers
  std::shared_ptr<const SentenceReader> sentences;  ///< null where the capture is not there

  int size() const { return static_cast<int>(points.size()); }
  /// Null where there is no drawing of it.
  const MatrixF* coordinates(const std::string& site, int layer) const;
};

/// t-SNE of several captures, layer by layer.
struct CloudSet {
  std::vector<CloudModel> models;
  QStringList problems;  ///< captures that are not where they were

  std::vector<std::string> sites() const;
  std::vector<int> layers(const std::string& site) const;
};

/// What a set may need beside its own file.
struct CloudSurroundings {
  std::map<std::filesystem::path, std::shared_ptr<const CaptureReader>> captures;  ///< open ones
  std::vector<std::filesystem::path> checkpoints;                                  ///< open ones
  CaptureLocator locator = {};
};

/// Reads the embeddings beside results of lime-metrics tsne, and opens the captures they are of.
/// Runs in a job. @throws IoError, FormatError
CloudSet loadClouds(const FigureSource& results, const CloudSurroundings& surroundings);

/// What of open captures is to be drawn.
struct CloudRequest {
  std::vector<std::filesystem::path> captures;
  std::vector<std::string> labels;
  std::string site;
  std::int64_t max_points = 2000;
  int threads = 0;
};

/// Computes t-SNE of all layers, each started from the one before. Runs in a job.
/// @throws as prepare_tsne() and run_analysis()
CloudSet computeClouds(const CloudRequest& request, const CloudSurroundings& surroundings,
                       const ProgressFn& on_progress, std::stop_token stop);

}  // namespace lime::explorer
