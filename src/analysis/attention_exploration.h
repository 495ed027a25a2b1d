// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix.h"
#include "store/capture_reader.h"

namespace lime {

/// The site that holds attention patterns (docs/capture_format.md).
inline constexpr const char* kPatternSite = "attn.hook_pattern";

/// What the tokens of one sequence attend to in one layer.
struct AttentionExploration {
  int layer = 0;
  std::int64_t sequence = 0;
  std::int64_t num_key_value_heads = 0;
  std::vector<MatrixF> patterns;  ///< of each head, [queries, keys], rows sum to 1

  std::int64_t num_heads() const { return static_cast<std::int64_t>(patterns.size()); }
  /// The key-value head, and so the routed head, that a head reads.
  std::int64_t routed_head(std::int64_t head) const {
    return head * num_key_value_heads / num_heads();
  }
};

/// Reads the patterns of one sequence.
/// @throws InvalidArgument  if the capture lacks them: says how to capture them.
/// @throws IoError, FormatError  as CaptureReader.
AttentionExploration explore_attention(const CaptureReader& capture, int layer,
                                       std::int64_t sequence);

/// From which buffered layers the keys come that one query attends to.
struct RoutedAttention {
  MatrixD shares;          ///< [layer + 1, keys], sums to 1
  bool of_values = false;  ///< of the tokens' own values; else of their scales over the text
};

/// Follows one row of a pattern through the layer's router: with the tokens' values where the
/// capture has the site `values` of all layers up to this one, else with the root mean squares in
/// its statistics (routed_attention(), routed_attention_of_scales()).
/// @throws InvalidArgument  if the model has no routers, or head or query do not exist.
RoutedAttention explore_routed_attention(const CaptureReader& capture,
                                         const AttentionExploration& attention, std::int64_t head,
                                         std::int64_t query);

}  // namespace lime
