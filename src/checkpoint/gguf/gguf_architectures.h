// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "checkpoint/gguf/gguf_metadata.h"
#include "checkpoint/model_config.h"

namespace lime {

/// Describes one architecture of llama.cpp.
struct GgufArchitecture {
  std::string_view name;        ///< `general.architecture`
  std::string_view model_type;  ///< of transformers
  /// Adds the keys of config.json that are not sizes.
  void (*add_keys)(const GgufMetadata& data, Json& json);
  /// Rows of queries and keys alternate between the first and the second half of a head, because
  /// llama.cpp rotates neighbours.
  bool alternates_halves = false;
  /// Changes the usual names of tensors; null: they are as usual.
  void (*change_names)(const ModelConfig& config, TensorNames& names) = nullptr;
  /// Sliding window of the released models, which files do not store; 0: none.
  std::int64_t unstored_window = 0;
  /// Of transformers, for files with experts; empty: `model_type`.
  std::string_view model_type_of_experts = {};
};

/// Returns all architectures that can be read.
std::span<const GgufArchitecture> all_gguf_architectures();

}  // namespace lime
