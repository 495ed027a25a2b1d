// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/layer_exploration.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/engine/capture_rows.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/entropy/sequence_entropies.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"
#include "metrics/summary.h"

namespace lime {
namespace {

/// Eigenvalues below this times the largest are rounding.
constexpr double kSmallestEigenvalue = 1e-12;

struct ExploredLayer {
  const CaptureReader& capture;
  SequenceSource sequences;
  std::int64_t dim;
  Standardization standardization;
  VectorD scale;  ///< 1 / divisor

  linalg::AffineRows<float> standardized(const MatrixF& rows) const {
    return {.x = rows.data(),
            .num_rows = rows.rows(),
            .num_cols = rows.cols(),
            .row_stride = rows.cols(),
            .shift = standardization.mean.data(),
            .column_scale = scale.data()};
  }
};

std::vector<double> shares_of(std::span<const double> eigenvalues) {
  std::vector<double> shares(eigenvalues.begin(), eigenvalues.end());
  std::ranges::sort(shares, std::greater<>());
  const double smallest = shares.empty() ? 0.0 : kSmallestEigenvalue * shares.front();
  std::erase_if(shares, [&](double value) { return value <= smallest; });
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<double> spectrum_of_rows(const ExploredLayer& layer, std::int64_t& num_rows,
                                     const std::stop_token& stop) {
  linalg::SymmetricPanels gram;
  gram.resize(layer.dim);
  gram.values().setZero();
  linalg::GramBuilder builder;
  MatrixF rows;
  for (std::int64_t s = 0; s < layer.sequences.count; ++s) {
    if (stop.stop_requested()) throw Interrupted("explore_layer: interrupted");
    layer.sequences.read(s, rows);
    num_rows += rows.rows();
    builder.add_feature_gram(layer.standardized(rows), gram);
  }
  linalg::SymmetricEigenvalues eigenvalues;
  return shares_of(eigenvalues.compute(gram));
}

std::vector<double> spectrum_of_sequence(const ExploredLayer& layer, const MatrixF& rows) {
  linalg::SymmetricPanels gram;
  linalg::GramBuilder builder;
  builder.smaller_gram(layer.standardized(rows), gram);
  linalg::SymmetricEigenvalues eigenvalues;
  return shares_of(eigenvalues.compute(gram));
}

std::string text_of(const CaptureReader& capture, std::int64_t sequence) {
  const auto at = static_cast<std::size_t>(sequence);
  const std::string& text = capture.sequences()[at].text;
  if (!text.empty()) return text;
  const std::vector<std::int32_t>& tokens = capture.rows().token;
  const std::span ids(tokens.begin() + capture.offsets()[at],
                      tokens.begin() + capture.offsets()[at + 1]);
  return fmt::format("ids {}", fmt::join(ids, " "));
}

ExploredSequence explored(const ExploredLayer& layer, std::int64_t sequence, double entropy) {
  MatrixF rows;
  layer.sequences.read(sequence, rows);
  return {.sequence = sequence,
          .entropy = entropy,
          .ceiling = std::log(static_cast<double>(std::min<std::int64_t>(rows.rows(), layer.dim))),
          .text = text_of(layer.capture, sequence),
          .spectrum = spectrum_of_sequence(layer, rows)};
}

}  // namespace

void LayerExplorationOptions::validate() const {
  check_option(max_sequences >= 0, "max_sequences", ">= 0", max_sequences);
  check_option(extremes >= 1, "extremes", ">= 1", extremes);
}

LayerExploration explore_layer(const CaptureReader& capture, const std::string& site, int layer,
                               const LayerExplorationOptions& options, ThreadPool& pool,
                               const ProgressFn& on_progress, const std::stop_token& stop) {
  options.validate();
  check_whole_sequences(capture, "a layer's spectrum");
  const std::optional<std::int64_t> most =
      options.max_sequences > 0 ? std::optional(options.max_sequences) : std::nullopt;
  const std::int64_t count = num_sequences_used(capture, most);
  ExploredLayer explored_layer{
      .capture = capture,
      .sequences = token_sequences(capture, site, layer, count),
      .dim = capture.dim(site, layer),
      .standardization = make_standardization(capture.statistics(site, layer)),
      .scale = {}};
  explored_layer.scale = explored_layer.standardization.divisor.cwiseInverse();
  const std::vector<double> entropies =
      sequence_entropies(explored_layer.sequences, explored_layer.standardization, {}, pool,
                         on_progress, stop)
          .of_order(0);
  std::vector<std::int64_t> order(entropies.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int64_t sequence) {
    return entropies[static_cast<std::size_t>(sequence)];
  });
  LayerExploration result;
  result.site = site;
  result.layer = layer;
  result.num_sequences = count;
  result.mean_entropy = mean_of(entropies);
  result.spectrum = spectrum_of_rows(explored_layer, result.num_rows, stop);
  const auto shown =
      std::min<std::size_t>(order.size(), static_cast<std::size_t>(options.extremes));
  const auto explore = [&](std::int64_t sequence) {
    return explored(explored_layer, sequence, entropies[static_cast<std::size_t>(sequence)]);
  };
  for (std::size_t i = 0; i < shown; ++i) {
    result.lowest.push_back(explore(order[i]));
    result.highest.push_back(explore(order[order.size() - 1 - i]));
  }
  return result;
}

}  // namespace lime
