// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention/attention_rows.h"

#include <atomic>
#include <string>
#include <utility>

#include "analysis/engine/row_summaries.h"
#include "core/errors.h"
#include "metrics/attention/attention_profile.h"
#include "metrics/summary.h"

namespace lime {
namespace {

constexpr auto kMeasures = static_cast<Eigen::Index>(kAttentionMeasures.size());

/// Rows of the summaries: of every measure a row per head, and one of the heads' mean.
class SummaryRows {
 public:
  explicit SummaryRows(std::string over, const SummaryOptions& options)
      : over_(std::move(over)), summaries_(options) {}

  /// @param values, even  of every item, e.g. sequence
  void add(const ResultRow& key, std::size_t measure, std::vector<double> values,
           const std::vector<double>& even) {
    ResultRow row = key;
    row.set(col::kMeasure, kAttentionMeasures[measure]);
    row.set(col::kOver, over_);
    summaries_.add_mean(row, rows_.size(), std::move(values));
    row.set(col::kEven, mean_of(even));
    rows_.push_back(std::move(row));
  }
  std::vector<ResultRow> take() {
    summaries_.fill(rows_);
    return std::move(rows_);
  }

 private:
  std::string over_;
  RowSummaries summaries_;
  std::vector<ResultRow> rows_;
};

/// Measures of some items (sequences, or queries of one), each [heads, measures], and what even
/// attention would give, [items, measures].
struct MeasuredItems {
  std::vector<MatrixD> values;
  MatrixD even;

  std::vector<double> of_head(Eigen::Index head, Eigen::Index measure) const {
    std::vector<double> all;
    for (const MatrixD& item : values) all.push_back(item(head, measure));
    return all;
  }
  std::vector<double> of_layer(Eigen::Index measure) const {
    std::vector<double> all;
    for (const MatrixD& item : values) all.push_back(item.col(measure).mean());
    return all;
  }
  std::vector<double> even_of(Eigen::Index measure) const {
    const VectorD column = even.col(measure);
    return {column.begin(), column.end()};
  }
};

void add_summaries(const MeasuredItems& items, const std::vector<int>& heads, SummaryRows& rows) {
  for (Eigen::Index m = 0; m < kMeasures; ++m) {
    const std::vector<double> even = items.even_of(m);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      rows.add({{col::kKind, "head"}, {col::kHead, heads[h]}}, static_cast<std::size_t>(m),
               items.of_head(static_cast<Eigen::Index>(h), m), even);
    }
    rows.add({{col::kKind, "layer"}, {col::kHeads, heads.size()}}, static_cast<std::size_t>(m),
             items.of_layer(m), even);
  }
}

/// Calls attention_profile() and adds sequence and head to its errors.
MatrixD profile_of(const AttentionExploration& attention, int head) {
  try {
    return attention_profile(attention.patterns[static_cast<std::size_t>(head)]);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument("sequence {}, head {}: {}", attention.sequence, head, error.what());
  }
}

/// Returns the mean over the queries used, [measures].
Eigen::RowVectorXd mean_over_queries(const MatrixD& profile, std::int64_t skipped) {
  return profile.bottomRows(profile.rows() - skipped).colwise().mean();
}

/// The means over the queries of every sequence.
MeasuredItems measure_sequences(const ChosenPatterns& prepared, int layer, std::int64_t skipped,
                                const UnitContext& context) {
  const auto num_heads = static_cast<Eigen::Index>(prepared.heads.size());
  MeasuredItems items;
  items.values.assign(static_cast<std::size_t>(prepared.num_sequences),
                      MatrixD(num_heads, kMeasures));
  items.even.resize(prepared.num_sequences, kMeasures);
  std::atomic<std::int64_t> done = 0;
  context.pool.parallel_for(
      prepared.num_sequences,
      [&](std::int64_t i) {
        const AttentionExploration attention = prepared.patterns.read(layer, i);
        MatrixD& measured = items.values[static_cast<std::size_t>(i)];
        for (Eigen::Index h = 0; h < num_heads; ++h) {
          const int head = prepared.heads[static_cast<std::size_t>(h)];
          measured.row(h) = mean_over_queries(profile_of(attention, head), skipped);
        }
        items.even.row(i) =
            mean_over_queries(even_attention_profile(attention.patterns.front().rows()), skipped);
        const std::int64_t finished = ++done;
        if (context.on_progress) context.on_progress({finished, prepared.num_sequences, ""});
      },
      context.stop);
  return items;
}

/// The summaries over the queries of one sequence.
std::vector<ResultRow> query_summaries(const AttentionExploration& attention,
                                       const std::vector<int>& heads, std::int64_t skipped) {
  const std::int64_t tokens = attention.patterns.front().rows();
  MeasuredItems items;
  items.values.assign(static_cast<std::size_t>(tokens - skipped),
                      MatrixD(static_cast<Eigen::Index>(heads.size()), kMeasures));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const MatrixD profile = profile_of(attention, heads[h]);
    for (std::int64_t q = skipped; q < tokens; ++q) {
      items.values[static_cast<std::size_t>(q - skipped)].row(static_cast<Eigen::Index>(h)) =
          profile.row(q);
    }
  }
  items.even = even_attention_profile(tokens).bottomRows(tokens - skipped);
  // The queries of one sequence are not independent samples: spread, but no interval.
  SummaryRows rows("queries", {.resamples = 0});
  add_summaries(items, heads, rows);
  std::vector<ResultRow> all = rows.take();
  for (ResultRow& row : all) {
    row.erase(col::kCiLow);
    row.erase(col::kCiHigh);
  }
  return all;
}

void add_weights(const AttentionExploration& attention, int head, std::vector<ResultRow>& rows) {
  const MatrixF& pattern = attention.patterns[static_cast<std::size_t>(head)];
  for (Eigen::Index q = 0; q < pattern.rows(); ++q) {
    for (Eigen::Index k = 0; k <= q; ++k) {
      rows.push_back({{col::kKind, "weight"},
                      {col::kHead, head},
                      {col::kQuery, q},
                      {col::kKey, k},
                      {col::kWeight, static_cast<double>(pattern(q, k))}});
    }
  }
}

void add_routed_shares(const CaptureReader& capture, const AttentionExploration& attention,
                       int head, std::int64_t query, std::vector<ResultRow>& rows) {
  const RoutedAttention routed = explore_routed_attention(capture, attention, head, query);
  for (Eigen::Index m = 0; m < routed.shares.rows(); ++m) {
    for (Eigen::Index k = 0; k <= query; ++k) {
      rows.push_back({{col::kKind, "routed"},
                      {col::kHead, head},
                      {col::kRoutedHead, attention.routed_head(head)},
                      {col::kQuery, query},
                      {col::kSourceLayer, m},
                      {col::kKey, k},
                      {col::kShare, routed.shares(m, k)},
                      {col::kBy, routed.of_values ? "values" : "scales"}});
    }
  }
}

}  // namespace

UnitResult summarize_sequences(const ChosenPatterns& chosen, int layer,
                               const AttentionOptions& options, const UnitContext& context) {
  const MeasuredItems items = measure_sequences(chosen, layer, options.skip_queries, context);
  SummaryRows rows("sequences", options.summary);
  add_summaries(items, chosen.heads, rows);
  UnitResult result;
  result.rows = rows.take();
  for (Eigen::Index m = 0; m < kMeasures; ++m) {
    result.samples.push_back(
        {.quantity = std::string(kAttentionMeasures[static_cast<std::size_t>(m)]),
         .items = "sequences",
         .values = items.of_layer(m)});
  }
  return result;
}

UnitResult describe_sequence(const ChosenPatterns& chosen, int layer,
                             const AttentionOptions& options) {
  const AttentionExploration attention = chosen.patterns.read(layer, *options.sequence);
  UnitResult result;
  result.rows = query_summaries(attention, chosen.heads, options.skip_queries);
  for (const int head : chosen.heads) {
    add_weights(attention, head, result.rows);
    if (options.query) {
      add_routed_shares(chosen.patterns.capture(), attention, head, *options.query, result.rows);
    }
  }
  return result;
}

}  // namespace lime
