// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp_analysis.h"
#include "commands.h"

namespace lime {

void add_blimp_command(MetricCommands& commands) {
  commands.add<BlimpOptions>(
      {.name = "blimp",
       .description =
           "Accuracy on minimal pairs, task by task: of linear probes per layer, or zero-shot.\n"
           "Probes ask whether a layer tells good from bad sentences (chance is 0.5); --zero-shot "
           "whether the model finds the good sentence likelier.",
       .progress_unit = "tasks",
       .examples =
           "lime-metrics blimp blimp.h5\n"
           "lime-metrics blimp llama.h5 lime.h5 --task lime-paper --by task --format latex\n"
           "lime-metrics blimp blimp.h5 --site values --layer 8-15 --control -o probes.json\n"
           "lime-metrics blimp --zero-shot scored.h5 --by task --judgements judged.jsonl",
       .prepare = prepare_blimp});
}

}  // namespace lime
