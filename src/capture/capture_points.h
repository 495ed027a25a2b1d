// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/sites.h"
#include "checkpoint/model_config.h"
#include "model/passes/hook_points.h"
#include "store/capture_info.h"

namespace lime {

/// A hook point of a capture.
struct CapturePoint {
  HookPoint point;
  std::string site;
  /// Index in the plan; none: statistics only.
  std::optional<std::size_t> activation = std::nullopt;
  std::int64_t dim = 0;       ///< elements per token
  std::int64_t num_keys = 0;  ///< of patterns, those of the longest sequence
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
