// SPDX-License-Identifier: Apache-2.0
#include "analysis/geometry/geometry_results.h"

#include <cmath>

#include "analysis/engine/capture_rows.h"
#include "analysis/engine/row_summaries.h"
#include "metrics/jackknife.h"

namespace lime {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

using Value = std::optional<double>;
using ValueOf = std::function<Value(const SequenceGeometry&)>;
using ValueOfLayer = std::function<Value(const MeasuredLayer&)>;

/// The four ranks and the participation ratio, under their names.
std::vector<std::pair<std::string, std::function<Value(const MeasuredSpectrum&)>>> rank_measures() {
  const auto rank = [](double SpectrumMeasures::*member) {
    return [member](const MeasuredSpectrum& spectrum) -> Value {
      if (!spectrum.ranks) return std::nullopt;
      return (*spectrum.ranks).*member;
    };
  };
  return {{"effective_rank", rank(&SpectrumMeasures::effective_rank)},
          {"rankme", rank(&SpectrumMeasures::rankme)},
          {"participation_ratio",
           [](const MeasuredSpectrum& spectrum) { return spectrum.participation_ratio; }},
          {"stable_rank", rank(&SpectrumMeasures::stable_rank)},
          {"numerical_rank", rank(&SpectrumMeasures::numerical_rank)}};
}

class RowCollector {
 public:
  RowCollector(const MeasuredLayer& layer, const std::vector<MeasuredLayer>& without,
               const GeometryAnalysisOptions& options)
      : layer_(layer), without_(without), options_(options), summaries_(options.summary) {}

  /// Adds a value of `n` rows together. @return the row, for further columns.
  ResultRow& add_of_rows(const std::string& group, const std::string& measure,
                         const ValueOfLayer& value_of, std::int64_t n) {
    ResultRow& row = start(group, measure, "rows");
    const Value value = value_of(layer_);
    Summary summary = undefined_of(n);
    if (value) summary.mean = *value;
    const std::optional<Jackknife> blocks = leave_out_blocks(value_of);
    if (blocks) {
      summary.ci_low = blocks->ci_low;
      summary.ci_high = blocks->ci_high;
    }
    set_summary(row, summary);
    if (blocks) row.set(col::kStderr, blocks->standard_error);
    row.set(col::kUndefined, value ? 0 : 1);
    if (blocks) add_samples(group, measure, "blocks", blocks->pseudo_values);
    return row;
  }

  /// Adds a value per sequence, averaged over the sequences that have one.
  ResultRow& add_of_sequences(const std::string& group, const std::string& measure,
                              const ValueOf& value_of) {
    std::vector<double> values;
    for (const SequenceGeometry& sequence : layer_.geometry.sequences) {
      const Value value = value_of(sequence);
      if (value && std::isfinite(*value)) values.push_back(*value);
    }
    const std::size_t undefined = layer_.geometry.sequences.size() - values.size();
    return add_of_items(group, measure, "sequences", std::move(values), undefined);
  }

  /// Adds the mean of `values`, one per item but the `undefined` ones.
  ResultRow& add_of_items(const std::string& group, const std::string& measure, const char* items,
                          std::vector<double> values, std::size_t undefined) {
    ResultRow& row = start(group, measure, items);
    if (values.empty()) {
      set_summary(row, undefined_of(0));
    } else {
      summaries_.add_mean(row, result_.rows.size() - 1, values);
    }
    row.set(col::kUndefined, undefined);
    if (undefined == 0) add_samples(group, measure, items, std::move(values));
    return row;
  }

  UnitResult finish() {
    summaries_.fill(result_.rows);
    return std::move(result_);
  }

 private:
  /// Empty without a jackknife, or if a block leaves no value.
  std::optional<Jackknife> leave_out_blocks(const ValueOfLayer& value_of) const {
    std::vector<double> values;
    for (const MeasuredLayer& layer : without_) {
      values.push_back(value_of(layer).value_or(kUndefined));
    }
    return jackknife_of_defined(value_of(layer_).value_or(kUndefined), values,
                                options_.summary.confidence);
  }

  void add_samples(const std::string& group, const std::string& measure, const char* items,
                   std::vector<double> values) {
    ResultRow key = {{col::kGroup, group}, {col::kMeasure, measure}};
    // Ranks of rows and of sequences are different quantities.
    if (options_.ranks == RankScope::kBoth)
      key.set(col::kOver, items == std::string("blocks") ? "rows" : items);
    result_.samples.push_back(
        {.key = std::move(key), .quantity = measure, .items = items, .values = std::move(values)});
  }

  ResultRow& start(const std::string& group, const std::string& measure, const char* over) {
    result_.rows.push_back({{col::kGroup, group}, {col::kMeasure, measure}, {col::kOver, over}});
    return result_.rows.back();
  }

  static Summary undefined_of(std::int64_t n) {
    return {
        .n = n, .mean = kUndefined, .std = kUndefined, .ci_low = kUndefined, .ci_high = kUndefined};
  }

  const MeasuredLayer& layer_;
  const std::vector<MeasuredLayer>& without_;
  const GeometryAnalysisOptions& options_;
  RowSummaries summaries_;
  UnitResult result_;
};

void add_ranks(const LayerGeometry& geometry, RankScope scope, RowCollector& rows) {
  for (const auto& [name, value] : rank_measures()) {
    if (scope == RankScope::kSequences) break;
    ResultRow& row = rows.add_of_rows(
        "rank", name,
        [&value = value](const MeasuredLayer& layer) { return value(layer.geometry.spectrum); },
        geometry.num_rows);
    row.set(col::kCeiling, std::min(geometry.num_rows, geometry.dim));
  }
  double ceiling = 0.0;
  for (const SequenceGeometry& sequence : geometry.sequences) {
    ceiling += static_cast<double>(std::min(sequence.num_tokens, geometry.dim)) /
               static_cast<double>(geometry.sequences.size());
  }
  for (const auto& [name, value] : rank_measures()) {
    if (scope == RankScope::kRows) break;
    ResultRow& row = rows.add_of_sequences(
        "rank", name,
        [&value = value](const SequenceGeometry& sequence) { return value(sequence.spectrum); });
    row.set(col::kCeiling, ceiling);
  }
}

/// Adds measures of one part of what was measured of every sequence, under their names.
template <typename Part, typename Member>
void add_members(const char* group, Part SequenceGeometry::*part,
                 std::initializer_list<std::pair<const char*, Member Part::*>> measures,
                 RowCollector& rows) {
  for (const auto& [name, member] : measures) {
    rows.add_of_sequences(group, name, [part, member = member](const SequenceGeometry& sequence) {
      return Value(sequence.*part.*member);
    });
  }
}

void add_similarity(const LayerGeometry& geometry, RowCollector& rows) {
  const auto add_cosine = [&](const std::string& name, DirectionSum LayerGeometry::*member) {
    rows.add_of_rows(
        "similarity", name,
        [member](const MeasuredLayer& layer) { return (layer.geometry.*member).mean_cosine(); },
        (geometry.*member).count);
  };
  add_cosine("anisotropy", &LayerGeometry::directions);
  add_cosine("anisotropy_centred", &LayerGeometry::centred_directions);
  add_members<SequenceSimilarity, Value>(
      "similarity", &SequenceGeometry::similarity,
      {{"sequence_cosine", &SequenceSimilarity::mean_cosine},
       {"mean_token_similarity", &SequenceSimilarity::mean_token_similarity},
       {"rank_one_residual", &SequenceSimilarity::rank_one_residual},
       {"rank_one_residual_1inf", &SequenceSimilarity::rank_one_residual_1inf}},
      rows);
}

void add_power_law(const LayerGeometry& geometry, const PowerLawRange& range, RowCollector& rows) {
  ResultRow& row = rows.add_of_rows(
      "power-law", "alpha_req",
      [](const MeasuredLayer& layer) -> Value {
        const std::optional<PowerLaw>& law = layer.geometry.spectrum.power_law;
        return law ? Value(law->alpha) : std::nullopt;
      },
      geometry.num_rows);
  row.set(col::kFitFirst, range.first);
  row.set(col::kFitLast, range.last);
  const PowerLaw law = geometry.spectrum.power_law.value_or(
      PowerLaw{kUndefined, kUndefined, kUndefined, kUndefined});
  row.set(col::kR2, law.r2);
  row.set(col::kAlphaHead, law.head);
  row.set(col::kAlphaTail, law.tail);
}

void add_dimension(const IntrinsicDimension& dimension, RowCollector& rows) {
  for (const auto& [name, member] : {std::pair("two_nn", &IntrinsicDimension::two_nn),
                                     std::pair("mle", &IntrinsicDimension::mle),
                                     std::pair("gride", &IntrinsicDimension::gride)}) {
    ResultRow& row = rows.add_of_rows(
        "dimension", name,
        [member = member](const MeasuredLayer& layer) -> Value {
          return layer.dimension ? (*layer.dimension).*member : std::nullopt;
        },
        dimension.points);
    row.set(col::kDuplicates, dimension.duplicates);
    if (member == &IntrinsicDimension::gride) row.set(col::kScale, dimension.gride_scale);
  }
}

void add_views(const ViewMeasures& views, RowCollector& rows) {
  const auto dime = [](const MeasuredLayer& layer) -> Value { return mean_of(layer.views->dime); };
  const auto lidar = [](const MeasuredLayer& layer) -> Value { return layer.views->lidar; };
  const std::int64_t texts = std::ssize(views.infonce);
  rows.add_of_rows("views", "dime", dime, texts)
      .set(col::kPermutationStd, summarize(views.dime, {.resamples = 0}).std);
  rows.add_of_items("views", "infonce", "texts", views.infonce, 0);
  rows.add_of_rows("views", "lidar", lidar, texts);
}

/// Warns where both halves of the fitted range lead to different conclusions.
std::string remark_on_power_law(const Results& results, const PowerLawRange& range) {
  std::string where;
  for (const ResultRow& row : results.rows) {
    if (!row.has(col::kAlphaHead)) continue;
    const double head = row.number(col::kAlphaHead);
    const double tail = row.number(col::kAlphaTail);
    if (!((head - 1.0) * (tail - 1.0) < 0.0)) continue;
    where += fmt::format("{}{} {} layer {} ({:.2f}, {:.2f})", where.empty() ? "" : "; ",
                         row.text(col::kLabel), row.text(col::kSite), row.integer(col::kLayer),
                         head, tail);
  }
  if (where.empty()) return "";
  return fmt::format(
      "alpha_req: the range {} to {} decides whether alpha is above 1; its halves disagree in {}",
      range.first, range.last, where);
}

/// "values, rank, over sequences (at most 32)"
/// @param names  columns of the name
std::string block_heading(const std::vector<Column>& names, const RowPointers& rows) {
  const ResultRow& row = *rows.front();
  std::string text = fmt::format("{}, over {}", block_name(row, names), row.text(col::kOver));
  if (row.has(col::kCeiling)) text += fmt::format(" (at most {:g})", row.number(col::kCeiling));
  return text;
}

std::int64_t most(const Results& results, const Column& column) {
  std::int64_t largest = 0;
  for (const ResultRow& row : results.rows) {
    if (row.has(column)) largest = std::max(largest, row.integer(column));
  }
  return largest;
}

void add_notes(Report& report, const GeometryAnalysisOptions& options) {
  if (options.wants(GeometryGroup::kRank)) {
    report.notes.push_back(fmt::format("ranks: centering {}, RankMe's epsilon {:g}",
                                       enum_name(options.centering),
                                       rankme_epsilon(options.rankme)));
  }
  if (options.wants(GeometryGroup::kMassive)) {
    report.notes.push_back(fmt::format(
        "massive: magnitude above {:g} and at least {:g} times the median of the sequence",
        options.massive.threshold, options.massive.ratio));
  }
  if (options.wants(GeometryGroup::kFirstToken)) {
    report.notes.emplace_back(
        "first-token: top_share is sigma_1^2 / sum sigma^2 of a sequence, top_share_rest without "
        "its first token; if they differ, compare entropies with those of --skip-tokens 1");
  }
  if (options.wants(GeometryGroup::kPowerLaw)) {
    report.notes.push_back(
        fmt::format("power-law: eigenvalues {} to {} of the covariance, r2 and the alphas of both "
                    "halves of the range in CSV and JSON",
                    options.power_law.first, options.power_law.last));
    std::string remark = remark_on_power_law(report.results, options.power_law);
    if (!remark.empty()) report.remarks.push_back(std::move(remark));
  }
  if (options.wants(GeometryGroup::kDimension)) {
    report.notes.push_back(
        fmt::format("dimension: up to {} rows drawn at random, {} neighbours; at most {} rows per "
                    "layer dropped as duplicates",
                    options.neighbor_rows, options.dimension.num_neighbors,
                    most(report.results, col::kDuplicates)));
  }
  if (options.wants(GeometryGroup::kViews)) {
    report.notes.push_back(fmt::format(
        "views: preset {}; dime and infonce use the first two views of each text, lidar "
        "all; dime is the mean of {} random permutations",
        enum_name(options.views.preset), options.views.permutations));
  }
  if (most(report.results, col::kUndefined) > 0) {
    report.notes.emplace_back(
        "nan: undefined (all rows equal, fewer distinct rows than neighbours, or no sequence with "
        "a value); the column undefined counts the omitted sequences");
  }
}

}  // namespace

UnitResult geometry_result(const MeasuredLayer& layer, const std::vector<MeasuredLayer>& without,
                           const GeometryAnalysisOptions& options) {
  RowCollector rows(layer, without, options);
  if (options.wants(GeometryGroup::kRank)) add_ranks(layer.geometry, options.ranks, rows);
  if (options.wants(GeometryGroup::kSimilarity)) add_similarity(layer.geometry, rows);
  if (options.wants(GeometryGroup::kCurvature)) {
    rows.add_of_sequences("curvature", "curvature", [](const SequenceGeometry& sequence) {
      return sequence.curvature.degrees;
    });
  }
  if (options.wants(GeometryGroup::kMassive)) {
    add_members<MassiveActivations, double>(
        "massive", &SequenceGeometry::massive,
        {{"massive_share", &MassiveActivations::share},
         {"massive_token_share", &MassiveActivations::token_share},
         {"largest_to_median", &MassiveActivations::largest_ratio}},
        rows);
  }
  if (options.wants(GeometryGroup::kFirstToken)) {
    add_members<FirstToken, Value>("first-token", &SequenceGeometry::first_token,
                                   {{"first_norm_ratio", &FirstToken::norm_ratio},
                                    {"top_share", &FirstToken::top_share},
                                    {"top_share_rest", &FirstToken::top_share_rest}},
                                   rows);
  }
  if (options.wants(GeometryGroup::kPowerLaw)) {
    add_power_law(layer.geometry, options.power_law, rows);
  }
  if (layer.dimension) add_dimension(*layer.dimension, rows);
  if (layer.views) add_views(*layer.views, rows);
  return rows.finish();
}

void fill_geometry_report(Report& report, const std::vector<std::string>& inputs,
                          const GeometryAnalysisOptions& options) {
  report.layout.ceiling = {};
  std::vector<Column> names = {col::kSite, col::kGroup};
  if (inputs.size() == 1) {
    report.layout.series = col::kMeasure;
  } else {
    names.push_back(col::kMeasure);
  }
  report.layout.block = names;
  report.layout.block.push_back(col::kOver);
  report.layout.heading = [names](const RowPointers& rows) { return block_heading(names, rows); };
  report.notes.insert(report.notes.end(), inputs.begin(), inputs.end());
  add_notes(report, options);
  report.legend = "cells: value over all rows, or mean and standard deviation over sequences" +
                  interval_legend(options.summary);
  if (options.jackknife > 0) {
    report.legend += fmt::format("; over rows [{:g}% jackknife interval, {} blocks of sequences]",
                                 options.summary.confidence * 100.0, options.jackknife);
  } else if (options.wants(GeometryGroup::kRank) || options.wants(GeometryGroup::kSimilarity) ||
             options.wants(GeometryGroup::kDimension) || options.wants(GeometryGroup::kViews)) {
    report.notes.emplace_back(
        "add --jackknife 10 for intervals and comparisons of values over all rows");
  }
}

}  // namespace lime
