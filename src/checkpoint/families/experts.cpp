// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/families/experts.h"

namespace lime {

ExpertsSpec read_experts(const KeyReader& keys, const ModelConfig& config,
                         const ExpertDefaults& defaults) {
  ExpertsSpec experts;
  experts.num_experts =
      keys.integer(find_family(config.family)->num_experts_key).value_or(defaults.num_experts);
  experts.num_experts_per_tok =
      keys.integer("num_experts_per_tok").value_or(defaults.num_experts_per_tok);
  experts.intermediate_size = config.intermediate_size;
  const double coef = keys.number("router_aux_loss_coef").value_or(defaults.aux_loss_coef);
  if (keys.boolean("output_router_logits", false)) experts.aux_loss_coef = coef;
  return experts;
}

}  // namespace lime
