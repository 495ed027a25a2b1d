// SPDX-License-Identifier: Apache-2.0
#include "explorer/models/probe_measurements.h"

#include <algorithm>
#include <utility>

#include "analysis/blimp_analysis.h"
#include "analysis/run_analysis.h"
#include "analysis/separability_analysis.h"
#include "explorer/models/text.h"
#include "explorer/models/workspace.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

const QString kProbesStopped = QStringLiteral("stopped; View > Measure again goes on");

Analysis preparedProbes(ProbeQuestion question, const CaptureSetOptions& set,
                        const RunOptions& run) {
  if (question == ProbeQuestion::kSeparability) {
    SeparabilityOptions options;
    options.captures = set;
    return prepare_separability(options, run);
  }
  BlimpOptions options;
  options.captures = set;
  return prepare_blimp(options, run);
}

}  // namespace

ProbeMeasurements::ProbeMeasurements(Workspace& workspace, JobRunner& jobs, QObject* parent)
    : QObject(parent), workspace_(workspace), jobs_(jobs) {
  connect(&workspace, &Workspace::documentRemoved, this, &ProbeMeasurements::drop);
  connect(&jobs, &JobRunner::jobRemoved, this, &ProbeMeasurements::jobRemoved);
}

std::vector<ProbeSource> ProbeMeasurements::sources(ProbeQuestion question) const {
  return probeSources(workspace_, question);
}

void ProbeMeasurements::measure(ProbeQuestion question) {
  for (const ProbeSource& source : sources(question)) {
    if (!source.is_capture) continue;
    if (!measured_[{source.document, question}].is_asked()) start(source, question);
  }
}

void ProbeMeasurements::start(const ProbeSource& source, ProbeQuestion question) {
  RunOptions run;
  run.threads = threads_;
  CaptureSetOptions set;
  set.captures = {source.capture};
  set.label = {source.own_label};
  const QString name = question == ProbeQuestion::kSeparability ? QStringLiteral("Separability")
                                                                : QStringLiteral("BLiMP");
  const Key key{source.document, question};
  measured_[key].job = jobs_.startAnalysis(
      this,
      {.title = QStringLiteral("%1 of %2").arg(name, source.label),
       .key = QStringLiteral("probes/%1/%2").arg(name).arg(source.document)},
      [question, set, run] { return preparedProbes(question, set, run); }, run,
      [this, key](Report report) {
        measured_[key] = {.job = 0, .result = std::move(report.results), .problem = {}};
        Q_EMIT changed();
      },
      [this, key](const QString& error) {
        measured_[key] = {.job = 0, .result = std::nullopt, .problem = error};
        Q_EMIT changed();
      });
}

void ProbeMeasurements::forget() {
  for (auto& [key, answer] : std::exchange(measured_, {})) {
    if (answer.job != 0) jobs_.cancel(answer.job);
  }
  const std::optional<Place> place = place_;
  look(std::nullopt);
  look(place);
}

std::vector<FigureSource> ProbeMeasurements::figureSources(ProbeQuestion question) const {
  std::vector<FigureSource> figures;
  for (const ProbeSource& source : sources(question)) {
    const Document& document = *workspace_.find(source.document);
    const Results* results = nullptr;
    if (!source.is_capture) {
      results = &document.results->results;
    } else if (const Answer<Results>& known = answer(source, question); known.result) {
      results = &*known.result;
    }
    if (results != nullptr) figures.push_back(probeFigureSource(source, document.path, *results));
  }
  return figures;
}

const Answer<Results>& ProbeMeasurements::answer(const ProbeSource& source,
                                                 ProbeQuestion question) const {
  static const Answer<Results> none;
  const auto at = measured_.find({source.document, question});
  return source.is_capture && at != measured_.end() ? at->second : none;
}

bool ProbeMeasurements::isMeasuring(ProbeQuestion question) const {
  return std::any_of(measured_.begin(), measured_.end(), [&](const auto& entry) {
    return entry.first.second == question && entry.second.job != 0;
  });
}

void ProbeMeasurements::look(const std::optional<Place>& place) {
  if (place == place_) return;
  const JobId job = detail_.job;
  place_ = place;
  detail_ = {};
  if (job != 0) jobs_.cancel(job);
  if (place_) startDetail();
  Q_EMIT detailChanged();
}

void ProbeMeasurements::lookAgain() {
  if (detail_.problem.isEmpty()) return;
  const std::optional<Place> place = place_;
  look(std::nullopt);
  look(place);
}

void ProbeMeasurements::startDetail() {
  ProbeDetailRequest request;
  const std::vector<ProbeSource> all = sources(place_->question);
  const auto source = std::find_if(all.begin(), all.end(), [this](const ProbeSource& one) {
    return one.label == place_->label;
  });
  if (source == all.end()) return;
  request.question = place_->question;
  request.source = *source;
  request.results = workspace_.find(source->document)->path;
  request.site = place_->site;
  request.layer = place_->layer;
  request.task = place_->task;
  request.threads = threads_;
  request.locator = workspace_.locator();
  for (const Document& document : workspace_.documents()) {
    if (document.capture) request.captures.push_back(document.capture);
    if (document.checkpoint) request.checkpoints.push_back(document.path);
  }
  detail_.job = jobs_.start<ProbeDetail>(
      this,
      {.title = QStringLiteral("Probe of layer %1 of %2").arg(place_->layer).arg(source->label),
       .key = QStringLiteral("probes/detail"),
       .lane = JobLane::kLong},
      [request](const JobContext& context) {
        return exploreProbe(request, context.on_progress, context.stop);
      },
      [this](ProbeDetail detail) {
        detail_ = {.job = 0, .result = std::move(detail), .problem = {}};
        Q_EMIT detailChanged();
      },
      [this](const QString& error) {
        detail_ = {.job = 0, .result = std::nullopt, .problem = error};
        Q_EMIT detailChanged();
      });
}

void ProbeMeasurements::drop(int document) {
  for (const ProbeQuestion question : {ProbeQuestion::kSeparability, ProbeQuestion::kBlimp}) {
    const auto at = measured_.find({document, question});
    if (at == measured_.end()) continue;
    const JobId job = at->second.job;
    measured_.erase(at);
    if (job != 0) jobs_.cancel(job);
  }
  if (place_) {
    const std::vector<ProbeSource> all = sources(place_->question);
    const bool is_there = std::any_of(all.begin(), all.end(), [this](const ProbeSource& one) {
      return one.label == place_->label;
    });
    if (!is_there) look(std::nullopt);
  }
  Q_EMIT changed();
}

void ProbeMeasurements::jobRemoved(JobId id) {
  // What has a result by now has no job; what still has one was cancelled.
  for (auto& [key, answer] : measured_) {
    if (answer.job != id) continue;
    answer = {.job = 0, .result = std::nullopt, .problem = kProbesStopped};
    Q_EMIT changed();
    return;
  }
  if (detail_.job != id) return;
  detail_ = {.job = 0, .result = std::nullopt, .problem = kProbesStopped};
  Q_EMIT detailChanged();
}

}  // namespace lime::explorer
