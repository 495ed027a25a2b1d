// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/collapse/collapse_analysis.h"
#include "analysis/entropy/layer_spectra.h"
#include "explorer/models/figures.h"
#include "explorer/models/job_cache.h"
#include "explorer/models/preferences.h"
#include "store/results_file.h"

namespace lime {
class CaptureReader;
}  // namespace lime

namespace lime::explorer {

class Workspace;
struct Document;

/// Measures entropy and geometry of the open captures, the causes of a collapse, and one layer of
/// them in detail, in jobs.
/// Each value is computed once and kept until recompute(). Lives on the GUI thread.
class CollapseMeasurements : public QObject {
  Q_OBJECT

 public:
  enum class Kind { kEntropy, kGeometry };

  CollapseMeasurements(Workspace& workspace, JobRunner& jobs, const Preferences& preferences);

  /// Returns the shown captures of whole sequences; all shown ones if there are none.
  std::vector<const Document*> captures() const;

  /// Limits measurements to the first `count` sequences; 0: all. Drops those of another limit.
  void setMaxSequences(std::int64_t count);
  std::int64_t maxSequences() const { return max_sequences_; }

  /// Starts what is missing of all shown captures: the curve of each or, with `compares`, the
  /// differences to the first.
  /// @param site  the one on display: its first sequences are measured first
  void measure(Kind kind, bool compares, const std::string& site);
  /// Starts what is missing of a layer of them; drops other layers.
  void measureLayer(const std::string& site, std::optional<int> layer);
  std::optional<int> layer() const { return layer_; }
  /// Starts what is missing of the verdicts on the layers of a site.
  /// @param against_random  compares with random weights, which are captured if they are missing
  void measureVerdicts(const std::string& site, bool against_random);
  /// Drops all values.
  void recompute();

  /// Returns the curves of a capture; while a job is running, those of its first sequences.
  const Answer<AnalysisResult>& curves(const Document& document, Kind kind) const;
  /// Returns the differences of all shown captures to the first.
  const Answer<AnalysisResult>& differences(Kind kind) const;
  const Answer<LayerSpectra>& layerOf(const Document& document) const;
  /// Returns the verdicts on the site of measureVerdicts(); while random weights are being
  /// captured, those without them.
  const Answer<CollapseVerdicts>& verdictsOf(const Document& document) const;
  bool isMeasuring(Kind kind) const;
  bool isMeasuringLayer() const { return layers_.isBusy(); }
  bool isMeasuringVerdicts() const { return verdicts_.isBusy(); }

 Q_SIGNALS:
  void curvesChanged();
  void layerChanged();
  void verdictsChanged();

 private:
  /// A reloaded capture has a new reader.
  using Capture = std::shared_ptr<const CaptureReader>;
  struct CurveKey {
    std::vector<Capture> captures;  ///< several: their differences to the first
    Kind kind = Kind::kEntropy;
    std::int64_t max_sequences = 0;
    bool operator==(const CurveKey&) const = default;
  };
  struct LayerKey {
    Capture capture;
    std::string site;
    int layer = 0;
    std::int64_t max_sequences = 0;
    bool operator==(const LayerKey&) const = default;
  };
  struct VerdictKey {
    Capture capture;
    std::string site;
    std::int64_t max_sequences = 0;
    bool against_random = false;
    bool operator==(const VerdictKey&) const = default;
  };
  void request(const std::vector<const Document*>& documents, Kind kind, const std::string& site);
  /// Returns the entropies of the sequences of a layer. Runs in a job.
  static std::vector<double> measuredEntropies(const LayerKey& key, const RunOptions& run,
                                               const JobContext& context);
  LayerKey layerKey(const Document& document) const;
  void dropClosed();

  Workspace& workspace_;
  std::int64_t max_sequences_ = 0;
  const Preferences& preferences_;
  std::string site_;  ///< of the layer
  std::optional<int> layer_;
  std::string verdict_site_;
  bool against_random_ = false;
  JobCache<CurveKey, AnalysisResult> curves_;
  JobCache<LayerKey, LayerSpectra> layers_;
  JobCache<VerdictKey, CollapseVerdicts> verdicts_;
};

/// A measure of collapse, as the view lists it.
struct CollapseMeasure {
  const char* name;  ///< of lime-metrics geometry; "entropy" is of lime-metrics entropy
  const char* title;
  const char* help;
};
const std::vector<CollapseMeasure>& collapseMeasures();
CollapseMeasurements::Kind kindOf(const std::string& measure);

/// Names a sequence of a capture at an extreme of a layer's entropies.
struct Extreme {
  int document = 0;
  bool is_lowest = true;
  std::int64_t sequence = 0;

  bool operator==(const Extreme&) const = default;
};

/// Returns the captures that have values of a site.
std::vector<const Document*> drawnCaptures(const CollapseMeasurements& measurements,
                                           const std::string& site,
                                           CollapseMeasurements::Kind kind);

/// Draws a measure of the open captures over layers. Neither figure nor message: nothing is known.
/// @param measure   of collapseMeasures()
/// @param compares  draws the differences to the first capture instead, with stars
FigureOrMessage collapseCurves(const CollapseMeasurements& measurements, const Workspace& workspace,
                               const std::string& site, const std::string& measure, bool compares,
                               int layer_base);

/// Emphasises the curves of a training step; those of other steps become thin and grey.
void emphasiseStep(Figure& figure, std::int64_t step);

/// Returns why a capture is not drawn; empty if it is, or is being measured.
QString collapseObstacle(const CollapseMeasurements& measurements, const Document& capture,
                         CollapseMeasurements::Kind kind);

/// Lists the captures that do not compare.
QStringList collapseProblems(const CollapseMeasurements& measurements, const Workspace& workspace,
                             CollapseMeasurements::Kind kind);

/// Draws the spectrum of the measured layer of each capture, and of the sequence `extreme`, dashed.
std::optional<FigurePanel> spectrumPanel(const CollapseMeasurements& measurements,
                                         const Workspace& workspace,
                                         const std::optional<Extreme>& extreme);

}  // namespace lime::explorer
