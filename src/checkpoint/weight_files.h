// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "checkpoint/safetensors.h"

namespace lime {

/// Contains the mapped weight files of a checkpoint folder.
struct WeightFiles {
  std::vector<SafetensorsFile> files;  ///< by name
  std::vector<TensorView> tensors;     ///< what they hold, under the names in the files
  std::optional<std::filesystem::path> index;
};

/// Returns true if `folder` contains files that open_weight_files() opens.
bool has_weights(const std::filesystem::path& folder);

/// Opens `model.safetensors` if there is one, else the shards of `model.safetensors.index.json`;
/// of a shard only the tensors that the index assigns to it count.
/// @throws IoError      if there are no weights, or a shard is missing.
/// @throws FormatError  if a file is broken, a shard's name leads out of the folder, or a shard
///                      lacks a tensor that the index promises.
WeightFiles open_weight_files(const std::filesystem::path& folder);

}  // namespace lime
