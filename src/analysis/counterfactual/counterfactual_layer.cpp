// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_layer.h"

#include <cmath>

#include "core/threads/object_pool.h"
#include "metrics/probes/folds.h"
#include "metrics/probes/probe.h"
#include "metrics/router/spectrum_calculator.h"
#include "metrics/router/value_buffer.h"
#include "metrics/router/value_router.h"

namespace lime {
namespace {

using Eigen::Index;

/// Memory limit for the rows of several routers, which are routed in one pass over the capture.
constexpr std::int64_t kGroupBytes = std::int64_t{512} << 20;
struct Loaded {
  ValueBuffer buffer;
  MatrixF weights = {};  ///< of each token; empty if they are the same for all
  std::int64_t first_row = 0;
};

/// One layer of a capture, its routers, and how it is measured.
struct Request {
  const CaptureReader& capture;
  const LayerRouters& routers;
  const CounterfactualAnalysisOptions& options;

  std::int64_t num_heads() const { return routers.input.num_heads; }
  std::int64_t num_sequences() const { return num_sequences_used(capture, options.max_sequences); }
  bool standardizes() const { return needs_standardization(options.preset); }
  ValueBlocks blocks() const {
    return ValueBlocks(capture, routers.input.sources, num_heads(), capture.num_sequences());
  }
  void load(const ValueBlocks& blocks, const ValueBlocks::Block& block, Loaded& loaded,
            const UnitContext& context) const {
    blocks.read(block, loaded.buffer, context.pool, context.stop);
    loaded.first_row = block.first_row;
    if (!routers.tokens) return;
    loaded.weights = token_weights(capture, routers.input, block.first_row, block.num_rows);
    check_finite(loaded.weights, capture,
                 fmt::format("{} of layer {}", routers.input.weights.site, routers.layer),
                 [&](std::int64_t row) { return block.first_row + row; });
  }
  void route(ValueRouter& router, const Loaded& loaded, std::size_t index, TokenRange tokens,
             MatrixD& routed) const {
    if (!routers.tokens) {
      return router.route(loaded.buffer, routers.distinct[index], tokens, routed);
    }
    const LayerRouters::Rule& rule = routers.rules[index];
    const MatrixD weights = counterfactual_weights(
        loaded.weights.middleRows(tokens.first, tokens.count), *routers.tokens, rule.counterfactual,
        rule.options, loaded.first_row + tokens.first);
    router.route_tokens(loaded.buffer, weights, tokens, routed);
  }
  /// Sequences read for moments and for spectra.
  std::int64_t spectra_work() const {
    return num_sequences() + (standardizes() ? capture.num_sequences() : 0);
  }
  std::int64_t bytes_of_rows() const {
    const SiteLayer& own = routers.input.sources.back();
    return capture.num_rows() * capture.dim(own.site, own.layer) *
           static_cast<std::int64_t>(sizeof(float));
  }
};

/// Routed rows of the whole capture under `count` routers from `first` on.
std::vector<MatrixF> route_all(const Request& request, std::size_t first, std::size_t count,
                               const UnitContext& context) {
  const std::int64_t heads = request.num_heads();
  const ValueBlocks blocks = request.blocks();
  Loaded loaded{blocks.make_buffer()};
  std::vector<MatrixF> rows(count,
                            MatrixF(request.capture.num_rows(), heads * loaded.buffer.head_dim()));
  for (const ValueBlocks::Block& block : blocks.blocks()) {
    if (block.num_rows == 0) continue;
    request.load(blocks, block, loaded, context);
    context.pool.parallel_for(std::ssize(rows), [&](std::int64_t i) {
      const auto index = static_cast<std::size_t>(i);
      ValueRouter router;
      MatrixD routed;
      for (std::int64_t s = 0; s < block.num_sequences; ++s) {
        const TokenRange tokens = blocks.tokens_of(block, block.first_sequence + s);
        request.route(router, loaded, first + index, tokens, routed);
        rows[index].middleRows(block.first_row + tokens.first, tokens.count) =
            routed_rows(routed, heads);
      }
    });
  }
  return rows;
}

CounterfactualLayer measure_separability(const Request& request, const UnitContext& context) {
  const LayerRouters& routers = request.routers;
  const RowTable& table = request.capture.rows();
  const std::vector<int> classes(table.class_id.begin(), table.class_id.end());
  const auto num_classes = static_cast<int>(request.capture.info().class_names.size());
  const std::uint64_t seed = request.options.summary.seed;
  const Folds folds =
      make_folds(classes, {}, {.num_folds = request.options.folds, .shuffle = true, .seed = seed});
  ProbeOptions probe;
  probe.c = {request.options.c};
  const auto group = static_cast<std::size_t>(
      std::max<std::int64_t>(1, kGroupBytes / std::max<std::int64_t>(request.bytes_of_rows(), 1)));

  std::vector<std::vector<double>> accuracies(static_cast<std::size_t>(routers.size()));
  std::int64_t done = 0;
  for (std::size_t first = 0; first < accuracies.size(); first += group) {
    const std::size_t count = std::min(group, accuracies.size() - first);
    const std::vector<MatrixF> rows = route_all(request, first, count, context);
    for (std::size_t i = 0; i < count; ++i) {
      const ProbeData data{rows[i], classes, num_classes};
      accuracies[first + i] =
          cross_validate(data, folds, probe, context.pool, context.stop).accuracies();
      context.report(++done, std::ssize(accuracies));
    }
  }
  CounterfactualLayer result;
  for (const LayerRouters::Variant& variant : routers.variants) {
    std::vector<double> mean(static_cast<std::size_t>(request.options.folds), 0.0);
    for (const std::size_t router : variant.routers) {
      for (std::size_t fold = 0; fold < mean.size(); ++fold) {
        mean[fold] += accuracies[router][fold] / static_cast<double>(variant.routers.size());
      }
    }
    result.quantities.push_back(
        {variant.name, "separability", std::nullopt, "folds", 1.0, std::move(mean)});
  }
  return result;
}

using CountFn = std::function<void(std::int64_t)>;

/// Returns one standardization per router, of its routed values over the whole capture.
std::vector<Standardization> standardizations(const Request& request, const ValueBlocks& blocks,
                                              Loaded& loaded, const UnitContext& context,
                                              const CountFn& count_read) {
  std::vector<RunningStatistics> statistics(static_cast<std::size_t>(request.routers.size()));
  for (const ValueBlocks::Block& block : blocks.blocks()) {
    request.load(blocks, block, loaded, context);
    const auto add = [&](std::int64_t index) {
      const auto router = static_cast<std::size_t>(index);
      ValueRouter values;
      MatrixD routed;
      for (std::int64_t i = 0; i < block.num_sequences; ++i) {
        const TokenRange tokens = blocks.tokens_of(block, block.first_sequence + i);
        if (tokens.count == 0) continue;
        request.route(values, loaded, router, tokens, routed);
        const VectorD mean = routed.rowwise().mean();
        const VectorD m2 = (routed.colwise() - mean).rowwise().squaredNorm();
        const auto size = static_cast<std::size_t>(mean.size());
        statistics[router].merge(tokens.count, {mean.data(), size}, {m2.data(), size});
      }
    };
    context.pool.parallel_for(std::ssize(statistics), add, context.stop);
    count_read(block.num_sequences);
  }
  std::vector<Standardization> result;
  for (const RunningStatistics& entry : statistics) result.push_back(make_standardization(entry));
  return result;
}

std::optional<double> deviation_of_block(const Request& request, const ValueBlocks::Block& block,
                                         const Loaded& loaded) {
  const std::optional<SiteLayer>& result = request.routers.input.result;
  if (!result || block.num_rows == 0 || !request.capture.has(result->site, result->layer)) {
    return std::nullopt;
  }
  const std::size_t trained = request.routers.variants.front().routers.front();
  MatrixD features;
  ValueRouter router;
  request.route(router, loaded, trained, {0, block.num_rows}, features);
  const MatrixF captured =
      request.capture.read_rows(result->site, result->layer, block.first_row, block.num_rows);
  double largest_difference = 0.0;
  double largest_value = 0.0;
  for (Index column = 0; column < features.rows(); ++column) {
    // Features are ordered by dimension, then head; captured columns by head, then dimension.
    const Index dim = loaded.buffer.head_dim();
    const Index feature = column % dim * request.num_heads() + column / dim;
    const Eigen::RowVectorXd value = captured.col(column).cast<double>().transpose();
    largest_difference =
        std::max(largest_difference, (features.row(feature) - value).cwiseAbs().maxCoeff());
    largest_value = std::max(largest_value, value.cwiseAbs().maxCoeff());
  }
  return largest_value > 0.0 ? largest_difference / largest_value : largest_difference;
}

struct Workspace {
  ValueRouter router;
  SpectrumCalculator spectrum;
  MatrixD features;
};

/// Entropies and effective rank of every sequence under every distinct router: one table per
/// router, [num_sequences, orders + 1], NaN where all routed values are zero.
struct Spectra {
  std::vector<MatrixD> tables;
  std::optional<double> deviation;
};

Spectra spectra_of_sequences(const Request& request, const ValueBlocks& blocks,
                             const std::vector<Standardization>& standardization, Loaded& loaded,
                             const UnitContext& context, const CountFn& count_read) {
  const std::int64_t routers = request.routers.size();
  const std::vector<double>& orders = request.options.alpha;
  Spectra spectra;
  spectra.tables.assign(static_cast<std::size_t>(routers),
                        MatrixD::Constant(request.num_sequences(), std::ssize(orders) + 1, NAN));
  ObjectPool<Workspace> workspaces;
  const auto measure = [&](const ValueBlocks::Block& block, std::int64_t sequence,
                           std::size_t router) {
    const auto workspace = workspaces.borrow();
    request.route(workspace->router, loaded, router, blocks.tokens_of(block, sequence),
                  workspace->features);
    std::optional<Standardization> own;
    if (!standardization.empty()) own = standardization[router];
    try {
      const std::optional<SpectrumSummary> summary =
          workspace->spectrum.compute(workspace->features, own, orders);
      if (!summary) return;
      auto row = spectra.tables[router].row(sequence);
      std::ranges::copy(summary->entropies, row.begin());
      row(std::ssize(orders)) = summary->effective_rank;
    } catch (const InvalidArgument& error) {
      throw prefixed(fmt::format("sequence {}", sequence), error);
    }
  };
  for (const ValueBlocks::Block& block : blocks.blocks()) {
    if (block.first_sequence >= request.num_sequences()) break;
    const std::int64_t count =
        std::min(block.num_sequences, request.num_sequences() - block.first_sequence);
    request.load(blocks, block, loaded, context);
    context.pool.parallel_for(
        count * routers,
        [&](std::int64_t item) {
          measure(block, block.first_sequence + item / routers,
                  static_cast<std::size_t>(item % routers));
        },
        context.stop);
    if (const auto deviation = deviation_of_block(request, block, loaded)) {
      spectra.deviation = std::max(spectra.deviation.value_or(0.0), *deviation);
    }
    count_read(count);
  }
  return spectra;
}

/// Returns the mean over the draws of a variant; empty if a sequence has no value.
std::vector<double> values_of(const Spectra& spectra, const LayerRouters::Variant& variant,
                              Index column) {
  VectorD sum = VectorD::Zero(spectra.tables.front().rows());
  for (const std::size_t router : variant.routers) sum += spectra.tables[router].col(column);
  if (!sum.allFinite()) return {};
  sum /= static_cast<double>(variant.routers.size());
  return {sum.begin(), sum.end()};
}

CounterfactualLayer measure_spectra(const Request& request, const UnitContext& context) {
  const ValueBlocks blocks = request.blocks();
  Loaded loaded{blocks.make_buffer()};
  std::int64_t done = 0;
  const CountFn count_read = [&](std::int64_t sequences) {
    done += sequences;
    context.report(done, request.spectra_work());
  };
  std::vector<Standardization> standardization;
  if (request.standardizes()) {
    standardization = standardizations(request, blocks, loaded, context, count_read);
  }
  const Spectra spectra =
      spectra_of_sequences(request, blocks, standardization, loaded, context, count_read);

  // Means over sequences of min(tokens, dimensions) and of its logarithm.
  const std::int64_t dim = request.num_heads() * loaded.buffer.head_dim();
  const auto num_sequences = static_cast<double>(request.num_sequences());
  double most_rank = 0.0;
  double most_entropy = 0.0;
  for (std::int64_t i = 0; i < request.num_sequences(); ++i) {
    const std::int64_t tokens = num_tokens(request.capture, i);
    most_rank += static_cast<double>(std::min(tokens, dim));
    most_entropy += entropy_ceiling(tokens, dim);
  }
  CounterfactualLayer result{.quantities = {}, .deviation = spectra.deviation};
  const std::vector<double>& orders = request.options.alpha;
  for (const LayerRouters::Variant& variant : request.routers.variants) {
    for (std::size_t column = 0; column <= orders.size(); ++column) {
      std::vector<double> values = values_of(spectra, variant, static_cast<Index>(column));
      if (values.empty()) continue;
      const bool is_rank = column == orders.size();
      result.quantities.push_back({.router = variant.name,
                                   .quantity = is_rank ? "effective_rank" : "entropy",
                                   .alpha = is_rank ? std::nullopt : std::optional(orders[column]),
                                   .items = "sequences",
                                   .ceiling = (is_rank ? most_rank : most_entropy) / num_sequences,
                                   .values = std::move(values)});
    }
  }
  return result;
}

void plan_spectra(Unit& unit, const Request& request) {
  const ValueBlocks blocks = request.blocks();
  const ValueBuffer buffer = blocks.make_buffer();
  const std::int64_t sources = buffer.num_sources();
  const std::int64_t dim = request.num_heads() * buffer.head_dim();
  // Routed rows of a block in double and as captured, for the comparison of the two.
  const std::int64_t check = 4 * blocks.bytes_per_thread();
  unit.work = request.spectra_work();
  unit.bytes = blocks.bytes() + check + request.routers.size() * dim * 4 * 8;
  const std::int64_t tokens = longest_sequence(request.capture, request.capture.num_sequences());
  const std::int64_t smaller = std::min(tokens, dim);
  const std::int64_t weights = request.num_heads() * request.routers.input.width;
  const std::int64_t routing = (dim + sources + 2 * weights) * tokens * 8;
  unit.bytes_per_thread =
      std::max(blocks.bytes_per_thread(), routing + smaller * smaller * 24 + tokens * dim * 8);
}

}  // namespace

LayerRouters LayerRouters::make(const LayerRouter& trained, const HeadScales& scales,
                                std::int64_t layer,
                                const std::vector<Counterfactual>& counterfactuals,
                                const CounterfactualOptions& options, std::int64_t draws) {
  LayerRouters result;
  result.layer = layer;
  for (const Counterfactual& counterfactual : counterfactuals) {
    const bool cuts_later =
        counterfactual.kind == CounterfactualKind::kCut && counterfactual.number > layer;
    if (cuts_later) continue;
    Variant variant{counterfactual.name(), {}};
    for (std::int64_t draw = 0; draw < (counterfactual.is_random() ? draws : 1); ++draw) {
      CounterfactualOptions drawn = options;
      drawn.seed = Random(options.seed).fork(static_cast<std::uint64_t>(draw))();
      LayerRouter router =
          counterfactual.kind == CounterfactualKind::kTrained
              ? trained
              : counterfactual_router(trained, scales, layer, counterfactual, drawn);
      if (router.is_zero()) break;  // nothing to measure
      const auto found = std::ranges::find(result.distinct, router);
      variant.routers.push_back(static_cast<std::size_t>(found - result.distinct.begin()));
      if (found == result.distinct.end()) result.distinct.push_back(std::move(router));
    }
    if (!variant.routers.empty()) result.variants.push_back(std::move(variant));
  }
  return result;
}

LayerRouters LayerRouters::make(const TokenRouter& trained,
                                const std::vector<Counterfactual>& counterfactuals,
                                const CounterfactualOptions& options, std::int64_t draws) {
  LayerRouters result;
  result.layer = trained.layer;
  result.tokens = trained;
  const std::int64_t sources = trained.scales.cols() / trained.source_heads;
  for (const Counterfactual& counterfactual : counterfactuals) {
    const bool cuts_later =
        counterfactual.kind == CounterfactualKind::kCut && counterfactual.number >= sources;
    if (cuts_later) continue;
    Variant& variant = result.variants.emplace_back(Variant{counterfactual.name(), {}});
    for (std::int64_t draw = 0; draw < (counterfactual.is_random() ? draws : 1); ++draw) {
      variant.routers.push_back(result.rules.size());
      const std::uint64_t seed = Random(options.seed).fork(static_cast<std::uint64_t>(draw))();
      result.rules.push_back({counterfactual, {.seed = seed, .keep_norm = options.keep_norm}});
    }
  }
  return result;
}

bool has_classes(const CaptureReader& capture) { return !capture.info().class_names.empty(); }

CounterfactualLayer measure_routed_layer(const CaptureReader& capture, const LayerRouters& routers,
                                         const CounterfactualAnalysisOptions& options,
                                         const UnitContext& context) {
  const Request request{capture, routers, options};
  return has_classes(capture) ? measure_separability(request, context)
                              : measure_spectra(request, context);
}

void plan_routed_layer(Unit& unit, const CaptureReader& capture, const LayerRouters& routers,
                       const CounterfactualAnalysisOptions& options) {
  const Request request{capture, routers, options};
  if (!has_classes(capture)) return plan_spectra(unit, request);
  const std::int64_t rows = request.bytes_of_rows();
  unit.work = routers.size();
  // The routed rows of a group, and about twice as much again for the probe.
  unit.bytes =
      std::max(rows, std::min(kGroupBytes, rows * 64)) + 4 * rows + (std::int64_t{64} << 20);
}

}  // namespace lime
