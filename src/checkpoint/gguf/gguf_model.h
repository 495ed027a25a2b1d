// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf/gguf_header.h"
#include "checkpoint/model_config.h"
#include "checkpoint/weights/tensor_sources.h"

namespace lime {

/// Returns the values of `general.architecture` that gguf_model_config() reads.
std::vector<std::string> gguf_architectures();

/// Returns the configuration that a GGUF file describes, as if read from the config.json of the
/// model it was made from, which is in `raw`. What the file omits has the default of transformers.
/// @param header  of the whole model, see open_gguf(): the sizes of the vocabulary, biases and the
///                output projection follow from the tensors.
/// @throws FormatError  as parse_model_config(), with the keys of the file; or if the architecture
///                      is not supported.
ModelConfig gguf_model_config(const GgufHeader& header, std::string_view where);

/// Finds the tensors of the config in a GGUF file, as locate_tensors() does, and undoes what
/// llama.cpp changes when it converts a model:
///
///   the names; fused tensors with rows of all queries, then keys, then values (GPT-NeoX); matrices
///   that are [outputs, inputs] (GPT-2); queries and keys whose rows alternate between the halves
///   of a head (llama, granite, smollm3); norm weights w stored as 1 + w (Gemma); gates and ups
///   of all experts of a layer in one tensor each
///
/// @throws FormatError  as locate_tensors().
TensorSources locate_gguf_tensors(const std::vector<TensorView>& stored, ModelConfig& config,
                                  std::string_view where);

}  // namespace lime
