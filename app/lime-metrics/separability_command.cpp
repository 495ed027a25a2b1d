// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability_analysis.h"
#include "commands.h"

namespace lime {

void add_separability_command(MetricCommands& commands) {
  commands.add<SeparabilityOptions>(
      {.name = "separability",
       .description =
           "How well a linear classifier tells words apart by their representations, layer by "
           "layer.\n"
           "At 1 a plane separates them; at the share of the commonest word (`majority`) nothing "
           "can be read off. The captures are those of lime-capture --only ' is, are, was, were'.",
       .progress_unit = "layers",
       .examples =
           "lime-metrics separability words.h5\n"
           "lime-metrics separability llama.h5 lime.h5 --site values --method both\n"
           "lime-metrics separability words.h5 --group sequence --control shuffled,sequence\n"
           "lime-metrics separability words.h5 --c 0.01,0.1,1 -o separability.json",
       .prepare = prepare_separability});
}

}  // namespace lime
