// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_rows.h"

#include <algorithm>
#include <utility>

#include "analysis/engine/row_summaries.h"
#include "core/errors.h"
#include "metrics/summary.h"

namespace lime {
namespace {

/// Sets mean and smallest of `values`; where all are equal, that value
/// without the rounding of a mean.
template <typename T>
void add_mean_and_min(ResultRow& row, const NumberColumn& column, const auto& min_column,
                      const std::vector<T>& values) {
  const auto [min, max] = std::ranges::minmax(values);
  if (min == max) {
    row.set(column, min);
  } else {
    row.set(column, mean_of(std::vector<double>(values.begin(), values.end())));
  }
  row.set(min_column, min);
}

ResultRow row_of(const SequenceEntropies& entropies, std::size_t order,
                 const EntropyAnalysisOptions& options) {
  std::vector<double> ceilings;
  for (const std::int64_t tokens : entropies.num_tokens) {
    ceilings.push_back(entropy_ceiling(tokens, entropies.dim, options.entropy));
  }
  ResultRow row = {{col::kAlpha, entropies.alpha[order]},
                   {col::kPreset, enum_name(options.entropy.preset)},
                   {col::kUnit, entropy_unit(options.entropy)}};
  set_summary(row, summarize(entropies.of_order(order), options.summary));
  add_mean_and_min(row, col::kTokens, col::kTokensMin, entropies.num_tokens);
  row.set(col::kDim, entropies.dim);
  add_mean_and_min(row, col::kCeiling, col::kCeilingMin, ceilings);
  if (options.entropy.top_k) {
    const auto column = static_cast<Eigen::Index>(order);
    row.set(col::kLower, entropies.lower.col(column).mean());
    row.set(col::kUpper, entropies.upper.col(column).mean());
    row.set(col::kLeftOut, mean_of(entropies.left_out));
  }
  return row;
}

/// The row of one order: `key`, what the untrained sequences have, and the differences in place of
/// their entropies.
ResultRow difference_row(const ResultRow& key, const UnitResult& untrained,
                         const UnitResult& trained, std::size_t order,
                         const EntropyAnalysisOptions& options) {
  std::vector<double> values = untrained.samples[order].values;
  for (std::size_t j = 0; j < values.size(); ++j) values[j] -= trained.samples[order].values[j];
  const ResultRow& of_untrained = untrained.rows[order];
  const ResultRow& of_trained = trained.rows[order];
  ResultRow row = key;
  row.add(of_untrained);
  set_summary(row, summarize(values, options.summary));
  if (options.entropy.top_k) {
    row.set(col::kLower, of_untrained.number(col::kLower) - of_trained.number(col::kUpper));
    row.set(col::kUpper, of_untrained.number(col::kUpper) - of_trained.number(col::kLower));
  }
  return row;
}

}  // namespace

UnitResult entropy_result(const SequenceEntropies& entropies,
                          const EntropyAnalysisOptions& options) {
  UnitResult result;
  for (std::size_t order = 0; order < entropies.alpha.size(); ++order) {
    result.rows.push_back(row_of(entropies, order, options));
    result.samples.push_back({.key = {{col::kAlpha, entropies.alpha[order]}},
                              .quantity = "entropy",
                              .items = "sequences",
                              .values = entropies.of_order(order)});
  }
  return result;
}

std::vector<ResultRow> entropy_differences(const std::string& untrained, const std::string& trained,
                                           const std::vector<ResultRow>& keys,
                                           std::span<const UnitResult> results,
                                           const EntropyAnalysisOptions& options) {
  std::vector<ResultRow> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].text(col::kLabel) != untrained) continue;
    ResultRow trained_key = keys[i];
    trained_key.set(col::kLabel, trained);
    const auto found = std::find(keys.begin(), keys.end(), trained_key);
    if (found == keys.end()) continue;
    const UnitResult& other = results[static_cast<std::size_t>(found - keys.begin())];
    ResultRow key = keys[i];
    key.set(col::kLabel, fmt::format("{} - {}", untrained, trained));
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
