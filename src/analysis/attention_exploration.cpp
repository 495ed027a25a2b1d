// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention_exploration.h"

#include <algorithm>
#include <utility>

#include "analysis/routers_of.h"
#include "checkpoint/model_config.h"
#include "core/errors.h"
#include "metrics/router/routed_attention.h"

namespace lime {
namespace {

void check_has_pattern(const CaptureReader& capture, int layer, std::int64_t sequence) {
  const std::string path = capture.path().string();
  if (capture.info().rows != RowKind::kTokens || !capture.info().class_names.empty()) {
    throw InvalidArgument(
        "'{}': must hold every token of its sequences; capture again with --rows tokens and "
        "without --only",
        path);
  }
  if (!capture.has(kPatternSite, layer)) {
    throw InvalidArgument(
        "'{}': holds no attention pattern of layer {}; capture again with --sites "
        "values,hidden,{}",
        path, layer, kPatternSite);
  }
  if (sequence < 0 || sequence >= capture.num_sequences()) {
    throw InvalidArgument("sequence: must be in [0, {}), got {}", capture.num_sequences(),
                          sequence);
  }
}

}  // namespace

AttentionExploration explore_attention(const CaptureReader& capture, int layer,
                                       std::int64_t sequence) {
  check_has_pattern(capture, layer, sequence);
  const ModelConfig config =
      parse_model_config(capture.config(), "'" + capture.path().string() + "': config");
  const MatrixF rows = capture.read_sequence(kPatternSite, layer, sequence);
  const std::int64_t heads = config.num_attention_heads;
  const std::int64_t keys = rows.cols() / heads;
  if (keys * heads != rows.cols() || keys < rows.rows()) {
    throw FormatError("'{}': a pattern of {} heads and {} tokens does not have {} numbers per row",
                      capture.path().string(), heads, rows.rows(), rows.cols());
  }
  AttentionExploration attention{.layer = layer,
                                 .sequence = sequence,
                                 .num_key_value_heads = config.num_key_value_heads,
                                 .patterns = {}};
  for (std::int64_t h = 0; h < heads; ++h) {
    attention.patterns.emplace_back(rows.middleCols(h * keys, rows.rows()));
  }
  return attention;
}

RoutedAttention explore_routed_attention(const CaptureReader& capture,
                                         const AttentionExploration& attention, std::int64_t head,
                                         std::int64_t query) {
  if (capture.router_layers().empty()) {
    throw InvalidArgument("'{}': its model has no routers; all keys are those of layer {}",
                          capture.path().string(), attention.layer);
  }
  if (head < 0 || head >= attention.num_heads()) {
    throw InvalidArgument("head: must be in [0, {}), got {}", attention.num_heads(), head);
  }
  const MatrixF& pattern = attention.patterns[static_cast<std::size_t>(head)];
  if (query < 0 || query >= pattern.rows()) {
    throw InvalidArgument("query: must be in [0, {}), got {}", pattern.rows(), query);
  }
  const VectorD weights = pattern.row(query).cast<double>();
  const std::span pattern_row(weights.data(), static_cast<std::size_t>(weights.size()));
  const LayerRouter router = layer_routers_of(capture)[static_cast<std::size_t>(attention.layer)];
  const std::int64_t routed_head = attention.routed_head(head);
  if (has_all_layers(capture, "values", attention.layer)) {
    std::vector<MatrixF> values;
    for (int layer = 0; layer <= attention.layer; ++layer) {
      values.push_back(capture.read_sequence("values", layer, attention.sequence));
    }
    return {routed_attention(pattern_row, router, routed_head, values), true};
  }
  MatrixD scales(attention.layer + 1, attention.num_key_value_heads);
  for (int layer = 0; layer <= attention.layer; ++layer) {
    scales.row(layer) = capture.rms_per_head("values", layer).transpose();
  }
  return {routed_attention_of_scales(pattern_row, router, routed_head, scales), false};
}

}  // namespace lime
