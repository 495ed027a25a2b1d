// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"
#include "core/matrix.h"
#include "metrics/experts/expert_load.h"

// What the router of a mixture of experts did in one layer of a capture.

namespace lime {

inline constexpr const char* kRouterLogitsSite = "mlp.hook_router_logits";
inline constexpr const char* kExpertWeightsSite = "mlp.hook_expert_weights";
inline constexpr const char* kExpertIndicesSite = "mlp.hook_expert_indices";

inline bool is_expert_site(const std::string& site) {
  return site == kRouterLogitsSite || site == kExpertWeightsSite || site == kExpertIndicesSite;
}

/// Experts of the tokens of one layer, and measures of each sequence.
struct RoutedLayer {
  std::int64_t num_experts = 0;
  ExpertRows experts;                 ///< of all tokens used, [num_tokens, experts per token]
  std::vector<std::int64_t> offsets;  ///< first row of each sequence and, last, their number
  MatrixD counts;                     ///< selections, [num_sequences, num_experts]
  /// Routing weights, normalised to a sum of 1 per token (equal ones if they were not captured),
  /// and their sums, [num_sequences, num_experts].
  MatrixD weights;
  /// Sums of softmax(logits), [num_sequences, num_experts]; empty if they were not captured.
  MatrixD probabilities;
  /// Means over the tokens of each sequence; NaN where it has none, empty if the site is missing.
  std::vector<double> overlap, routing_entropy, weight_entropy, selected_probability;

  std::int64_t num_sequences() const { return counts.rows(); }
  std::int64_t num_selected() const { return experts.cols(); }
};

/// Returns the number of experts of a layer: the width of the router logits, else that of the
/// config. @throws InvalidArgument  if the capture has neither
std::int64_t num_experts_of(const CaptureReader& capture, int layer);

/// @throws InvalidArgument  if the capture has no numbers of experts; names the sites to capture.
void check_expert_sites(const CaptureReader& capture);

/// Reads a layer. @throws InvalidArgument, FormatError  that names the sequence
RoutedLayer read_routed_layer(const ChosenCapture& capture, int layer, const UnitContext& context);

}  // namespace lime
