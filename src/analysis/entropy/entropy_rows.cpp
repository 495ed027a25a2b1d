// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analysis/engine/row_summaries.h"
#include "core/errors.h"

namespace lime {
namespace {

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Mean and smallest of `values` as columns `name` and `name`_min; where all are equal, that value
/// without the rounding of a mean.
template <typename T>
void add_mean_and_min(Json& row, const std::string& name, const std::vector<T>& values) {
  const auto [min, max] = std::ranges::minmax(values);
  if (min == max) {
    row[name] = min;
  } else {
    row[name] = mean_of(std::vector<double>(values.begin(), values.end()));
  }
  row[name + "_min"] = min;
}

Json row_of(const SequenceEntropies& entropies, std::size_t order,
            const EntropyAnalysisOptions& options) {
  std::vector<double> ceilings;
  for (const std::int64_t tokens : entropies.num_tokens) {
    ceilings.push_back(entropy_ceiling(tokens, entropies.dim, options.entropy));
  }
  Json row = Json::object();
  row["alpha"] = OptionCodec<double>::to_json(entropies.alpha[order]);
  row["preset"] = std::string(enum_name(options.entropy.preset));
  row["unit"] = std::string(entropy_unit(options.entropy));
  set_summary(row, summarize(entropies.of_order(order), options.summary));
  add_mean_and_min(row, "tokens", entropies.num_tokens);
  row["dim"] = entropies.dim;
  add_mean_and_min(row, "ceiling", ceilings);
  if (options.entropy.top_k) {
    const auto column = static_cast<Eigen::Index>(order);
    row["lower"] = entropies.lower.col(column).mean();
    row["upper"] = entropies.upper.col(column).mean();
    row["left_out"] = mean_of(entropies.left_out);
  }
  return row;
}

/// The row of one order: `key`, what the untrained sequences have, and the differences in place of
/// their entropies.
Json difference_row(const Json& key, const UnitResult& untrained, const UnitResult& trained,
                    std::size_t order, const EntropyAnalysisOptions& options) {
  std::vector<double> values = untrained.samples[order].values;
  for (std::size_t j = 0; j < values.size(); ++j) values[j] -= trained.samples[order].values[j];
  const Json& of_untrained = untrained.rows[order];
  const Json& of_trained = trained.rows[order];
  Json row = key;
  row.update(of_untrained);
  set_summary(row, summarize(values, options.summary));
  if (options.entropy.top_k) {
    row["lower"] = results_number(of_untrained, "lower") - results_number(of_trained, "upper");
    row["upper"] = results_number(of_untrained, "upper") - results_number(of_trained, "lower");
  }
  return row;
}

}  // namespace

UnitResult entropy_result(const SequenceEntropies& entropies,
                          const EntropyAnalysisOptions& options) {
  UnitResult result;
  for (std::size_t order = 0; order < entropies.alpha.size(); ++order) {
    result.rows.push_back(row_of(entropies, order, options));
    result.samples.push_back({.key = {{"alpha", result.rows.back().at("alpha")}},
                              .quantity = "entropy",
                              .items = "sequences",
                              .values = entropies.of_order(order)});
  }
  return result;
}

std::vector<Json> entropy_differences(const std::string& untrained, const std::string& trained,
                                      const std::vector<Json>& keys,
                                      std::span<const UnitResult> results,
                                      const EntropyAnalysisOptions& options) {
  std::vector<Json> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].at("label") != untrained) continue;
    Json trained_key = keys[i];
    trained_key["label"] = trained;
    const auto found = std::find(keys.begin(), keys.end(), trained_key);
    if (found == keys.end()) continue;
    const UnitResult& other = results[static_cast<std::size_t>(found - keys.begin())];
    Json key = keys[i];
    key["label"] = fmt::format("{} - {}", untrained, trained);
    for (std::size_t order = 0; order < results[i].rows.size(); ++order) {
      rows.push_back(difference_row(key, results[i], other, order, options));
    }
  }
  if (rows.empty()) {
    throw InvalidArgument("diff-erank: '{}' and '{}' have no site and layer in common", untrained,
                          trained);
  }
  return rows;
}

}  // namespace lime
