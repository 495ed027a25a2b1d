// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "metric_commands.h"

namespace lime {

// One function per command of lime-metrics, each in its own file; docs/architecture.md ("A new
// measurement") has the recipe.

void add_attention_command(MetricCommands& commands);
void add_blimp_command(MetricCommands& commands);
void add_cost_command(MetricCommands& commands);
void add_counterfactual_command(MetricCommands& commands);
void add_entropy_command(MetricCommands& commands);
void add_geometry_command(MetricCommands& commands);
void add_router_command(MetricCommands& commands);
void add_separability_command(MetricCommands& commands);
void add_similarity_command(MetricCommands& commands);
void add_tokens_command(MetricCommands& commands);
void add_tsne_command(MetricCommands& commands);

}  // namespace lime
