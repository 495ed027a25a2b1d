// SPDX-License-Identifier: Apache-2.0
#include "analysis/entropy/entropy_analysis.h"
#include "commands.h"

namespace lime {

void add_entropy_command(MetricCommands& commands) {
  commands.add<EntropyAnalysisOptions>(
      {.name = "entropy",
       .description =
           "Matrix-based Renyi entropy of the representations per layer.\n"
           "Near 0, all tokens of a sequence are collinear (representation collapse). At the "
           "ceiling, ln min(tokens, dim), they spread evenly over all dimensions.\n"
           "Site values is the output of W_V. The LIMe code instead measures the values after the "
           "router; use --site paper for these: routed_values of a LIMe, values of a LLaMA.",
       .progress_unit = "sequences",
       .examples =
           "lime-metrics entropy --layer all\n"
           "lime-metrics entropy llama.h5 lime.h5 --label LLaMA LIMe --site values,hidden\n"
           "lime-metrics entropy --layer 0,3,8-15 --alpha 0.5,1,2,inf --format csv\n"
           "lime-metrics entropy llama.h5 lime.h5 -o entropy.json -o entropy.csv -o entropy.tex\n"
           "lime-metrics entropy llama.h5 lime.h5 --site paper --compare first\n"
           "lime-metrics entropy llama.h5 lime.h5 --site paper --summary layers --format latex\n"
           "lime-metrics entropy untrained.h5 trained.h5 --preset diff-erank",
       .prepare = prepare_entropy});
}

}  // namespace lime
