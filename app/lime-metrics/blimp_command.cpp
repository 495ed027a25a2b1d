// SPDX-License-Identifier: Apache-2.0
#include "analysis/blimp/blimp_analysis.h"
#include "commands.h"

namespace lime {

void add_blimp_command(MetricCommands& commands) {
  commands.add<BlimpOptions>(
      {.name = "blimp",
       .description =
           "Accuracy on minimal pairs per task: linear probes per layer, or zero-shot.\n"
           "Probes classify the sentences as good or bad from one layer (chance is 0.5). "
           "--zero-shot tests whether the model assigns the good sentence a higher likelihood.",
       .progress_unit = "tasks",
       .examples =
           "lime-metrics blimp blimp.h5\n"
           "lime-metrics blimp llama.h5 lime.h5 --task lime-paper --by task --format latex\n"
           "lime-metrics blimp blimp.h5 --site values --layer 8-15 --control -o probes.json\n"
           "lime-metrics blimp --zero-shot scored.h5 --by task --judgements judged.jsonl",
       .prepare = prepare_blimp});
}

}  // namespace lime
