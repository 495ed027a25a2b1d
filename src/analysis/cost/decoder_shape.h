// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "metrics/cost/decoder_cost.h"

namespace lime {

/// A decoder as a config describes it.
struct ConfiguredDecoder {
  DecoderShape shape;
  std::string dtype;                  ///< `torch_dtype` of the config; may be empty
  std::filesystem::path file;         ///< the config.json that was read
  std::vector<std::string> warnings;  ///< of the checkpoint
};

/// Reads the sizes that determine the cost of a decoder.
///
/// If weights are stored next to config.json, an official LIMe is detected from the tensor names,
/// because its config declares llama.
///
/// @param path  a config.json or a checkpoint folder.
/// @throws IoError      if it is missing, and as Checkpoint::open().
/// @throws FormatError  as Checkpoint::open(), or if it is no config of a decoder that this build
/// knows.
ConfiguredDecoder read_configured_decoder(const std::filesystem::path& path);

}  // namespace lime
