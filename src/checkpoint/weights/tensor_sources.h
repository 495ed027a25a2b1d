// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/model_config.h"
#include "checkpoint/parameters.h"
#include "checkpoint/weights/tensor_view.h"

namespace lime {

/// Describes a tensor without reading it.
struct TensorInfo {
  std::string name;         ///< canonical, as in parameter_specs()
  std::string stored_name;  ///< in the file, with prefixes; the fused tensor for its keys or values
  Dtype dtype = Dtype::kF32;
  Shape shape;
};

/// Locates the elements of a parameter.
struct TensorSource {
  TensorInfo info;
  std::span<const std::byte> bytes;  ///< of the whole stored tensor
  /// MXFP4 as transformers stores it: one exponent for each 32 elements of `bytes`, which have four
  /// bits each; else empty, and blocks are those of GGUF.
  std::span<const std::byte> exponents = {};
  StoredPlace place;
  float added = 0.0F;  ///< what the parameter has more than the stored one
};

/// Contains the tensors of a decoder, located among those of its files.
struct TensorSources {
  bool has_fused_values = false;  ///< kv_proj_weight of the LIMe paper's released code
  std::map<std::string, TensorSource, std::less<>> by_name;
  std::vector<std::string> warnings;  ///< for the user, see Checkpoint::warnings()
};

/// Drops the prefixes `module.` and `_orig_mod.` of DistributedDataParallel and torch.compile.
std::string canonical_tensor_name(std::string_view stored_name);

/// Finds every tensor of the config among `stored`, as Checkpoint describes: drops prefixes and
/// buffers, recognises a LIMe, splits fused keys and values, resolves tied embeddings, and checks
/// names, shapes and dtypes. Touches no weights unless both tied tensors are stored.
///
/// @param stored  what the files hold.
/// @param config  corrected where the tensors know better: `routing` of an official LIMe or of its
///                baseline with Hyper-Connections, `tie_word_embeddings` where lm_head differs from
///                the embedding, `has_head` without lm_head.
/// @param where   path of the folder, for errors.
/// @param described_in  what the config was read from, for errors.
/// @throws FormatError  that names the tensors which are missing, unexpected or misshapen.
TensorSources locate_tensors(std::span<const TensorView> stored, ModelConfig& config,
                             std::string_view where, std::string_view described_in = "config.json");

}  // namespace lime
