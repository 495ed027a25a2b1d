// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "explorer/models/job_cache.h"
#include "explorer/models/preferences.h"
#include "explorer/models/sentence_reader.h"
#include "explorer/models/workspace.h"
#include "store/results_file.h"
#include "viz/figure.h"
#include "viz/figure_source.h"

namespace lime::explorer {

/// The target of a probe: the class of a token, or the good sentence of a minimal pair.
enum class ProbeQuestion { kSeparability, kBlimp };

/// Returns the metric of lime-metrics: "separability", "blimp".
std::string metricOf(ProbeQuestion question);

/// A model whose probes are in open results, or an open capture that can be probed.
struct ProbeSource {
  int document = 0;               ///< in the workspace
  QString label;                  ///< that no other source has
  bool is_capture = false;        ///< its probes must be computed
  std::string own_label;          ///< in the results
  std::filesystem::path capture;  ///< where its rows lie, as far as is known
  ResultsInput input = {};        ///< of results: their record of the capture
  Json options = Json::object();  ///< stored with the results; else those by default
  std::vector<std::string> sites;
};

/// Returns whether a capture has representations with the labels of a question.
bool canProbe(const CaptureReader& capture, ProbeQuestion question);

/// Returns results first, then captures that no results are about.
std::vector<ProbeSource> probeSources(const Workspace& workspace, ProbeQuestion question);

/// Returns the rows of `results` of this source, under its label, for figures.
/// @param path  of the source's document, for messages
FigureSource probeFigureSource(const ProbeSource& source, const std::filesystem::path& path,
                               const Results& results);

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

/// Fits the probes of all open captures, layer by layer, in jobs, and takes those of open results
/// as they are; fits one of them again in detail. Lives on the GUI thread.
class ProbeMeasurements : public QObject {
  Q_OBJECT

 public:
  using Detail = std::shared_ptr<const ProbeDetail>;
  using Place = ProbePlace;

  ProbeMeasurements(Workspace& workspace, JobRunner& jobs, const Preferences& preferences);

  std::vector<ProbeSource> sources(ProbeQuestion question) const;

  /// Starts what is missing of the open captures.
  void measure(ProbeQuestion question);
  /// Drops all values, and starts the detail again.
  void recompute();
  /// Returns the results of those sources() that are known, for figures.
  std::vector<FigureSource> figureSources(ProbeQuestion question) const;
  /// Returns the probes of a capture; of results an empty answer.
  const Answer<Results>& answer(const ProbeSource& source, ProbeQuestion question) const;
  bool isMeasuring(ProbeQuestion question) const;

  /// Starts the probe at `place`; drops others.
  void showDetail(const std::optional<Place>& place);
  /// Starts the detail again where it failed: what was missing may be open now.
  void retryDetail();
  const std::optional<Place>& place() const { return place_; }
  const Answer<Detail>& detail() const;

 Q_SIGNALS:
  void changed();
  void detailChanged();

 private:
  struct Key {
    int document = 0;
    ProbeQuestion question = ProbeQuestion::kSeparability;
    bool operator==(const Key&) const = default;
  };
  void startDetail();
  void onDocumentRemoved(int document);

  Workspace& workspace_;
  const Preferences& preferences_;
  JobCache<Key, Results> measured_;  ///< of captures
  std::optional<Place> place_;
  JobCache<Place, Detail> details_;
};

}  // namespace lime::explorer
