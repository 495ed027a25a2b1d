// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "core/layer_selection.h"
#include "model/hook_points.h"
#include "store/capture_info.h"

namespace lime {

/// A kind of activation to keep, under the name that its datasets get.
struct CaptureSite {
  std::string name;
  HookKind kind = HookKind::kResidPost;

  bool operator==(const CaptureSite&) const = default;
};

/// Names of keys and values before the router; their statistics are always kept.
inline constexpr const char* kKeysSite = "keys";
inline constexpr const char* kValuesSite = "values";

/// The sites that `names` ask for, in that order: a short word of hook_sites(), `keys`, or a hook
/// of every layer without its `blocks.{l}.`, e.g. `attn.hook_z`. A hook that has a short word gets
/// it. Attention scores, of which most are -inf, are no site.
/// @throws InvalidArgument  for an unknown or repeated name; lists what there is.
std::vector<CaptureSite> find_sites(const std::vector<std::string>& names);

/// The kind of the site called `name`, which must be among `sites`.
HookKind site_kind(const std::string& name, const std::vector<CaptureSite>& sites);

/// Numbers per row of a site; of attn.hook_pattern for each key, see widen_patterns().
std::int64_t site_dim(HookKind kind, const ModelConfig& config);

/// One dataset per site and chosen layer, by site, then layer.
/// @throws InvalidArgument  for a layer that the model lacks.
std::vector<ActivationInfo> plan_activations(const std::vector<CaptureSite>& sites,
                                             const LayerSelection& layers,
                                             const ModelConfig& config);

/// Makes room for patterns of `longest` keys. The row of a token is its query's part of the
/// pattern, [num_attention_heads, longest]: head by head, the keys in the order of the sequence, 0
/// where there is none.
void widen_patterns(std::vector<ActivationInfo>& activations, const std::vector<CaptureSite>& sites,
                    std::int64_t longest);

}  // namespace lime
