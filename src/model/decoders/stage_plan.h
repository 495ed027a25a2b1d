// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

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

/// Splits a decoder into stages of consecutive layers so that the largest stage is smallest; ties:
/// the smallest sum of squares, then the fewest layers in the first stages. O(stages * layers^2).
/// @throws InvalidArgument  if there are fewer layers than stages.
std::vector<LayerRange> plan_stages(const DecoderSizes& sizes, int num_stages);

/// Part of a decoder on one device. The first stage has the embedding, the last one the final norm
/// and the output projection; a tied output projection stays with the embedding.
struct DecoderStage {
  c10::Device device;
  LayerRange layers;
  std::int64_t weight_bytes = 0;
};

}  // namespace lime
