// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention/attention_patterns.h"

#include <algorithm>

#include "analysis/engine/capture_rows.h"
#include "analysis/router/routers.h"
#include "checkpoint/families/key_reader.h"
#include "checkpoint/model_config.h"
#include "checkpoint/parse_model_config.h"
#include "core/layer_selection.h"
#include "core/program/suggest.h"
#include "metrics/attention/attention_profile.h"
#include "metrics/router/layer_router.h"
#include "metrics/router/routed_attention.h"

namespace lime {

PatternReader::PatternReader(const CaptureReader& capture) : capture_(&capture) {
  check_whole_sequences(capture, "attention");
  const std::vector<std::string>& sites = capture.sites();
  const auto has = [&](const char* site) { return std::ranges::find(sites, site) != sites.end(); };
  throw_if(!has(kPatternSite) && !has(kProfileSite),
           "{}: contains no attention patterns (its sites: {}); capture again with --sites "
           "values,hidden,{}, or with {} for summaries alone",
           quoted_path(capture), join_words(sites), kPatternSite, kProfileSite);
  if (!has(kPatternSite)) site_ = kProfileSite;
  const KeyReader keys(capture.config(), quoted_path(capture) + ": config");
  const std::vector<std::string> known = decoder_names();
  if (std::ranges::find(known, keys.text("model_type").value_or("")) != known.end()) {
    const ModelConfig config = parse_model_config(capture.config(), keys.where());
    num_heads_ = config.num_attention_heads;
    num_key_value_heads_ = config.num_key_value_heads;
    return;
  }
  num_heads_ = keys.required_integer("num_attention_heads");
  num_key_value_heads_ = keys.integer("num_key_value_heads").value_or(num_heads_);
  if (num_heads_ < 1) throw FormatError("{}: 'num_attention_heads' must be positive", keys.where());
}

void PatternReader::check_sequence(std::int64_t sequence) const {
  const std::int64_t count = capture_->num_sequences();
  if (sequence >= 0 && sequence < count) return;
  throw InvalidArgument(OptionName("sequence"), "must be in 0 to {}, the sequences of {}, got {}",
                        count - 1, quoted_path(*capture_), sequence);
}

void PatternReader::check_layer(int layer) const {
  if (capture_->has(site_, layer)) return;
  throw InvalidArgument("{}: contains no attention pattern of layer {} (its layers: {})",
                        quoted_path(*capture_), layer, layers_to_string(capture_->layers(site_)));
}

std::vector<MatrixD> PatternReader::profiles(int layer, std::int64_t sequence,
                                             const std::vector<int>& heads) const {
  std::vector<MatrixD> profiles;
  if (site_ == kPatternSite) {
    const AttentionPatterns attention = read(layer, sequence);
    for (const int head : heads) {
      try {
        profiles.push_back(attention_profile(attention.patterns[static_cast<std::size_t>(head)]));
      } catch (const InvalidArgument& error) {
        throw prefixed(fmt::format("sequence {}, head {}", sequence, head), error);
      }
    }
    return profiles;
  }
  check_layer(layer);
  check_sequence(sequence);
  const MatrixF rows = capture_->read_sequence(site_, layer, sequence);
  constexpr auto kSize = static_cast<Eigen::Index>(kAttentionMeasures.size());
  throw_if<FormatError>(
      rows.cols() != num_heads_ * kSize,
      "{}: the attention profiles of {} heads must have {} values per row, got {}",
      quoted_path(*capture_), num_heads_, num_heads_ * kSize, rows.cols());
  for (const int head : heads) {
    profiles.emplace_back(rows.middleCols(head * kSize, kSize).cast<double>());
  }
  return profiles;
}

void PatternReader::check_patterns() const {
  throw_if(site_ != kPatternSite,
           "'{}': contains summaries of attention, but no patterns; capture again with --sites {}",
           capture_->path().string(), kPatternSite);
}

std::int64_t PatternReader::keys_of(const MatrixF& rows, std::int64_t tokens) const {
  const std::int64_t keys = rows.cols() / num_heads_;
  throw_if<FormatError>(
      keys * num_heads_ != rows.cols() || keys < tokens,
      "'{}': an attention pattern of {} heads and {} tokens cannot have {} values per row",
      capture_->path().string(), num_heads_, tokens, rows.cols());
  return keys;
}

AttentionPatterns PatternReader::read(int layer, std::int64_t sequence) const {
  check_patterns();
  check_layer(layer);
  check_sequence(sequence);
  const MatrixF rows = capture_->read_sequence(kPatternSite, layer, sequence);
  const std::int64_t keys = keys_of(rows, rows.rows());
  AttentionPatterns attention{.layer = layer,
                              .sequence = sequence,
                              .num_key_value_heads = num_key_value_heads_,
                              .patterns = {}};
  for (std::int64_t h = 0; h < num_heads_; ++h) {
    attention.patterns.emplace_back(rows.middleCols(h * keys, rows.rows()));
  }
  return attention;
}

MatrixF PatternReader::read_query(int layer, std::int64_t sequence, std::int64_t query) const {
  check_patterns();
  check_layer(layer);
  check_sequence(sequence);
  const auto at = static_cast<std::size_t>(sequence);
  const std::int64_t first = capture_->offsets()[at];
  const std::int64_t tokens = capture_->offsets()[at + 1] - first;
  throw_if(query < 0 || query >= tokens, OptionName("query"), "must be in [0, {}), got {}", tokens,
           query);
  const MatrixF row = capture_->read_rows(kPatternSite, layer, first + query, 1);
  const std::int64_t keys = keys_of(row, tokens);
  MatrixF attention(num_heads_, query + 1);
  for (std::int64_t h = 0; h < num_heads_; ++h) {
    attention.row(h) = row.row(0).segment(h * keys, query + 1);
  }
  return attention;
}

Eigen::RowVectorXd summarize_head(const AttentionPatterns& attention, std::int64_t head) {
  throw_if(head < 0 || head >= attention.num_heads(), OptionName("head"),
           "must be in [0, {}), got {}", attention.num_heads(), head);
  const MatrixD profile = attention_profile(attention.patterns[static_cast<std::size_t>(head)]);
  const Eigen::Index skipped = profile.rows() > 1 ? 1 : 0;
  return profile.bottomRows(profile.rows() - skipped).colwise().mean();
}

RoutedAttention routed_attention_of_query(const CaptureReader& capture,
                                          const AttentionPatterns& attention, std::int64_t head,
                                          std::int64_t query) {
  throw_if(capture.router_layers().empty(),
           "'{}': the model has no routers; all keys come from layer {}", capture.path().string(),
           attention.layer);
  throw_if(head < 0 || head >= attention.num_heads(), OptionName("head"),
           "must be in [0, {}), got {}", attention.num_heads(), head);
  const MatrixF& pattern = attention.patterns[static_cast<std::size_t>(head)];
  throw_if(query < 0 || query >= pattern.rows(), OptionName("query"), "must be in [0, {}), got {}",
           pattern.rows(), query);
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
