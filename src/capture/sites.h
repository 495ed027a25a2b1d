// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "core/layer_selection.h"
#include "model/passes/hook_points.h"
#include "store/capture_info.h"

namespace lime {

/// A kind of activation to capture, with the name of its datasets.
struct CaptureSite {
  std::string name;
  HookKind kind = HookKind::kResidPost;

  bool operator==(const CaptureSite&) const = default;
};

/// Site names of keys and values before the router, whose statistics are always stored.
inline constexpr const char* kKeysSite = "keys";
inline constexpr const char* kValuesSite = "values";

/// Returns the sites for `names`, in order: a short name of hook_sites(), `keys`, `logit_lens`, or
/// a hook of every layer without its `blocks.{l}.`, e.g. `attn.hook_z`. A hook with a short name is
/// stored under that name. Attention scores, most of which are -inf, are not supported.
/// @throws InvalidArgument  for an unknown or repeated name; lists the supported ones.
std::vector<CaptureSite> find_sites(const std::vector<std::string>& names);

/// Returns the kind of the site called `name`, which must be among `sites`.
HookKind site_kind(const std::string& name, const std::vector<CaptureSite>& sites);

/// Returns the elements per row of a site in a layer; for attn.hook_pattern per key, see
/// widen_patterns().
std::int64_t site_dim(HookKind kind, const ModelConfig& config, std::int64_t layer);

/// Plans one dataset per site and selected layer, by site, then layer.
/// @throws InvalidArgument  for a layer that the model lacks.
std::vector<ActivationInfo> plan_activations(const std::vector<CaptureSite>& sites,
                                             const LayerSelection& layers,
                                             const ModelConfig& config);

/// Widens the rows of patterns to `longest` keys. The row of a token is its query's part of the
/// pattern, [num_attention_heads, longest]: head by head, the keys in sequence order, padded with
/// 0.
void widen_patterns(std::vector<ActivationInfo>& activations, const std::vector<CaptureSite>& sites,
                    std::int64_t longest);

struct CapturePoint {
  HookPoint point;
  std::string site;
  /// Index in the plan; none: statistics only.
  std::optional<std::size_t> activation = std::nullopt;
  std::int64_t dim = 0;       ///< elements per token
  std::int64_t num_keys = 0;  ///< of patterns, those of the longest sequence
  std::int64_t read_dim = 0;  ///< elements per token that the pass provides

  HookPoint hook() const {
    return {point.kind == HookKind::kLogitLens ? HookKind::kResidPost : point.kind, point.layer};
  }
};

/// Returns the points of all `activations` and, for their statistics, those of keys and values of
/// all layers up to `last_layer`.
/// @param sites  the sites of the activations
std::vector<CapturePoint> capture_points(const std::vector<CaptureSite>& sites,
                                         const std::vector<ActivationInfo>& activations,
                                         const ModelConfig& config, int last_layer);

/// Returns the bytes of a token's activations at these points, as float32.
std::int64_t bytes_per_token(const std::vector<CapturePoint>& points);

}  // namespace lime
