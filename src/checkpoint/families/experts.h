// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "checkpoint/families/family.h"

namespace lime {

/// Contains the defaults of a family with mixtures of experts, from its configuration_*.py.
struct ExpertDefaults {
  std::int64_t num_experts = 8;
  std::int64_t num_experts_per_tok = 2;
  double aux_loss_coef = 0.001;
};

/// Reads the number of experts, how many a token passes, and the load balancing loss, which
/// `output_router_logits` turns on. Their width is intermediate_size.
/// @throws FormatError  that names the key at fault.
ExpertsSpec read_experts(const KeyReader& keys, const ModelConfig& config,
                         const ExpertDefaults& defaults);

/// Other names of the number of experts, for families whose key is `num_local_experts`.
inline constexpr KeyAlias kLocalExperts[] = {{"num_experts", "num_local_experts"}};
/// The same for families whose key is `num_experts`.
inline constexpr KeyAlias kNumExperts[] = {{"num_local_experts", "num_experts"}};

}  // namespace lime
