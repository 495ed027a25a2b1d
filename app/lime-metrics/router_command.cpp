// SPDX-License-Identifier: Apache-2.0
#include "analysis/router_analysis.h"
#include "commands.h"

namespace lime {

void add_router_command(MetricCommands& commands) {
  commands.add<RouterAnalysisOptions>(
      {.name = "router",
       .description =
           "What the routers of a LIMe read: maps, shares and numbers per layer and head.\n"
           "|R| alone depends on how heads happen to be scaled; with a capture of the checkpoint "
           "stand beside it the maps weighted by what flows, and how much of it cancels out.",
       .progress_unit = "sequences",
       .examples = "lime-metrics router data/aet-lime\n"
                   "lime-metrics router data/aet-lime capture.h5 -o router.json -o router.csv\n"
                   "lime-metrics router run7/step-9000 --initial run7/step-0 --detail weights "
                   "--format json",
       .prepare = prepare_router,
       .has_samples = false});
}

}  // namespace lime
