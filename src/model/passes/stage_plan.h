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

/// Sizes of the parts of a decoder, in one unit.
struct DecoderSizes {
  std::int64_t embedding = 0;  ///< with the first layer
  std::vector<std::int64_t> layers;
  std::int64_t head = 0;  ///< final norm and output projection, with the last layer

  /// Returns the size of some layers and of the parts on their device.
  std::int64_t of(const LayerRange& range) const;
};

/// Counts parameters. A tied output projection is counted with the embedding.
DecoderSizes decoder_sizes(const ModelConfig& config);

/// Splits a decoder into stages of consecutive layers so that the largest stage is as small as
/// possible. Ties are broken by the smallest sum of squares, then by the fewest layers in the first
/// stages.
/// @param num_stages  >= 1; each gets at least one layer
/// @throws InvalidArgument  if there are fewer layers than stages.
/// Cost O(num_stages * layers^2).
std::vector<LayerRange> plan_stages(const DecoderSizes& sizes, int num_stages);

}  // namespace lime
