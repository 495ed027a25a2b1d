// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/decoder_shape.h"

#include "checkpoint/checkpoint.h"
#include "checkpoint/model_config.h"
#include "checkpoint/router_layout.h"
#include "checkpoint/weight_files.h"
#include "core/errors.h"
#include "core/files/folder.h"

namespace lime {
namespace {

namespace fs = std::filesystem;

CostedDecoder costed_decoder(const ModelConfig& config) {
  switch (config.decoder) {
    case DecoderKind::kLlama:
    case DecoderKind::kMistral:
    case DecoderKind::kQwen2:
      break;
    case DecoderKind::kLime:
      return config.lime.router == RouterKind::kNone ? CostedDecoder::kLlama : CostedDecoder::kLime;
    case DecoderKind::kDenseFormer:
      return CostedDecoder::kDenseFormer;
    case DecoderKind::kHyperConnections:
      return CostedDecoder::kHyperConnections;
    case DecoderKind::kResFormer:
      return config.first_layer_values_only ? CostedDecoder::kSvFormer : CostedDecoder::kResFormer;
  }
  return CostedDecoder::kLlama;
}

CostedRouter costed_router(const ModelConfig& config) {
  CostedRouter router;
  if (config.decoder != DecoderKind::kLime) return router;
  router.head_mixing = config.lime.head_mixing && config.lime.router != RouterKind::kAverage;
  router.per_dimension = config.lime.per_dimension;
  router.dynamic = config.lime.dynamic;
  router.has_parameters = config.lime.router != RouterKind::kAverage;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    router.layers_read.push_back(std::ssize(router_sources(config.lime, layer)));
  }
  return router;
}

DecoderShape shape_of(const ModelConfig& config) {
  DecoderShape shape;
  shape.decoder = costed_decoder(config);
  shape.vocab_size = config.vocab_size;
  shape.hidden_size = config.hidden_size;
  shape.intermediate_size = config.intermediate_size;
  shape.num_hidden_layers = config.num_hidden_layers;
  shape.num_attention_heads = config.num_attention_heads;
  shape.num_key_value_heads = config.num_key_value_heads;
  shape.head_dim = config.head_dim;
  shape.tie_word_embeddings = config.tie_word_embeddings;
  shape.qkv_bias = config.qkv_bias;
  shape.o_bias = config.o_bias;
  shape.mlp_bias = config.mlp_bias;
  shape.router = costed_router(config);
  shape.dwa_dilation = config.denseformer.dilation;
  shape.dwa_period = config.denseformer.period;
  shape.hyper_rate = config.hyper_connections.rate;
  shape.hyper_dynamic = config.hyper_connections.dynamic;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    shape.cached_positions.push_back(config.window_of_layer(layer).value_or(0));
  }
  return shape;
}

}  // namespace

ConfiguredDecoder read_configured_decoder(const fs::path& path) {
  if (!path_exists(path)) {
    throw IoError("'{}': no such file; give a config.json or a checkpoint folder{}", path.string(),
                  hub_hint(path));
  }
  const bool is_folder = fs::is_directory(path);
  if (!is_folder && path.filename() != "config.json") {
    const ModelConfig config = read_model_config(path);
    return {shape_of(config), config.torch_dtype, path, {}};
  }
  // An official LIMe is detected from its tensors, because its config.json declares llama.
  const fs::path folder = is_folder ? path : path.parent_path();
  const CheckpointFiles files = find_checkpoint(folder.empty() ? "." : folder);
  const fs::path file = is_folder ? files.config : path;
  if (!has_weights(files.weights)) {
    const ModelConfig config = read_model_config(file);
    return {shape_of(config), config.torch_dtype, file, {}};
  }
  const Checkpoint checkpoint = Checkpoint::open(folder.empty() ? "." : folder);
  const ModelConfig& config = checkpoint.config();
  return {shape_of(config), config.torch_dtype, file, checkpoint.warnings()};
}

}  // namespace lime
