// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/layer_spectra.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/engine/capture_rows.h"
#include "metrics/entropy/entropy_calculator.h"
#include "metrics/linalg/gram.h"
#include "metrics/linalg/symmetric_eigenvalues.h"

namespace lime {
namespace {

/// Eigenvalues below this times the largest are rounding.
constexpr double kRelativeRounding = 1e-12;

struct StandardizedLayer {
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
  const double smallest = shares.empty() ? 0.0 : kRelativeRounding * shares.front();
  std::erase_if(shares, [&](double value) { return value <= smallest; });
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

std::vector<double> spectrum_of_rows(const StandardizedLayer& layer, const ProgressFn& on_progress,
                                     const std::stop_token& stop) {
  linalg::SymmetricPanels gram;
  gram.resize(layer.dim);
  gram.values().setZero();
  linalg::GramBuilder builder;
  MatrixF rows;
  for (std::int64_t s = 0; s < layer.sequences.count; ++s) {
    if (stop.stop_requested()) throw Interrupted("layer_spectra: interrupted");
    layer.sequences.read(s, rows);
    builder.add_feature_gram(layer.standardized(rows), gram);
    if (on_progress) on_progress({s + 1, layer.sequences.count, ""});
  }
  linalg::SymmetricEigenvalues eigenvalues;
  return shares_of(eigenvalues.compute(gram));
}

std::vector<double> spectrum_of_sequence(const StandardizedLayer& layer, const MatrixF& rows) {
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

/// Maximum of the entropy of a sequence, nats.
double ceiling(std::int64_t tokens, std::int64_t dim) {
  return std::log(static_cast<double>(std::min(tokens, dim)));
}

SequenceSpectrum spectrum_of(const StandardizedLayer& layer, std::int64_t sequence,
                             double entropy) {
  MatrixF rows;
  layer.sequences.read(sequence, rows);
  return {.sequence = sequence,
          .entropy = entropy,
          .ceiling = ceiling(rows.rows(), layer.dim),
          .text = text_of(layer.capture, sequence),
          .spectrum = spectrum_of_sequence(layer, rows)};
}

}  // namespace

std::vector<double> entropies_of_layer(const AnalysisResult& entropies, const std::string& site,
                                       int layer) {
  // One order: a row per unit.
  const std::vector<ResultRow>& rows = entropies.results.rows;
  for (std::size_t i = 0; i < std::min(rows.size(), entropies.units.size()); ++i) {
    if (rows[i].text(col::kSite) == site && rows[i].cell(col::kLayer) == layer) {
      return entropies.units[i].samples.front().values;
    }
  }
  return {};
}

LayerSpectra layer_spectra(const CaptureReader& capture, const std::string& site, int layer,
                           std::span<const double> entropies, std::int64_t extremes,
                           const ProgressFn& on_progress, const std::stop_token& stop) {
  check_option(extremes >= 1, "extremes", ">= 1", extremes);
  check_whole_sequences(capture, "a layer's spectrum");
  // Entropies are of the sequences that skip_short_sequences() leaves.
  std::vector<std::int64_t> measured;
  for (std::int64_t s = 0; s < capture.num_sequences() && measured.size() < entropies.size(); ++s) {
    if (num_tokens(capture, s) >= kFewestTokens) measured.push_back(s);
  }
  throw_if(measured.size() != entropies.size(),
           "layer_spectra: expected at most {} entropies, got {}", measured.size(),
           entropies.size());
  StandardizedLayer standardized{
      .capture = capture,
      .sequences =
          token_sequences(capture, site, layer, measured.empty() ? 0 : measured.back() + 1),
      .dim = capture.dim(site, layer),
      .standardization = make_standardization(capture.statistics(site, layer)),
      .scale = {}};
  standardized.scale = standardized.standardization.divisor.cwiseInverse();
  std::vector<std::size_t> order(measured.size());
  std::iota(order.begin(), order.end(), 0);
  // By the fraction of their maximum, or the shortest would be the lowest.
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return entropies[i] / ceiling(num_tokens(capture, measured[i]), standardized.dim);
  });
  const auto spectrum_at = [&](std::size_t i) {
    return spectrum_of(standardized, measured[i], entropies[i]);
  };
  LayerSpectra spectra;
  spectra.spectrum = spectrum_of_rows(standardized, on_progress, stop);
  // No sequence is among both.
  const std::size_t num_lowest =
      std::min((order.size() + 1) / 2, static_cast<std::size_t>(extremes));
  const std::size_t num_highest = std::min(order.size() / 2, static_cast<std::size_t>(extremes));
  for (std::size_t i = 0; i < num_lowest; ++i) {
    spectra.lowest.push_back(spectrum_at(order[i]));
  }
  for (std::size_t i = 0; i < num_highest; ++i) {
    spectra.highest.push_back(spectrum_at(order[order.size() - 1 - i]));
  }
  return spectra;
}

}  // namespace lime
