// SPDX-License-Identifier: Apache-2.0
#include "explorer/probes/probe_detail.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "analysis/blimp/blimp_analysis.h"
#include "analysis/engine/analysis.h"
#include "analysis/engine/run_analysis.h"
#include "analysis/separability/layer_probes.h"
#include "analysis/separability/separability_analysis.h"
#include "core/utf8.h"
#include "explorer/models/found_tokenizer.h"
#include "store/capture_reader.h"

namespace lime::explorer {
namespace {

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

}  // namespace

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

}  // namespace lime::explorer
