// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_config.h"

namespace lime {

/// Lists the names that `model_type` may have: the families, then the routings of LLaMA blocks.
std::vector<std::string> decoder_names();

/// Returns the configuration of a new decoder, one of decoder_names().
/// @param sizes  keys of config.json with LLaMA's names, renamed where the family has its own
/// @throws FormatError  as parse_model_config().
ModelConfig make_model_config(const std::string& decoder, const Json& sizes,
                              std::string_view where);

/// Reads a configuration as transformers 4 and 5 write it; null stands for "not given". An object
/// named after a routing (`lime`, `attn_res` ...) adds it to the blocks of any `model_type`; as
/// `model_type`, such a name means LLaMA's blocks with it. `qwen3_attnres` is the public layout of
/// Attention Residuals.
/// @param where  named first in errors, e.g. `'models/a/config.json'`.
/// @throws FormatError  if a key is missing, of the wrong type, out of range or not supported
///                      (unknown family, activation or RoPE type).
ModelConfig parse_model_config(const Json& json, std::string_view where);

/// Reads the config.json or GGUF file that find_checkpoint() finds; `path` may also name the file
/// itself. An
/// official LIMe folder is read as `llama`: only Checkpoint::open() reads the tensors.
/// @throws IoError, FormatError  as find_checkpoint() and parse_model_config().
ModelConfig read_model_config(const std::filesystem::path& path);

/// Returns config.json for transformers; parse_model_config() of it gives an equal configuration.
/// @throws FormatError  as validate().
Json model_config_to_json(const ModelConfig& config);

}  // namespace lime
