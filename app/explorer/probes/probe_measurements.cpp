// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probe_measurements.h"

#include <algorithm>
#include <utility>

#include "analysis/blimp/blimp_analysis.h"
#include "analysis/engine/analysis.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/separability/separability_analysis.h"
#include "explorer/models/document.h"
#include "explorer/models/text.h"
#include "explorer/models/unhashed.h"
#include "explorer/models/workspace.h"

namespace lime::explorer {
namespace {

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

ProbeMeasurements::ProbeMeasurements(Workspace& workspace, JobRunner& jobs,
                                     const Preferences& preferences)
    : workspace_(workspace), preferences_(preferences), measured_(jobs), details_(jobs) {
  connect(&workspace, &Workspace::documentRemoved, this, &ProbeMeasurements::onDocumentRemoved);
  connect(&measured_, &JobCacheSignals::changed, this, &ProbeMeasurements::changed);
  connect(&details_, &JobCacheSignals::changed, this, &ProbeMeasurements::detailChanged);
}

std::vector<ProbeSource> ProbeMeasurements::sources(ProbeQuestion question) const {
  return probeSources(workspace_, question);
}

void ProbeMeasurements::measure(ProbeQuestion question) {
  const QString name =
      question == ProbeQuestion::kSeparability ? u"Separability"_s : u"Accuracy on minimal pairs"_s;
  RunOptions run;
  run.threads = preferences_.threads;
  for (const ProbeSource& source : sources(question)) {
    if (!source.is_capture) continue;
    CaptureSetOptions set;
    set.notes_massive_rows = false;
    set.captures = {source.capture};
    set.label = {source.own_label};
    measured_.request({source.document, question},
                      {.title = u"%1 of %2"_s.arg(name, source.label),
                       .key = u"probes/%1/%2"_s.arg(name).arg(source.document),
                       .lane = JobLane::kLong},
                      [question, set, run](const JobContext& context) {
                        return compute(unhashed(preparedProbes(question, set, run)), run,
                                       context.on_progress, context.stop)
                            .table();
                      });
  }
}

void ProbeMeasurements::recompute() {
  measured_.clear();
  details_.clear();
  startDetail();
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
  return measured_.at({source.is_capture ? source.document : 0, question});
}

bool ProbeMeasurements::isMeasuring(ProbeQuestion question) const {
  return measured_.isBusy([question](const Key& key) { return key.question == question; });
}

const Answer<ProbeMeasurements::Detail>& ProbeMeasurements::detail() const {
  return details_.at(place_.value_or(Place()));
}

void ProbeMeasurements::showDetail(const std::optional<Place>& place) {
  if (place == place_) return;
  place_ = place;
  details_.keepOnly(place);
  startDetail();
  Q_EMIT detailChanged();
}

void ProbeMeasurements::retryDetail() {
  if (detail().problem.isEmpty()) return;
  details_.clear();
  startDetail();
}

void ProbeMeasurements::startDetail() {
  if (!place_) return;
  const std::vector<ProbeSource> all = sources(place_->question);
  const auto source = std::ranges::find(all, place_->label, &ProbeSource::label);
  if (source == all.end()) return;
  ProbeDetailRequest request;
  request.place = *place_;
  request.source = *source;
  request.results = workspace_.find(source->document)->path;
  request.threads = preferences_.threads;
  request.inputs = workspace_.openInputs();
  details_.request(*place_,
                   {.title = u"Predictions of the probe of layer %1 of %2"_s
                                 .arg(place_->layer + preferences_.layer_base)
                                 .arg(source->label),
                    .key = u"probes/detail"_s,
                    .lane = JobLane::kLong},
                   [request](const JobContext& context) {
                     return std::make_shared<const ProbeDetail>(
                         exploreProbe(request, context.on_progress, context.stop));
                   });
}

void ProbeMeasurements::onDocumentRemoved(int document) {
  measured_.dropIf([document](const Key& key) { return key.document == document; });
  if (place_) {
    const std::vector<ProbeSource> all = sources(place_->question);
    const bool is_there = std::ranges::any_of(all, [this](const ProbeSource& probe_source) {
      return probe_source.label == place_->label;
    });
    if (!is_there) showDetail(std::nullopt);
  }
  Q_EMIT changed();
}

}  // namespace lime::explorer
