// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "checkpoint/model_config.h"
#include "core/options.h"

namespace lime {

/// The decoder to be trained, with the names of config.json. The defaults are the paper's model of
/// the Arithmetic Expression Task.
struct ModelOptions {
  DecoderKind decoder = DecoderKind::kLlama;
  /// Of `lime`: which earlier layers its routers read, see router_sources(), and how.
  RouterKind router = RouterKind::kFull;
  std::int64_t router_j = 0;
  bool no_head_mixing = false;
  bool per_dimension = false;
  bool dynamic_router = false;
  /// Random start of the static routers, as a share of the paper's, >= 0.
  double router_initializer_scale = 1.0;
  /// Of `denseformer`.
  std::int64_t dwa_dilation = 1;
  std::int64_t dwa_period = 1;
  /// Of `hyper_connections`.
  std::int64_t hyper_rate = 4;
  bool hyper_static = false;
  /// Of `resformer`: SVFormer.
  bool first_layer_only = false;
  std::int64_t num_hidden_layers = 4;
  std::int64_t num_attention_heads = 4;
  /// Heads of keys and values, a divisor of num_attention_heads; all of them if not given.
  std::optional<std::int64_t> num_key_value_heads = std::nullopt;
  std::int64_t hidden_size = 32;
  /// Width of the SwiGLU block; 4 * hidden_size if not given, as in the paper's models.
  std::optional<std::int64_t> intermediate_size = std::nullopt;
  /// Longest sequence; config.json's max_position_embeddings.
  std::int64_t max_position_embeddings = 512;
  /// Give the output projection weights of its own; the paper's models use the embedding.
  bool untie_word_embeddings = false;
  /// Standard deviation of the matrices before training, > 0.
  double initializer_range = 0.02;

  /// What would make a decoder of this configuration.
  static ModelOptions of(const ModelConfig& config);

  void describe(OptionList& list);

  /// Checks that the decoder and its router look at every option that was asked for.
  /// @param given  names of options, also such as have nothing to do with the model; of the
  ///               optimiser's, router_learning_rate is checked too.
  /// @throws InvalidArgument  that names the first option without use and what it belongs to.
  void require_used(const std::set<std::string>& given) const;

  /// The configuration for a tokenizer with `vocab_size` tokens.
  /// @throws FormatError      that names the first size that cannot be, e.g. heads that do not
  /// divide.
  /// @throws InvalidArgument  if weights cannot start so.
  ModelConfig config(std::int64_t vocab_size, std::int64_t bos_token_id,
                     std::int64_t eos_token_id) const;
};

}  // namespace lime
