// SPDX-License-Identifier: Apache-2.0
#include "analysis/experts/routed_layer.h"

#include <cmath>
#include <limits>

#include "analysis/engine/capture_rows.h"
#include "checkpoint/families/key_reader.h"
#include "core/program/suggest.h"
#include "metrics/rows.h"

namespace lime {
namespace {

constexpr double kNoMean = std::numeric_limits<double>::quiet_NaN();

/// Keys of config.json with the number of experts that a router selects from.
constexpr std::array kExpertKeys = {"num_experts", "num_local_experts", "n_routed_experts",
                                    "moe_num_experts", "num_routed_experts"};

double mean_or_none(double sum, Eigen::Index count) {
  return count > 0 ? sum / static_cast<double>(count) : kNoMean;
}

/// Adds softmax(logits), and measures it.
void add_logits(const MatrixF& logits, std::int64_t sequence, RoutedLayer& layer) {
  const Eigen::Index first = layer.offsets[static_cast<std::size_t>(sequence)];
  double entropy = 0.0;
  double selected = 0.0;
  for (Eigen::Index row = 0; row < logits.rows(); ++row) {
    VectorD p = logits.row(row).transpose().cast<double>();
    p = (p.array() - p.maxCoeff()).exp();
    p /= p.sum();
    layer.probabilities.row(sequence) += p.transpose();
    entropy += load_entropy(p);
    for (const std::int32_t expert : layer.experts.row(first + row)) selected += p(expert);
  }
  const auto at = static_cast<std::size_t>(sequence);
  layer.routing_entropy[at] = mean_or_none(entropy, logits.rows());
  layer.selected_probability[at] = mean_or_none(selected, logits.rows());
}

/// Adds the normalised weights, and measures them. @param weights  of the selected experts
void add_weights(const MatrixF& weights, std::int64_t sequence, RoutedLayer& layer) {
  const Eigen::Index first = layer.offsets[static_cast<std::size_t>(sequence)];
  double entropy = 0.0;
  for (Eigen::Index row = 0; row < weights.rows(); ++row) {
    VectorD own = weights.row(row).transpose().cast<double>();
    throw_if(own.minCoeff() < 0.0, "the weights of experts must be >= 0, got {} in row {}",
             own.minCoeff(), row);
    if (own.sum() > 0.0) {
      own /= own.sum();
    } else {
      own.setConstant(1.0 / static_cast<double>(own.size()));
    }
    entropy += load_entropy(own);
    for (Eigen::Index i = 0; i < own.size(); ++i) {
      layer.weights(sequence, layer.experts(first + row, i)) += own(i);
    }
  }
  layer.weight_entropy[static_cast<std::size_t>(sequence)] = mean_or_none(entropy, weights.rows());
}

class LayerReader {
 public:
  LayerReader(const ChosenCapture& capture, int layer)
      : capture_(capture.reader), number_(layer), count_(capture.num_sequences) {
    const std::vector<std::int64_t>& offsets = capture_.offsets();
    layer_.offsets.assign(offsets.begin(), offsets.begin() + count_ + 1);
    layer_.num_experts = num_experts_of(capture_, layer);
    const std::int64_t rows = layer_.offsets.back();
    const std::int64_t selected = capture_.dim(kExpertIndicesSite, layer);
    layer_.experts.resize(rows, selected);
    layer_.counts = layer_.weights = MatrixD::Zero(count_, layer_.num_experts);
    const auto size = static_cast<std::size_t>(count_);
    layer_.overlap.assign(size, kNoMean);
    has_logits_ = capture_.has(kRouterLogitsSite, layer);
    if (has_logits_) {
      layer_.probabilities = layer_.counts;
      layer_.routing_entropy = layer_.selected_probability = layer_.overlap;
    }
    has_weights_ = capture_.has(kExpertWeightsSite, layer);
    if (has_weights_) layer_.weight_entropy = layer_.overlap;
    if (!has_weights_ || capture_.dim(kExpertWeightsSite, layer) == selected) return;
    throw FormatError("{}: layer {} has weights of {} experts per token, but indices of {}",
                      quoted_path(capture_), layer, capture_.dim(kExpertWeightsSite, layer),
                      selected);
  }

  void read(std::int64_t sequence) {
    const std::int64_t first = layer_.offsets[static_cast<std::size_t>(sequence)];
    const MatrixF indices = rows_of(kExpertIndicesSite, sequence);
    const ExpertRows experts = expert_rows(indices, layer_.num_experts);
    layer_.experts.middleRows(first, experts.rows()) = experts;
    const VectorD counts = expert_counts(experts, layer_.num_experts);
    layer_.counts.row(sequence) = counts.transpose();
    const std::span<const std::int32_t> positions(capture_.rows().position);
    layer_.overlap[static_cast<std::size_t>(sequence)] =
        consecutive_overlap(experts, positions.subspan(static_cast<std::size_t>(first),
                                                       static_cast<std::size_t>(experts.rows())));
    if (has_logits_) add_logits(rows_of(kRouterLogitsSite, sequence), sequence, layer_);
    if (has_weights_) {
      add_weights(rows_of(kExpertWeightsSite, sequence), sequence, layer_);
    } else {
      layer_.weights.row(sequence) = counts.transpose() / static_cast<double>(experts.cols());
    }
  }

  RoutedLayer take() { return std::move(layer_); }

 private:
  MatrixF rows_of(const char* site, std::int64_t sequence) const {
    MatrixF rows = capture_.read_sequence(site, number_, sequence);
    check_finite(
        rows, capture_, fmt::format("{} of layer {}", site, number_),
        [&](std::int64_t row) { return layer_.offsets[static_cast<std::size_t>(sequence)] + row; });
    return rows;
  }

  const CaptureReader& capture_;
  const int number_;
  const std::int64_t count_;
  bool has_logits_ = false;
  bool has_weights_ = false;
  RoutedLayer layer_;
};

}  // namespace

std::int64_t num_experts_of(const CaptureReader& capture, int layer) {
  if (capture.has(kRouterLogitsSite, layer)) return capture.dim(kRouterLogitsSite, layer);
  const KeyReader keys(capture.config(), quoted_path(capture) + ": config");
  for (const char* const key : kExpertKeys) {
    const std::optional<std::int64_t> number = keys.integer(key);
    throw_if<FormatError>(number && *number < 1, "{}: '{}' must be positive, got {}", keys.where(),
                          key, *number);
    if (number) return *number;
  }
  throw InvalidArgument(
      "{}: contains no router logits of layer {}, and its config has no number of experts "
      "({}); capture again with --sites {},{}",
      quoted_path(capture), layer, fmt::join(kExpertKeys, ", "), kRouterLogitsSite,
      kExpertIndicesSite);
}

void check_expert_sites(const CaptureReader& capture) {
  const std::vector<std::string>& sites = capture.sites();
  throw_if(std::ranges::find(sites, kExpertIndicesSite) == sites.end(),
           "{}: contains no expert indices (its sites: {}); capture a mixture of experts with "
           "--sites {},{},{}",
           quoted_path(capture), join_words(sites), kRouterLogitsSite, kExpertWeightsSite,
           kExpertIndicesSite);
  throw_if(
      capture.info().rows != RowKind::kTokens,
      "{}: contains one row per sequence (--rows {}), but experts are of tokens; capture again "
      "with --rows tokens",
      quoted_path(capture), enum_name(capture.info().rows));
  throw_if(capture.num_rows() == 0, "{}: contains no tokens", quoted_path(capture));
}

RoutedLayer read_routed_layer(const ChosenCapture& capture, int layer, const UnitContext& context) {
  LayerReader reader(capture, layer);
  context.pool.parallel_for(
      capture.num_sequences,
      [&](std::int64_t i) { with_sequence("experts", i, [&] { reader.read(i); }); }, context.stop);
  return reader.take();
}

}  // namespace lime
