// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/router_analysis.h"
#include "commands.h"

namespace lime {

void add_router_command(MetricCommands& commands) {
  commands.add<RouterAnalysisOptions>(
      {.name = "router",
       .description = "Router weights of a LIMe: heatmaps and statistics per layer and head.\n"
                      "|R| alone depends on the scale of the heads. With a capture of the "
                      "checkpoint, also prints the maps weighted by the scale of keys and values, "
                      "and the fraction that cancels out.",
       .progress_unit = "sequences",
       .examples = "lime-metrics router data/aet-lime\n"
                   "lime-metrics router data/aet-lime capture.h5 -o router.json -o router.csv\n"
                   "lime-metrics router run7/step-9000 --initial run7/step-0 --detail weights "
                   "--format json",
       .prepare = prepare_router,
       .has_samples = false});
}

}  // namespace lime
