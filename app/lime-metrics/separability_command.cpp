// SPDX-License-Identifier: Apache-2.0
#include "analysis/separability/separability_analysis.h"
#include "commands.h"

namespace lime {

void add_separability_command(MetricCommands& commands) {
  commands.add<SeparabilityOptions>(
      {.name = "separability",
       .description =
           "Accuracy of a linear classifier that separates words by their representations, layer "
           "by layer.\n"
           "At 1 the words are linearly separable; at the majority baseline (`majority`) nothing "
           "is decodable. Expects captures made with lime-capture --only ' is, are, was, were'.",
       .progress_unit = "layers",
       .examples =
           "lime-metrics separability words.h5\n"
           "lime-metrics separability llama.h5 lime.h5 --site values --method both\n"
           "lime-metrics separability words.h5 --group sequence --control shuffled,sequence\n"
           "lime-metrics separability words.h5 --c 0.01,0.1,1 -o separability.json",
       .prepare = prepare_separability});
}

}  // namespace lime
