// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/comparison.h"

#include <iterator>
#include <map>
#include <unordered_map>

#include "core/threads/thread_pool.h"
#include "metrics/comparison/paired_comparison.h"
#include "metrics/comparison/run_comparison.h"
#include "metrics/comparison/significance.h"
#include "metrics/summary.h"

namespace lime {
namespace {

const std::string& label_of(const ResultRow& key) { return key.text(col::kLabel); }

ResultRow without(ResultRow key, const Column& column) {
  key.erase(column);
  return key;
}

std::vector<ResultRow> keys_of(std::span<const Samples> all) {
  std::vector<ResultRow> keys;
  for (const Samples& samples : all) keys.push_back(samples.key);
  return keys;
}

InvalidArgument other_items(std::string_view option, const ResultRow& first,
                            const ResultRow& second, std::string_view items) {
  return InvalidArgument(
      OptionName(option),
      "'{}' and '{}' contain different {}, but the comparison is paired; capture both "
      "with the same text and tokenizer, and use the same options",
      label_of(first), label_of(second), items);
}

void check_same_items(std::string_view option, const Samples& first, const Samples& second) {
  if (!have_same_items(first, second))
    throw other_items(option, first.key, second.key, first.items);
}

InvalidArgument nothing_in_common() {
  return InvalidArgument(OptionName("compare"), "the captures have no site and layer in common");
}

/// Returns what a key names in its capture, equal for two captures.
ResultRow subject_of(ResultRow key) {
  const std::string label = label_of(key);
  for (const TextColumn& column : {col::kLabel, col::kOtherLabel}) {
    if (key.text(column) == label) key.set(column, nullptr);
  }
  return key;
}

/// Returns the places of the same subject in two captures, the baseline's first, pair by pair.
std::vector<std::pair<std::size_t, std::size_t>> matches_of(std::span<const ResultRow> keys,
                                                            ComparePairs which) {
  std::map<std::string, std::unordered_map<ResultRow, std::size_t, ResultRowHash>>
      places;  // by label
  for (std::size_t i = 0; i < keys.size(); ++i) {
    places[label_of(keys[i])].try_emplace(subject_of(keys[i]), i);
  }
  const std::vector<std::string> labels = distinct(keys, col::kLabel);
  const std::size_t num_baselines = which == ComparePairs::kFirst ? 1 : labels.size();
  std::vector<std::pair<std::size_t, std::size_t>> matches;
  for (std::size_t baseline = 0; baseline < std::min(num_baselines, labels.size()); ++baseline) {
    for (std::size_t other = baseline + 1; other < labels.size(); ++other) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (label_of(keys[i]) != labels[baseline]) continue;
        const auto& others = places.at(labels[other]);
        const auto found = others.find(subject_of(keys[i]));
        if (found != others.end()) matches.emplace_back(i, found->second);
      }
    }
  }
  return matches;
}

using SamplesGroup = std::vector<const Samples*>;

/// Groups samples of the same quantity that differ only in `column`, in order of first appearance.
std::vector<SamplesGroup> grouped_over(const Column& column, std::span<const Samples> all) {
  std::vector<SamplesGroup> groups;
  std::unordered_map<ResultRow, std::size_t, ResultRowHash> places;
  for (const Samples& samples : all) {
    const ResultRow key = without(samples.key, column).set(col::kQuantity, samples.quantity);
    const auto [place, is_new] = places.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&samples);
  }
  return groups;
}

/// Returns the item-wise mean over layers; empty if the layers' items differ.
std::optional<Samples> mean_over_layers(const SamplesGroup& layers) {
  Samples mean = *layers.front();
  mean.key.erase(col::kLayer);
  for (std::size_t i = 1; i < layers.size(); ++i) {
    if (!have_same_items(mean, *layers[i])) return std::nullopt;
    for (std::size_t j = 0; j < mean.values.size(); ++j) mean.values[j] += layers[i]->values[j];
  }
  for (double& value : mean.values) value /= static_cast<double>(layers.size());
  return mean;
}

ResultRow layer_mean_row(const SamplesGroup& layers, const SummaryOptions& options) {
  std::vector<double> means;
  for (const Samples* layer : layers) means.push_back(mean_of(layer->values));
  const Summary over_layers = summarize(means, options);
  ResultRow row = {{col::kKind, "layer_mean"}};
  row.add(without(layers.front()->key, col::kLayer));
  row.add({{col::kQuantity, layers.front()->quantity},
           {col::kMean, over_layers.mean},
           {col::kStd, over_layers.std},
           {col::kCiLow, over_layers.ci_low},
           {col::kCiHigh, over_layers.ci_high},
           {col::kLayers, over_layers.n}});
  if (const auto mean = mean_over_layers(layers)) {
    const Summary over_items = summarize(mean->values, options);
    row.add({{col::kItemsCiLow, over_items.ci_low},
             {col::kItemsCiHigh, over_items.ci_high},
             {col::kN, over_items.n},
             {col::kItems, mean->items}});
  }
  return row;
}

ResultRow comparison_row(const Samples& first, const Samples& second,
                         const PairedOptions& options) {
  check_same_items("compare", first, second);
  const PairedComparison result = compare_paired(first.values, second.values, options);
  ResultRow row = {{col::kKind, "comparison"},
                   {col::kLabel, label_of(second.key)},
                   {col::kBaseline, label_of(first.key)}};
  row.add(without(second.key, col::kLabel));
  return row.add({{col::kQuantity, second.quantity},
                  {col::kBaselineMean, mean_of(first.values)},
                  {col::kMean, mean_of(second.values)},
                  {col::kDifference, result.difference},
                  {col::kStd, result.std},
                  {col::kCiLow, result.ci_low},
                  {col::kCiHigh, result.ci_high},
                  {col::kN, result.n},
                  {col::kItems, second.items},
                  {col::kP, result.p_value},
                  {col::kPExact, result.exact}});
}

/// Returns the cells that name a comparison, but not its layer: those before the first value.
ResultRow family_of(const ResultRow& row) {
  ResultRow family = {{col::kKind, row.has(col::kLayer) ? "layers" : "means"}};
  for (const auto& [name, value] : row.cells()) {
    if (name == col::kBaselineMean.name) break;
    if (name != col::kLayer.name && name != col::kKind.name) family.set_cell(name, value);
  }
  return family;
}

/// Sets p_holm of rows that are a family: one pair, site and quantity, all layers.
void correct_over_layers(std::vector<ResultRow>& rows) {
  std::unordered_map<ResultRow, std::vector<ResultRow*>, ResultRowHash> families;
  for (ResultRow& row : rows) families[family_of(row)].push_back(&row);
  for (auto& [name, members] : families) {
    std::vector<double> p_values;
    for (const ResultRow* row : members) p_values.push_back(row->number(col::kP));
    const std::vector<double> adjusted = holm_adjusted(p_values);
    for (std::size_t i = 0; i < members.size(); ++i) members[i]->set(col::kPHolm, adjusted[i]);
  }
}

std::vector<ResultRow> comparison_rows(std::span<const Samples> all, const CompareOptions& options,
                                       const PairedOptions& paired, ThreadPool& pool) {
  std::vector<Samples> entries(all.begin(), all.end());
  if (options.summary == SummaryOver::kLayers) {
    for (const SamplesGroup& layers : grouped_over(col::kLayer, all)) {
      if (auto mean = mean_over_layers(layers)) entries.push_back(std::move(*mean));
    }
  }
  std::vector<ResultRow> keys = keys_of(entries);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i].set(col::kQuantity, entries[i].quantity);
  const auto matches = matches_of(keys, options.compare);
  throw_if(entries.empty(), OptionName("compare"), "this metric has no values per item to compare");
  if (matches.empty()) throw nothing_in_common();
  std::vector<ResultRow> rows(matches.size());
  pool.parallel_for(std::ssize(rows), [&](std::int64_t i) {
    const auto [baseline, other] = matches[static_cast<std::size_t>(i)];
    rows[static_cast<std::size_t>(i)] = comparison_row(entries[baseline], entries[other], paired);
  });
  correct_over_layers(rows);
  return rows;
}

/// Samples of one site, layer and quantity, of the runs of every model.
struct RunFamily {
  const Samples* first = nullptr;
  std::vector<RunValues> models;

  ResultRow row(const char* kind, const std::string& model) const {
    ResultRow begun = {{col::kKind, kind}, {col::kLabel, model}};
    return begun.add(without(first->key, col::kLabel)).set(col::kQuantity, first->quantity);
  }
};

std::vector<ResultRow> rows_of_family(const RunFamily& family,
                                      const std::vector<std::string>& models,
                                      const PairedOptions& options) {
  std::vector<ResultRow> rows;
  std::vector<std::vector<double>> means;
  for (std::size_t m = 0; m < models.size(); ++m) {
    const RunValues& runs = family.models[m];
    if (runs.empty()) continue;
    std::vector<double>& of_model = means.emplace_back();
    for (const std::vector<double>& run : runs) of_model.push_back(mean_of(run));
    const RunSummary summary = summarize_runs(runs, options);
    rows.push_back(family.row("run_mean", models[m])
                       .add({{col::kMean, summary.mean},
                             {col::kStd, summary.std},
                             {col::kCiLow, summary.ci_low},
                             {col::kCiHigh, summary.ci_high},
                             {col::kItemsCiLow, summary.both_ci_low},
                             {col::kItemsCiHigh, summary.both_ci_high},
                             {col::kRuns, runs.size()},
                             {col::kN, runs.front().size()},
                             {col::kItems, family.first->items}}));
  }
  const RunValues& baseline = family.models.front();
  for (std::size_t m = 1; m < models.size(); ++m) {
    if (family.models[m].empty() || baseline.empty()) continue;
    const RunComparison found = compare_runs(baseline, family.models[m], options);
    rows.push_back(family.row("run_comparison", models[m])
                       .add({{col::kBaseline, models.front()},
                             {col::kDifference, found.difference},
                             {col::kCiLow, found.ci_low},
                             {col::kCiHigh, found.ci_high},
                             {col::kRuns, baseline.size() + family.models[m].size()},
                             {col::kP, found.p_value},
                             {col::kPExact, found.exact},
                             {col::kPKruskal, kruskal_wallis_p(means)}}));
  }
  return rows;
}

/// Returns the distinct labels. @throws InvalidArgument  if `runs` are given, but not one of each.
std::vector<std::string> labels_of(std::span<const ResultRow> keys, const CompareOptions& options) {
  std::vector<std::string> labels = distinct(keys, col::kLabel);
  if (options.runs.empty() || labels.size() == options.runs.size()) return labels;
  throw InvalidArgument(OptionName("runs"), "expected the model of each of {} captures, got {}",
                        labels.size(), options.runs.size());
}

std::vector<ResultRow> run_rows(std::span<const Samples> all, const CompareOptions& options,
                                const PairedOptions& paired, ThreadPool& pool) {
  const std::vector<std::string> labels = labels_of(keys_of(all), options);
  std::vector<std::string> models;
  std::map<std::string, std::size_t> model_of;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::ranges::find(models, options.runs[i]);
    model_of[labels[i]] = static_cast<std::size_t>(found - models.begin());
    if (found == models.end()) models.push_back(options.runs[i]);
  }
  std::vector<RunFamily> families;
  for (const SamplesGroup& group : grouped_over(col::kLabel, all)) {
    RunFamily& family =
        families.emplace_back(RunFamily{group.front(), std::vector<RunValues>(models.size())});
    for (const Samples* run : group) {
      check_same_items("runs", *family.first, *run);
      family.models[model_of.at(label_of(run->key))].push_back(run->values);
    }
  }
  std::vector<std::vector<ResultRow>> parts(families.size());
  pool.parallel_for(std::ssize(parts), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    parts[at] = rows_of_family(families[at], models, paired);
  });
  std::vector<ResultRow> rows;
  for (std::vector<ResultRow>& part : parts) std::ranges::move(part, std::back_inserter(rows));
  return rows;
}

bool has_tests(const CompareOptions& options) {
  return options.compare != ComparePairs::kNone || !options.runs.empty();
}

}  // namespace

bool have_same_items(const Samples& first, const Samples& second) {
  return first.identity == second.identity && first.values.size() == second.values.size();
}

void CompareOptions::describe(OptionList& list) {
  list.group("Comparison");
  list.add("compare", compare,
           "differences between captures with intervals and p-values: each against the first, or "
           "all pairs");
  list.add("summary", summary, "layers: the mean over the layers of each capture");
  list.add("runs", runs,
           "the model of each capture, in order, e.g. A,A,A,B,B,B: means over the training runs of "
           "each model, with intervals over runs and tests between models");
  list.add("compare_resamples", resamples,
           "bootstrap resamples and random sign flips, 100 to 10000000");
  list.add("compare_confidence", confidence, "confidence level of these intervals, in (0, 1)");
}

void CompareOptions::validate() const {
  check_option(resamples >= SummaryOptions::kFewestResamples, "compare_resamples",
               fmt::format(">= {}", SummaryOptions::kFewestResamples), resamples);
  SummaryOptions{.resamples = resamples}.validate("compare_resamples");
  check_option(confidence > 0.0 && confidence < 1.0, "compare_confidence", "in (0, 1)", confidence);
}

std::int64_t comparison_bytes(const CompareOptions& options, int threads) {
  if (!has_tests(options) && options.summary == SummaryOver::kNone) return 0;
  const int at_once = has_tests(options) ? threads : 1;
  return at_once * summary_bytes(1, {.resamples = options.resamples});
}

void check_comparable(std::span<const ResultRow> keys, std::span<const std::string> identities,
                      const CompareOptions& options) {
  const std::vector<std::string> labels = labels_of(keys, options);
  if (options.compare == ComparePairs::kNone) return;
  throw_if(labels.size() < 2, OptionName("compare"), "expected at least two captures, got {}",
           labels.size());
  std::vector<ResultRow> compared(keys.begin(), keys.end());
  // The means over layers are compared too, also where the layers are not the same.
  if (options.summary == SummaryOver::kLayers) {
    for (ResultRow& key : compared) key.erase(col::kLayer);
  }
  const auto matches = matches_of(compared, options.compare);
  if (matches.empty()) throw nothing_in_common();
  for (const auto& [baseline, other] : matches) {
    if (identities[baseline] == identities[other]) continue;
    throw other_items("compare", keys[baseline], keys[other], "sequences");
  }
}

std::vector<ResultRow> sample_rows(std::span<const Samples> all, const CompareOptions& options,
                                   std::uint64_t seed, int threads) {
  std::vector<ResultRow> rows;
  if (options.summary == SummaryOver::kLayers) {
    const SummaryOptions summary{
        .confidence = options.confidence, .resamples = options.resamples, .seed = seed};
    for (const SamplesGroup& layers : grouped_over(col::kLayer, all)) {
      rows.push_back(layer_mean_row(layers, summary));
    }
    throw_if(all.empty(), OptionName("summary"), "this metric has no values per item to average");
  }
  if (!has_tests(options)) return rows;
  const PairedOptions paired{
      .confidence = options.confidence, .resamples = options.resamples, .seed = seed};
  ThreadPool pool(threads);
  if (!options.runs.empty()) {
    std::ranges::move(run_rows(all, options, paired, pool), std::back_inserter(rows));
  }
  if (options.compare != ComparePairs::kNone) {
    std::ranges::move(comparison_rows(all, options, paired, pool), std::back_inserter(rows));
  }
  return rows;
}

}  // namespace lime
