// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <QString>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/program/progress.h"
#include "explorer/models/open_inputs.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/probes/probe_question.h"
#include "explorer/probes/probe_source.h"
#include "viz/figure.h"

namespace lime::explorer {

/// The prediction of a probe for a token or a minimal pair.
struct ProbePrediction {
  int truth = 0;                   ///< number into ProbeDetail::classes; of pairs 1
  int predicted = 0;               ///< of pairs: 1 where both sentences are classified correctly
  double truth_probability = 0.0;  ///< of pairs: that the good sentence is good
  double predicted_probability = 0.0;  ///< of pairs: that the bad sentence is good
  bool good_is_correct = true;         ///< of pairs
  bool bad_is_correct = true;
  std::int64_t row = 0;      ///< of the capture: the token; of pairs the good sentence's first
  std::int64_t bad_row = 0;  ///< of pairs
  int task = 0;              ///< of pairs: number into ProbeDetail::tasks
  std::int64_t pair = 0;     ///< of pairs: its number in the task

  bool isCorrect() const { return good_is_correct && bad_is_correct && truth == predicted; }
  /// Returns whether the prediction belongs to this cell of the confusion matrix; a pair belongs to
  /// two cells.
  bool isOfCell(ProbeQuestion question, int true_class, int predicted_class) const;
};

struct ProbePlace {
  ProbeQuestion question = ProbeQuestion::kSeparability;
  QString label;  ///< of the source
  std::string site;
  int layer = 0;
  std::string task;  ///< of pairs; empty: all

  bool operator==(const ProbePlace&) const = default;
};

/// The probe of one layer of one model in detail.
struct ProbeDetail {
  ProbePlace place;
  std::vector<std::string> classes;  ///< of pairs "bad", "good"
  std::vector<std::string> tasks;
  Eigen::MatrixXi confusion;  ///< [true class, predicted class]
  std::vector<ProbePrediction> predictions;
  std::shared_ptr<const SentenceReader> sentences;

  double accuracy() const;  ///< over all predictions of tokens, or of sentences
};

struct ProbeDetailRequest {
  ProbePlace place;
  ProbeSource source;
  std::filesystem::path results;  ///< the file of the source
  int threads = 0;
  OpenInputs inputs = {};
};

/// Fits the probe again, with the options of the results. Runs in a job.
/// @throws IoError  if the capture no longer exists
/// @throws as probe_tokens_of_layer() and probe_pairs_of_layer()
ProbeDetail exploreProbe(const ProbeDetailRequest& request, const ProgressFn& on_progress,
                         std::stop_token stop);

/// Draws the confusion matrix as a heatmap, true classes from top to bottom.
/// @param is_share  divides each row by its sum; else counts
Figure confusionFigure(const ProbeDetail& detail, bool is_share);

}  // namespace lime::explorer
