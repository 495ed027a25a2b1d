// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_config.h"
#include "checkpoint/parameters.h"
#include "model/decoders/decoder.h"

namespace lime {

/// Weight and bias of a projection or norm; undefined if the model lacks them.
struct GaugeProjection {
  at::Tensor weight;  ///< [outputs, inputs]; of a norm [width]
  at::Tensor bias;    ///< [outputs]

  /// Multiplies each output by its factor, [outputs].
  void multiply_outputs(const at::Tensor& factors) const;
  /// Divides the weights of each input by its factor, [inputs].
  void divide_inputs(const at::Tensor& factors) const;
  /// Output i becomes output order[i], which is int64 [outputs]; the same for inputs.
  void permute_outputs(const at::Tensor& order) const;
  void permute_inputs(const at::Tensor& order) const;
};

/// Replaces `tensor` along `axis` by its slices in another order, int64. Does nothing if undefined.
void permute_along(at::Tensor tensor, std::int64_t axis, const at::Tensor& order);

/// The weights of a decoder in float64, which a Gauge changes in place.
class GaugeWeights {
 public:
  struct Entry {
    ParameterSpec spec;
    at::Tensor tensor;  ///< float64, contiguous
  };

  /// Reads all weights. @throws FormatError  as Checkpoint::read()
  explicit GaugeWeights(const Checkpoint& checkpoint);
  /// Copies all weights.
  explicit GaugeWeights(const Decoder& decoder);

  const ModelConfig& config() const { return config_; }
  const std::vector<Entry>& entries() const { return entries_; }

  /// Returns a parameter, which shares its memory with this; undefined if the model lacks it.
  at::Tensor find(Part part, std::int64_t layer = -1, int index = 0,
                  std::int64_t expert = -1) const;
  GaugeProjection projection(Part part, std::int64_t layer = -1, std::int64_t expert = -1) const;

  /// Gives the output projection weights of its own where it is that of the embedding.
  void untie_head();

  /// Returns a float64 decoder with these weights.
  Decoder decoder() const;

 private:
  ModelConfig config_;
  std::vector<Entry> entries_;
};

}  // namespace lime
