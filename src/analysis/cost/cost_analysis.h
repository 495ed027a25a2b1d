// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analysis/engine/analysis.h"

namespace lime {

enum class CostDtype { kFloat64, kFloat32, kBfloat16, kFloat16 };

constexpr auto names_of(CostDtype) {
  using enum CostDtype;
  return enum_table<CostDtype>({{kFloat64, "float64"},
                                {kFloat32, "float32"},
                                {kBfloat16, "bfloat16"},
                                {kFloat16, "float16"}});
}

/// Decoder to count instead of that of a config: a routing of its blocks, or none (llama).
enum class CostedDecoder {
  kLlama,
  kLime,
  kDenseFormer,
  kHyperConnections,
  kResFormer,
  kSvFormer,
  kAttnRes,
  kMhc,
  kDepthAttention,
  kMudd
};

constexpr auto names_of(CostedDecoder) {
  using enum CostedDecoder;
  return enum_table<CostedDecoder>({{kLlama, "llama"},
                                    {kLime, "lime"},
                                    {kDenseFormer, "denseformer"},
                                    {kHyperConnections, "hyper_connections"},
                                    {kResFormer, "resformer"},
                                    {kSvFormer, "svformer"},
                                    {kAttnRes, "attn_res"},
                                    {kMhc, "mhc"},
                                    {kDepthAttention, "depth_attention"},
                                    {kMudd, "mudd"}});
}

struct CostAnalysisOptions {
  std::vector<std::filesystem::path> configs;
  std::vector<std::string> label;  ///< one per config; empty: from the paths
  std::vector<CostedDecoder> decoder;
  std::vector<std::int64_t> num_key_value_heads;
  std::vector<std::int64_t> sequence_length = {2048};  ///< each >= 1
  std::optional<CostDtype> dtype;

  void describe_inputs(OptionList& list);
  void describe(OptionList& list);
  void validate() const;
};

/// Prepares the cost of decoders, with one row per config, decoder, number of key-value heads and
/// length of the sequence. docs/cost.md explains the columns.
/// @throws FormatError      of a decoder or router that is not counted.
/// @throws InvalidArgument  if heads do not divide.
Analysis prepare_cost(const CostAnalysisOptions& options, const RunOptions& run);

}  // namespace lime
