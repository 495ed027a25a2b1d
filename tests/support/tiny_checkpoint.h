// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "checkpoint/model_config.h"

namespace lime::testing {

/// Returns `num_layers` layers, hidden 24, 4 heads of 6 on 2 key-value heads, 64 positions, 280
/// tokens.
ModelConfig tiny_config(const std::string& decoder = "llama", std::int64_t num_layers = 3);

/// Writes a checkpoint with random weights and a byte-level tokenizer.json into `folder`.
///
/// The tokenizer's ids: 0 to 255 are the bytes, 256 is `<s>`, which it prepends to every text, 257
/// is `</s>`, then tokens for ` is`, ` are`, ` was` and ` were` and their merge steps.
/// @param weight_scale  scale of the random weights; large weights give large activations.
void write_tiny_checkpoint(const std::filesystem::path& folder,
                           const ModelConfig& config = tiny_config(), double weight_scale = 0.2);

/// Moves the files of a checkpoint folder to where train.py of the released LIMe code has them:
/// config/config.json, final/model.safetensors and, if there is one, a tokenizer/, with `llama` in
/// config.json.
void move_to_released_layout(const std::filesystem::path& folder);

/// Returns English text of about `num_words` words including the four forms of `to be`.
std::string tiny_text(int num_words, std::uint64_t seed = 1);

}  // namespace lime::testing
