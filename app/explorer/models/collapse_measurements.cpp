// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/collapse_measurements.h"

#include <algorithm>

#include "analysis/entropy_analysis.h"
#include "analysis/geometry_analysis.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

const QString kStopped = QStringLiteral("stopped; View > Measure again goes on");

Analysis prepared(CollapseMeasurements::Kind kind, const CaptureSetOptions& set,
                  std::optional<std::int64_t> max_sequences, const RunOptions& run) {
  if (kind == CollapseMeasurements::Kind::kEntropy) {
    EntropyAnalysisOptions options;
    options.captures = set;
    options.max_sequences = max_sequences;
    return prepare_entropy(options, run);
  }
  GeometryAnalysisOptions options;
  options.captures = set;
  options.max_sequences = max_sequences;
  options.measure = {GeometryGroup::kRank, GeometryGroup::kSimilarity, GeometryGroup::kCurvature};
  return prepare_geometry(options, run);
}

}  // namespace

CollapseMeasurements::CollapseMeasurements(Workspace& workspace, JobRunner& jobs, QObject* parent)
    : QObject(parent), workspace_(workspace), jobs_(jobs) {
  connect(&workspace, &Workspace::documentRemoved, this, &CollapseMeasurements::drop);
  connect(&workspace, &Workspace::documentChanged, this, &CollapseMeasurements::dropIfReloaded);
  connect(&jobs, &JobRunner::jobRemoved, this, &CollapseMeasurements::jobRemoved);
}

std::vector<const Document*> CollapseMeasurements::captures() const {
  return workspace_.documentsOf(DocumentKind::kCapture);
}

QString CollapseMeasurements::labelOf(const Document& document) const {
  int before = 0;
  for (const Document* const other : captures()) {
    if (other->id == document.id) break;
    if (other->label == document.label) ++before;
  }
  if (before == 0) return document.label;
  return QStringLiteral("%1 (%2)").arg(document.label).arg(before + 1);
}

void CollapseMeasurements::setMaxSequences(std::int64_t count) {
  if (count == max_sequences_) return;
  max_sequences_ = count;
  forget();
}

void CollapseMeasurements::measure(Kind kind) {
  for (const Document* const document : captures()) {
    if (!measured_[document->id].curves(kind).is_asked()) start(*document, kind);
  }
}

void CollapseMeasurements::start(const Document& document, Kind kind) {
  RunOptions run;
  run.threads = threads_;
  CaptureSetOptions set;
  set.captures = {document.path};
  set.label = {labelOf(document).toStdString()};
  std::optional<std::int64_t> most;
  if (max_sequences_ > 0) most = max_sequences_;
  const bool is_entropy = kind == Kind::kEntropy;
  const QString name = is_entropy ? QStringLiteral("Entropy") : QStringLiteral("Geometry");
  const int id = document.id;
  measured_[id].capture = document.capture;
  measured_[id].curves(kind).job = jobs_.startAnalysis(
      this,
      {.title = QStringLiteral("%1 of %2").arg(name, labelOf(document)),
       .key = QStringLiteral("collapse/%1/%2").arg(name).arg(id)},
      [kind, set, most, run] { return prepared(kind, set, most, run); }, run,
      [this, id, kind](Report report) {
        measured_[id].curves(kind) = {.job = 0, .result = std::move(report.results), .problem = {}};
        Q_EMIT curvesChanged();
      },
      [this, id, kind](const QString& error) {
        measured_[id].curves(kind) = {.job = 0, .result = std::nullopt, .problem = error};
        Q_EMIT curvesChanged();
      });
}

void CollapseMeasurements::setLayer(const std::string& site, std::optional<int> layer) {
  if (site == site_ && layer == layer_) return;
  forgetLayer();
  site_ = site;
  layer_ = layer;
  Q_EMIT layerChanged();
}

void CollapseMeasurements::measureLayer() {
  if (!layer_) return;
  for (const Document* const document : captures()) {
    const bool has_layer = document->capture->has(site_, *layer_);
    if (has_layer && !measured_[document->id].layer.is_asked()) startLayer(*document);
  }
}

void CollapseMeasurements::startLayer(const Document& document) {
  const int id = document.id;
  const int threads = RunOptions{.threads = threads_}.num_threads();
  const LayerExplorationOptions options{.max_sequences = max_sequences_};
  measured_[id].capture = document.capture;
  measured_[id].layer.job = jobs_.start<LayerExploration>(
      this,
      {.title = QStringLiteral("Layer %1 of %2").arg(*layer_).arg(labelOf(document)),
       .key = QStringLiteral("collapse/layer/%1").arg(id),
       .lane = JobLane::kLong},
      [capture = document.capture, site = site_, layer = *layer_, options,
       threads](const JobContext& context) {
        ThreadPool pool(threads);
        return explore_layer(*capture, site, layer, options, pool, context.on_progress,
                             context.stop);
      },
      [this, id](LayerExploration layer) {
        measured_[id].layer = {.job = 0, .result = std::move(layer), .problem = {}};
        Q_EMIT layerChanged();
      },
      [this, id](const QString& error) {
        measured_[id].layer = {.job = 0, .result = std::nullopt, .problem = error};
        Q_EMIT layerChanged();
      });
}

void CollapseMeasurements::forgetLayer() {
  for (auto& [id, measured] : measured_) {
    const JobId job = measured.layer.job;
    measured.layer = {};
    if (job != 0) jobs_.cancel(job);
  }
}

void CollapseMeasurements::forget() {
  std::vector<JobId> under_way;
  for (const auto& [id, measured] : measured_) {
    for (const JobId job : {measured.entropy.job, measured.geometry.job, measured.layer.job}) {
      if (job != 0) under_way.push_back(job);
    }
  }
  measured_.clear();
  for (const JobId job : under_way) jobs_.cancel(job);
  Q_EMIT curvesChanged();
  Q_EMIT layerChanged();
}

void CollapseMeasurements::drop(int document) {
  const auto at = measured_.find(document);
  if (at == measured_.end()) return;
  const Measured dropped = std::move(at->second);
  measured_.erase(at);
  for (const JobId job : {dropped.entropy.job, dropped.geometry.job, dropped.layer.job}) {
    if (job != 0) jobs_.cancel(job);
  }
  Q_EMIT curvesChanged();
  Q_EMIT layerChanged();
}

void CollapseMeasurements::dropIfReloaded(int document) {
  const auto at = measured_.find(document);
  const Document* const now = workspace_.find(document);
  if (at == measured_.end() || now == nullptr) return;
  if (at->second.capture && at->second.capture != now->capture) drop(document);
}

void CollapseMeasurements::jobRemoved(JobId id) {
  // What has a result by now has no job; what still has one was cancelled.
  for (auto& [document, measured] : measured_) {
    for (Answer<Results>* const answer : {&measured.entropy, &measured.geometry}) {
      if (answer->job != id) continue;
      *answer = {.job = 0, .result = std::nullopt, .problem = kStopped};
      Q_EMIT curvesChanged();
    }
    if (measured.layer.job != id) continue;
    measured.layer = {.job = 0, .result = std::nullopt, .problem = kStopped};
    Q_EMIT layerChanged();
  }
}

const Answer<Results>& CollapseMeasurements::curves(int document, Kind kind) const {
  static const Answer<Results> none;
  const auto at = measured_.find(document);
  if (at == measured_.end()) return none;
  return kind == Kind::kEntropy ? at->second.entropy : at->second.geometry;
}

const Answer<LayerExploration>& CollapseMeasurements::layerOf(int document) const {
  static const Answer<LayerExploration> none;
  const auto at = measured_.find(document);
  return at == measured_.end() ? none : at->second.layer;
}

bool CollapseMeasurements::isMeasuring(Kind kind) const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [&](const auto& entry) { return curves(entry.first, kind).job != 0; });
}

bool CollapseMeasurements::isMeasuringLayer() const {
  return std::any_of(measured_.begin(), measured_.end(),
                     [](const auto& entry) { return entry.second.layer.job != 0; });
}

}  // namespace lime::explorer
