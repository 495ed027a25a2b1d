// SPDX-License-Identifier: Apache-2.0
#include "analysis/lens/lens_analysis.h"

#include <array>

#include "analysis/engine/capture_rows.h"
#include "core/program/suggest.h"

namespace lime {
namespace {

/// Measures of a sequence; the first five are the stored columns.
constexpr std::array kMeasures = {"kl_to_final", "entropy", "agreement",
                                  "loss",        "rank",    "accuracy"};
constexpr std::size_t kStored = 5;

struct LensShared {
  LensOptions options;
  std::vector<ChosenCapture> captures;
};

std::vector<ChosenCapture> open_lenses(const CaptureSetOptions& options) {
  std::vector<ChosenCapture> captures = open_without_parts(options);
  for (ChosenCapture& capture : captures) {
    const std::vector<std::string>& sites = capture.reader.sites();
    throw_if(std::ranges::find(sites, kLensSite) == sites.end(),
             "{}: contains no logit lens (its sites: {}); capture again with --sites hidden,{}",
             quoted_path(capture.reader), join_words(sites), kLensSite);
    select_site(capture, kLensSite, options);
  }
  return captures;
}

std::vector<std::vector<double>> measure_sequences(const CaptureReader& capture, int layer,
                                                   std::int64_t count, const UnitContext& context) {
  throw_if<FormatError>(capture.dim(kLensSite, layer) != static_cast<std::int64_t>(kStored),
                        "{}: {} must have {} values per token, got {}", quoted_path(capture),
                        kLensSite, kStored, capture.dim(kLensSite, layer));
  std::vector<std::vector<double>> values(kMeasures.size(),
                                          std::vector<double>(static_cast<std::size_t>(count)));
  const SequenceSource sequences = token_sequences(capture, kLensSite, layer, count);
  context.pool.parallel_for(
      count,
      [&](std::int64_t i) {
        MatrixF rows;
        sequences.read(i, rows);
        const MatrixD with_next = rows.topRows(rows.rows() - 1).cast<double>();
        const auto at = static_cast<std::size_t>(i);
        for (std::size_t m = 0; m < kStored; ++m) {
          values[m][at] = with_next.col(static_cast<Eigen::Index>(m)).mean();
        }
        values[kStored][at] = (with_next.col(kStored - 1).array() == 1.0).cast<double>().mean();
      },
      context.stop);
  return values;
}

UnitResult measure_layer(const LensShared& shared, const LayerPlace& place,
                         const UnitContext& context) {
  const ChosenCapture& capture = shared.captures[place.capture];
  std::vector<std::vector<double>> values =
      measure_sequences(capture.reader, place.layer, capture.num_sequences, context);
  RowSummaries summaries(shared.options.summary);
  UnitResult result;
  for (std::size_t m = 0; m < kMeasures.size(); ++m) {
    result.rows.push_back({{col::kMeasure, kMeasures[m]}, {col::kOver, "sequences"}});
    summaries.add_mean(result.rows.back(), m, values[m]);
    result.samples.push_back({.key = {{col::kMeasure, kMeasures[m]}},
                              .quantity = kMeasures[m],
                              .items = "sequences",
                              .values = std::move(values[m])});
  }
  summaries.fill(result.rows);
  return result;
}

void fill_report(Report& report, const LensShared& shared) {
  report.layout.ceiling = {};
  if (shared.captures.size() == 1) {
    report.layout.series = col::kMeasure;
  } else {
    report.layout.block = {col::kSite, col::kMeasure};
  }
  for (const ChosenCapture& capture : shared.captures) {
    report.notes.push_back(describe_sequences(capture));
  }
  report.notes.emplace_back(
      "next-token distribution of each layer's residual stream: KL(final || layer) and entropy in "
      "nats,");
  report.notes.emplace_back(
      "same most probable token as the final layer, loss (nats), rank and accuracy of the next "
      "token");
  report.legend = "cells: mean, standard deviation over sequences of their means over tokens" +
                  interval_legend(shared.options.summary);
}

}  // namespace

void LensOptions::describe(OptionList& list) {
  captures.describe_layers(list);
  captures.describe_skip(list);
  captures.describe_max_sequences(list);
  summary.describe(list);
}

void LensOptions::validate() const {
  captures.validate();
  summary.validate("bootstrap");
}

Analysis prepare_lens(const LensOptions& options, const RunOptions& run) {
  options.validate();
  const auto shared = std::make_shared<LensShared>();
  shared->options = options;
  shared->options.summary.seed = run.seed;
  shared->captures = open_lenses(options.captures);
  for (const ChosenCapture& capture : shared->captures) {
    check_token_sequences(capture.reader, capture.num_sequences, "the logit lens");
  }
  Analysis analysis = analysis_of("lens", options, shared->captures);
  analysis.units = layer_units(shared->captures, [&](Unit& unit, const LayerPlace& place) {
    const ChosenCapture& capture = shared->captures[place.capture];
    unit.identity = capture.identity;
    unit.work = capture.num_sequences;
    unit.bytes = capture.num_sequences * std::ssize(kMeasures) * 16 +
                 summary_bytes(std::ssize(kMeasures), options.summary);
    unit.bytes_per_thread = longest_sequence(capture.reader, capture.num_sequences) *
                            static_cast<std::int64_t>(kStored) * 12;
    unit.measure = [shared, place](const UnitContext& context) {
      return measure_layer(*shared, place, context);
    };
  });
  analysis.threads = UnitThreads::kInside;
  analysis.present = [shared](Report& report, auto) { fill_report(report, *shared); };
  return analysis;
}

}  // namespace lime
