// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint/families/family.h"

namespace lime {

/// Keys of the sizes in configs of GPT-2 and those that follow it.
inline constexpr SizeKeys kGpt2Keys = {.hidden_size = "n_embd",
                                       .intermediate_size = "n_inner",
                                       .num_hidden_layers = "n_layer",
                                       .num_attention_heads = "n_head",
                                       .num_key_value_heads = nullptr,
                                       .head_dim = nullptr,
                                       .max_position_embeddings = "n_positions",
                                       .activation = "activation_function"};

/// Returns the names of GPT-2's tensors.
TensorNames gpt2_names();

/// Learned positions, matrices stored as [inputs, outputs].
extern const Family kGpt2;

}  // namespace lime
