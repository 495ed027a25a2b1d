// SPDX-License-Identifier: Apache-2.0
#include "analysis/counterfactual/counterfactual_analysis.h"
#include "commands.h"

namespace lime {

void add_counterfactual_command(MetricCommands& commands) {
  commands.add<CounterfactualAnalysisOptions>(
      {.name = "counterfactual",
       .description =
           "Routed values under counterfactual routers, computed from one capture.\n"
           "Routing is linear, so the routed values under any router follow from the captured "
           "values of all layers, without running the model. With the capture of a plain "
           "transformer, splits the gap between the two models into better projections and mixing.",
       .progress_unit = "sequences",
       .examples =
           "lime-metrics counterfactual lime.h5\n"
           "lime-metrics counterfactual lime.h5 --against llama.h5 --label LIMe LLaMA -o c.json\n"
           "lime-metrics counterfactual lime.h5 --router identity,cut --layer 8-15\n"
           "lime-metrics counterfactual lime.h5 --router random,permuted --draws 20 --alpha "
           "0.5,1,2",
       .prepare = prepare_counterfactual});
}

}  // namespace lime
