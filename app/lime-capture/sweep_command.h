// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../lime-metrics/metric_commands.h"

namespace lime {

/// Adds `sweep`: the effect of interventions on the loss, as a results file.
void add_sweep_command(MetricCommands& commands);

}  // namespace lime
