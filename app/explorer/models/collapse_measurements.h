// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/layer_exploration.h"
#include "explorer/models/job_runner.h"
#include "store/results_file.h"

namespace lime {
class CaptureReader;
struct CaptureSetOptions;
}  // namespace lime

namespace lime::explorer {

class Workspace;
struct Document;

/// What one job is to find out, and what came of it.
template <typename Result>
struct Answer {
  JobId job = 0;  ///< 0: none under way
  std::optional<Result> result = {};
  QString problem = {};  ///< why there is no result

  bool is_asked() const { return job != 0 || result || !problem.isEmpty(); }
};

/// Entropy and geometry of the open captures, and one layer of them in detail, each measured by a
/// job when it is first asked for and kept until it is forgotten. Lives on the GUI thread.
class CollapseMeasurements : public QObject {
  Q_OBJECT

 public:
  enum class Kind { kEntropy, kGeometry };

  CollapseMeasurements(Workspace& workspace, JobRunner& jobs, QObject* parent = nullptr);

  /// Open captures, and a label for each that no other has.
  std::vector<const Document*> captures() const;
  QString labelOf(const Document& document) const;

  /// Of the first so many sequences; 0: of all. Another number than before forgets everything.
  void setMaxSequences(std::int64_t count);
  std::int64_t maxSequences() const { return max_sequences_; }
  /// Of analyses to come; 0: all processors.
  void setThreads(int threads) { threads_ = threads; }

  /// Starts what is not known yet, of all open captures.
  void measure(Kind kind);
  /// The layer that layers() tells of; what was known of another one is forgotten.
  void setLayer(const std::string& site, std::optional<int> layer);
  std::optional<int> layer() const { return layer_; }
  void measureLayer();
  void forget();

  const Answer<Results>& curves(int document, Kind kind) const;
  const Answer<LayerExploration>& layerOf(int document) const;
  bool isMeasuring(Kind kind) const;
  bool isMeasuringLayer() const;

 Q_SIGNALS:
  void curvesChanged();
  void layerChanged();

 private:
  struct Measured {
    Answer<Results> entropy;
    Answer<Results> geometry;
    Answer<LayerExploration> layer;
    /// What was measured; another one after a reload.
    std::shared_ptr<const CaptureReader> capture;
    Answer<Results>& curves(Kind kind) { return kind == Kind::kEntropy ? entropy : geometry; }
  };
  void start(const Document& document, Kind kind);
  void startLayer(const Document& document);
  void forgetLayer();
  void drop(int document);
  void dropIfReloaded(int document);
  void jobRemoved(JobId id);

  Workspace& workspace_;
  JobRunner& jobs_;
  std::int64_t max_sequences_ = 0;
  int threads_ = 0;
  std::string site_;
  std::optional<int> layer_;
  std::map<int, Measured> measured_;  ///< by document
};

}  // namespace lime::explorer
