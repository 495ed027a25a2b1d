// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probe_measurements.h"

#include <set>

#include "analysis/blimp/blimp_analysis.h"
#include "analysis/engine/analysis.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/separability/layer_probes.h"
#include "analysis/separability/separability_analysis.h"
#include "explorer/models/unhashed.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

namespace fs = std::filesystem;

QString uniqueLabel(const QString& requested, const QString& document,
                    const std::vector<ProbeSource>& before) {
  const auto isTaken = [&](const QString& label) {
    return std::ranges::any_of(
        before, [&](const ProbeSource& probe_source) { return probe_source.label == label; });
  };
  if (!isTaken(requested)) return requested;
  if (const QString longer = u"%1 (%2)"_s.arg(requested, document);
      document != requested && !isTaken(longer)) {
    return longer;
  }
  for (int number = 2;; ++number) {
    const QString numbered = u"%1 (%2)"_s.arg(requested).arg(number);
    if (!isTaken(numbered)) return numbered;
  }
}

/// Rows of probes: neither comparisons nor the model's own judgement, which has no layers.
bool isProbeRow(const ResultRow& row) { return row.has(col::kLayer) && !row.has(col::kKind); }

void addResults(const Document& document, ProbeQuestion question,
                std::vector<ProbeSource>& sources) {
  const Results& results = document.results->results;
  if (results.metric != metricOf(question)) return;
  std::vector<ProbeSource> own;
  for (const ResultRow& row : results.rows) {
    if (!isProbeRow(row)) continue;
    const std::string& label = row.text(col::kLabel);
    auto at = std::ranges::find(own, label, &ProbeSource::own_label);
    if (at == own.end()) {
      ProbeSource source;
      source.document = document.id;
      source.own_label = label;
      source.options = results.options;
      for (const ResultsInput& input : results.inputs) {
        if (input.label != label) continue;
        source.capture = input.path;
        source.input = input;
      }
      own.push_back(std::move(source));
      at = own.end() - 1;
    }
    const std::string& site = row.text(col::kSite);
    if (!contains(at->sites, site)) at->sites.push_back(site);
  }
  for (ProbeSource& source : own) {
    source.label = uniqueLabel(toQString(source.own_label), document.label, sources);
    sources.push_back(std::move(source));
  }
}

void addTokens(const ProbeDetailRequest& request, const CaptureReader& capture, ThreadPool& pool,
               const std::stop_token& stop, ProbeDetail& detail) {
  SeparabilityOptions options;
  assign_stored_options(options, request.source.options);
  const TokenProbe explored =
      probe_tokens_of_layer(capture, request.place.site, request.place.layer, options, pool, stop);
  detail.classes = explored.class_names;
  detail.confusion = explored.confusion;
  for (const TokenPrediction& token_prediction : explored.predictions) {
    detail.predictions.push_back({.truth = token_prediction.truth,
                                  .predicted = token_prediction.predicted,
                                  .truth_probability = token_prediction.truth_probability,
                                  .predicted_probability = token_prediction.predicted_probability,
                                  .row = token_prediction.row});
  }
}

void addPairs(const ProbeDetailRequest& request, const CaptureReader& capture, ThreadPool& pool,
              const ProgressFn& on_progress, const std::stop_token& stop, ProbeDetail& detail) {
  BlimpOptions options;
  assign_stored_options(options, request.source.options);
  options.probe.seed = request.source.options.value("seed", std::uint64_t{0});
  if (!request.place.task.empty()) options.task = {request.place.task};
  const PairProbes explored = probe_pairs_of_layer(capture, request.place.site, request.place.layer,
                                                   options, pool, on_progress, stop);
  detail.classes = {"bad", "good"};
  detail.tasks = explored.tasks;
  detail.confusion = explored.confusion;
  const std::vector<std::int64_t>& offsets = capture.offsets();
  const auto row_of = [&](std::int64_t s) { return offsets[static_cast<std::size_t>(s)]; };
  for (const PairPrediction& pair_prediction : explored.predictions) {
    detail.predictions.push_back({.truth = 1,
                                  .predicted = pair_prediction.is_correct() ? 1 : 0,
                                  .truth_probability = pair_prediction.good_probability,
                                  .predicted_probability = pair_prediction.bad_probability,
                                  .good_is_correct = pair_prediction.good_is_correct,
                                  .bad_is_correct = pair_prediction.bad_is_correct,
                                  .row = row_of(pair_prediction.pair.good),
                                  .bad_row = row_of(pair_prediction.pair.bad),
                                  .task = static_cast<int>(pair_prediction.task),
                                  .pair = pair_prediction.pair.number});
  }
}

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

std::string metricOf(ProbeQuestion question) {
  return question == ProbeQuestion::kSeparability ? "separability" : "blimp";
}

bool canProbe(const CaptureReader& capture, ProbeQuestion question) {
  const CaptureInfo& info = capture.info();
  const bool is_labelled = question == ProbeQuestion::kSeparability ? !info.class_names.empty()
                                                                    : !info.task_names.empty();
  return is_labelled && !representationsOf(capture).empty();
}

std::vector<ProbeSource> probeSources(const Workspace& workspace, ProbeQuestion question) {
  std::vector<ProbeSource> sources;
  std::set<fs::path> covered;
  for (const Document* const document : workspace.documentsOf(DocumentKind::kResults)) {
    const std::size_t before = sources.size();
    addResults(*document, question, sources);
    for (std::size_t i = before; i < sources.size(); ++i) {
      if (sources[i].capture.empty()) continue;
      for (const fs::path& place : possiblePaths(sources[i].capture, document->path)) {
        covered.insert(place);
      }
    }
  }
  for (const Document* const document : workspace.documentsOf(DocumentKind::kCapture)) {
    if (!canProbe(*document->capture, question) || covered.contains(document->path)) continue;
    ProbeSource source;
    source.document = document->id;
    source.label = uniqueLabel(document->label, document->label, sources);
    source.own_label = source.label.toStdString();
    source.is_capture = true;
    source.capture = document->path;
    source.sites = representationsOf(*document->capture);
    sources.push_back(std::move(source));
  }
  return sources;
}

FigureSource probeFigureSource(const ProbeSource& source, const fs::path& path,
                               const Results& results) {
  FigureSource figure;
  figure.path = path;
  figure.results.metric = results.metric;
  figure.results.inputs = results.inputs;
  figure.results.options = results.options;
  for (const ResultRow& row : results.rows) {
    if (!isProbeRow(row) || row.text(col::kLabel) != source.own_label) continue;
    figure.results.rows.push_back(row);
    figure.results.rows.back().set(col::kLabel, source.label.toStdString());
  }
  return figure;
}

bool ProbePrediction::isOfCell(ProbeQuestion question, int true_class, int predicted_class) const {
  if (question == ProbeQuestion::kSeparability) {
    return truth == true_class && predicted == predicted_class;
  }
  return (true_class == 1 ? good_is_correct : bad_is_correct) == (true_class == predicted_class);
}

double ProbeDetail::accuracy() const {
  const int all = confusion.sum();
  return all == 0 ? 0.0 : static_cast<double>(confusion.trace()) / static_cast<double>(all);
}

ProbeDetail exploreProbe(const ProbeDetailRequest& request, const ProgressFn& on_progress,
                         std::stop_token stop) {
  const std::shared_ptr<const CaptureReader> capture =
      request.source.is_capture ? request.inputs.captureAt(request.source.capture)
                                : request.inputs.captureOf(request.source.input, request.results);
  throw_if<IoError>(
      !capture,
      "'{}': does not exist, and predictions of single tokens require it; open it from its "
      "current location",
      request.source.capture.string());
  ProbeDetail detail;
  detail.place = request.place;
  ThreadPool pool(RunOptions{.threads = request.threads}.num_threads());
  if (request.place.question == ProbeQuestion::kSeparability) {
    addTokens(request, *capture, pool, stop, detail);
  } else {
    addPairs(request, *capture, pool, on_progress, stop, detail);
  }
  detail.sentences = std::make_shared<const SentenceReader>(
      capture, findTokenizer(*capture, request.inputs.checkpoints).tokenizer);
  return detail;
}

Figure confusionFigure(const ProbeDetail& detail, bool is_share) {
  const Eigen::Index count = detail.confusion.rows();
  HeatmapPanel map;
  map.values.resize(count, count);
  for (Eigen::Index r = 0; r < count; ++r) {
    const auto sum = static_cast<double>(std::max(1, detail.confusion.row(r).sum()));
    for (Eigen::Index c = 0; c < count; ++c) {
      const auto value = static_cast<double>(detail.confusion(r, c));
      map.values(count - 1 - r, c) = is_share ? value / sum : value;
    }
  }
  map.shows_numbers = true;
  map.decimals = is_share ? 2 : 0;
  Figure figure;
  figure.name = "confusion";
  figure.panel_aspect = 1.0;
  figure.colour_label = is_share ? "fraction of the true class" : "count";
  figure.colour_range =
      is_share ? std::pair(0.0, 1.0) : std::pair(0.0, std::max(1.0, map.values.maxCoeff()));
  FigurePanel panel{
      .title = {}, .x = {.label = "predicted"}, .y = {.label = "true"}, .content = {}};
  for (Eigen::Index c = 0; c < count; ++c) {
    const std::string name = printable(detail.classes[static_cast<std::size_t>(c)]);
    panel.x.ticks.push_back({static_cast<double>(c), name});
    panel.y.ticks.push_back({static_cast<double>(count - 1 - c), name});
  }
  for (FigureAxis* const axis : {&panel.x, &panel.y}) {
    axis->if_crowded = CrowdedAxis{.addition = {}, .ticks = axis->ticks};  // else turned
  }
  panel.content = std::move(map);
  figure.panels.push_back(std::move(panel));
  return figure;
}

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
