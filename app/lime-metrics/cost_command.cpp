// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/cost_analysis.h"
#include "commands.h"

namespace lime {

void add_cost_command(MetricCommands& commands) {
  commands.add<CostAnalysisOptions>(
      {.name = "cost",
       .description = "Parameters, operations and key-value cache size of decoders.\n"
                      "Operations are counted as in the LIMe paper's code: multiply-accumulates of "
                      "one forward pass over one sequence, including the logits.",
       .progress_unit = "decoders",
       .examples =
           "lime-metrics cost data/aet-llama data/aet-lime\n"
           "lime-metrics cost config.json --sequence-length 512,2048,8192 --dtype bfloat16\n"
           "lime-metrics cost base.json --decoder llama,lime,denseformer,hyper_connections "
           "--num-key-value-heads 8,32 --format latex",
       .prepare = prepare_cost,
       .has_samples = false});
}

}  // namespace lime
