// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "model/decoders/decoder.h"

namespace lime::testing {

/// Returns a small decoder config of a kind: 3 layers, width 24, 4 heads, 2 key-value heads, 31
/// tokens.
ModelConfig small_config(const std::string& kind = "llama");

/// A configuration with its name in tests.
struct NamedConfig {
  std::string name;
  ModelConfig config;
};
/// Returns small_config() of every decoder, with every option that affects the computation, and
/// specs that take every branch of the forward pass.
std::vector<NamedConfig> small_configs();
/// Returns the config with another number of layers; layers that differ repeat.
ModelConfig with_layers(ModelConfig config, std::int64_t num_layers);
/// Returns the name of a test instantiated with a NamedConfig.
inline std::string config_name(const ::testing::TestParamInfo<NamedConfig>& test) {
  return test.param.name;
}

/// Returns a decoder whose weights are large enough that every part matters, routers included.
Decoder lively_decoder(const ModelConfig& config, const DecoderOptions& options = {});

/// Returns the options of a float64 decoder.
DecoderOptions in_double();

/// Returns reproducible ids in [0, vocab).
at::Tensor some_ids(std::int64_t batch, std::int64_t seq, std::int64_t vocab = 31);

/// Reads a dataset of golden.h5 as a float64 (or, for integers, int64) tensor of the same shape.
at::Tensor golden_tensor(const std::filesystem::path& file, const std::string& dataset);

/// Returns the largest absolute difference; infinity for different shapes or non-finite values.
double max_difference(const at::Tensor& a, const at::Tensor& b);

/// Returns every point of a decoder with `num_layers` layers, in the order of a forward pass.
std::vector<HookPoint> all_hook_points(int num_layers);

/// Returns true for the weights of routers, which hooks can read, but not replace.
bool is_read_only(HookKind kind);

/// Copies its argument: an edit that must change nothing.
at::Tensor copied(const HookPoint& point, const at::Tensor& activation);

/// Returns max_difference(), relative to the largest magnitude of `expected` where that exceeds 1.
double relative_error(const at::Tensor& found, const at::Tensor& expected);

/// Runs the decoder and returns copies of all activations whose hook names match `patterns`, by
/// hook name; `*` matches any text.
std::map<std::string, at::Tensor> activations(const Decoder& decoder, const at::Tensor& ids,
                                              const std::vector<std::string>& patterns,
                                              ForwardOptions options = {});

}  // namespace lime::testing
