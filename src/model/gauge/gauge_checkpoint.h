// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/gauge/gauge.h"

namespace lime {

/// Largest relative difference of logits that counts as rounding of float64.
inline constexpr double kGaugeTolerance = 1e-12;

/// Tells how well the logits of a model and of its transformed copy agree, both in float64.
struct GaugeProof {
  std::int64_t num_tokens = 0;
  double largest_logit = 0.0;  ///< magnitude
  double difference = 0.0;     ///< largest of all logits, absolute

  double relative_difference() const { return difference / largest_logit; }
};

/// Returns ids for the proof, uniform in the vocabulary.
std::vector<std::int32_t> random_ids(const ModelConfig& config, std::int64_t count,
                                     std::uint64_t seed);

/// Writes a checkpoint with other weights that computes the same function, with float64 weights,
/// the tokenizer's files, and gauge.json, which contains the request and the proof.
///
/// The logits of `ids` are computed in float64 from both folders. The folder appears complete or
/// not at all.
/// @param ids     of one sequence, not empty
/// @param output  does not exist; its parent does.
/// @throws InvalidArgument  as apply_gauge(), or if the output exists.
/// @throws NumericalError  if the logits differ by more than kGaugeTolerance relative to the
/// largest.
/// @throws IoError, FormatError
GaugeProof write_gauged_checkpoint(const Checkpoint& checkpoint, const GaugeRequest& request,
                                   std::span<const std::int32_t> ids,
                                   const std::filesystem::path& output);

}  // namespace lime
