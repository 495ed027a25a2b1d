// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/mixed_inputs.h"

#include <fmt/ranges.h>

#include "checkpoint/router_layout.h"

namespace lime {
namespace {

using Eigen::Index;

/// Returns the number of sources that an input of a layer contains in a plain residual stream.
Index num_sources_read(const ModelConfig& config, const std::string& read, Index layer) {
  if (read == "final") return num_depth_sources(config, layer);
  return 2 * layer + (read == "mlp" && !config.spec.parallel_residual ? 2 : 1);
}

/// Returns the site of an input from the residual stream; empty if no site has it.
std::string site_of_input(const ModelConfig& config, const std::string& read) {
  const bool has_streams = config.routing == DepthRouting::kHyperConnections;
  if (read == "final") return "hidden";
  if (has_streams) return "";
  if (read == "mlp" && !config.spec.parallel_residual) return "hook_resid_mid";
  return read == "attn" || read == "mlp" ? "hook_resid_pre" : "";
}

}  // namespace

std::string source_site(const ModelConfig& config) {
  switch (config.routing) {
    case DepthRouting::kLime:
      return config.lime.dynamic && config.lime.router != RouterKind::kNone ? kRouteSite : "";
    case DepthRouting::kResFormer:
    case DepthRouting::kDepthAttention:
      return kRouteSite;
    case DepthRouting::kNone:
      return "";
    default:
      return kDepthWeightsSite;
  }
}

MixedInput mixed_input(const ModelConfig& config, const std::string& read, std::int64_t layer) {
  MixedInput input;
  const int number = static_cast<int>(layer);
  if (read == "values" || read == "keys") {
    input.num_heads = config.num_key_value_heads;
    input.sources = layers_of_site(read, layer);
    if (config.routing == DepthRouting::kDepthAttention) {
      for (int i = 0; i < layer; ++i)
        input.sources[static_cast<std::size_t>(i)].site = "routed_values";
    }
    input.result = {read == "values" ? "routed_values" : "attn.hook_routed_k", number};
    input.weights = {kRouteSite, number};
    input.width = route_width(config, layer);
    input.columns = input.num_heads * input.width;
    return input;
  }
  input.sources = {{"hook_embed", 0}};
  input.width = num_sources_read(config, read, layer);
  for (int part = 0; part + 1 < input.width; ++part) {
    input.sources.push_back({part % 2 == 0 ? "hook_attn_out" : "hook_mlp_out", part / 2});
  }
  if (const std::string site = site_of_input(config, read); !site.empty()) {
    input.result = {site, number};
  }
  input.weights = {kDepthWeightsSite, number};
  const std::vector<std::string_view> reads = depth_reads(config, layer);
  input.first_column =
      (std::ranges::find(reads, read) - reads.begin()) * num_depth_sources(config, layer);
  input.columns = std::ssize(reads) * num_depth_sources(config, layer);
  return input;
}

std::vector<std::string> mixed_inputs(const ModelConfig& config) {
  if (config.routing == DepthRouting::kLime) return {"values", "keys"};
  if (source_site(config) == kRouteSite) return {"values"};
  std::vector<std::string> inputs;
  for (const std::string_view read : depth_reads(config, 0)) {
    if (read != "final") inputs.emplace_back(read);
  }
  return inputs;
}

std::string sites_of(const MixedInput& input) {
  std::vector<std::string> sites;
  for (const SiteLayer& source : input.sources) {
    if (std::ranges::find(sites, source.site) == sites.end()) sites.push_back(source.site);
  }
  if (!input.weights.site.empty()) sites.push_back(input.weights.site);
  return fmt::format("{}", fmt::join(sites, ","));
}

std::optional<SiteLayer> lacking(const CaptureReader& capture, const MixedInput& input) {
  for (const SiteLayer& source : input.sources) {
    if (!capture.has(source.site, source.layer)) return source;
  }
  const SiteLayer& weights = input.weights;
  if (weights.site.empty() || capture.has(weights.site, weights.layer)) return std::nullopt;
  return weights;
}

TokenRouter token_router(const CaptureReader& capture, const MixedInput& input) {
  TokenRouter router{.layer = input.weights.layer,
                     .mean = {},
                     .scales = MatrixD(input.num_heads, input.width),
                     .source_heads = input.source_heads(),
                     .is_sum = input.is_sum()};
  router.mean = capture.statistics(input.weights.site, input.weights.layer)
                    .mean.segment(input.first_column, input.num_heads * input.width);
  const Index heads = router.source_heads;
  for (std::size_t i = 0; i < input.sources.size(); ++i) {
    const auto& [site, layer] = input.sources[i];
    const VectorD rms = capture.statistics(site, layer).rms_per_head(input.num_heads);
    const auto first = static_cast<Index>(i) * heads;
    for (Index head = 0; head < input.num_heads; ++head) {
      if (heads == 1) {
        router.scales(head, first) = rms(head);
      } else {
        router.scales.row(head).segment(first, heads) = rms.transpose();
      }
    }
  }
  return router;
}

MatrixF source_norms(const CaptureReader& capture, const MixedInput& input, std::int64_t first_row,
                     std::int64_t num_rows) {
  MatrixF norms(num_rows, std::ssize(input.sources) * input.num_heads);
  for (std::size_t i = 0; i < input.sources.size(); ++i) {
    const auto& [site, layer] = input.sources[i];
    const MatrixF rows = capture.read_rows(site, layer, first_row, num_rows);
    const Index dim = rows.cols() / input.num_heads;
    for (Index head = 0; head < input.num_heads; ++head) {
      norms.col(static_cast<Index>(i) * input.num_heads + head) =
          rows.middleCols(head * dim, dim).rowwise().norm();
    }
  }
  return norms;
}

MatrixF token_weights(const CaptureReader& capture, const MixedInput& input, std::int64_t first_row,
                      std::int64_t num_rows) {
  const auto& [site, layer] = input.weights;
  throw_if<FormatError>(capture.dim(site, layer) != input.columns,
                        "{}: {} of layer {} must have {} columns, got {}", quoted_path(capture),
                        site, layer, input.columns, capture.dim(site, layer));
  return capture.read_rows(site, layer, first_row, num_rows)
      .middleCols(input.first_column, input.num_heads * input.width);
}

}  // namespace lime
