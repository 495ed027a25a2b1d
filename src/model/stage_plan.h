// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/model_config.h"

namespace lime {

/// Consecutive layers of a decoder.
struct LayerRange {
  int first = 0;
  int count = 0;

  int end() const { return first + count; }
  bool operator==(const LayerRange&) const = default;
};

/// What the parts of a decoder weigh, in one unit.
struct DecoderSizes {
  std::int64_t embedding = 0;  ///< with the first layer
  std::vector<std::int64_t> layers;
  std::int64_t head = 0;  ///< final norm and output projection, with the last layer

  /// Of some layers, and of what goes with them.
  std::int64_t of(const LayerRange& range) const;
};

/// Counts the numbers that are parameters. A tied output projection lies with the embedding.
DecoderSizes decoder_sizes(const ModelConfig& config);

/// Cuts a decoder into stages of consecutive layers whose largest is as small as possible; among
/// those the cut whose sum of squares is smallest, and of equal ones the one that begins with the
/// fewest layers.
/// @param num_stages  >= 1; each gets a layer
/// @throws InvalidArgument  if there are fewer layers than stages.
/// Cost O(num_stages * layers^2).
std::vector<LayerRange> plan_stages(const DecoderSizes& sizes, int num_stages);

}  // namespace lime
