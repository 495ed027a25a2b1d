// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention_analysis.h"
#include "commands.h"

namespace lime {

void add_attention_command(MetricCommands& commands) {
  commands.add<AttentionOptions>(
      {.name = "attention",
       .description =
           "What tokens attend to, per layer and head: entropy, distance, and shares on the first, "
           "the previous and the own token over all sequences; or the whole pattern of one "
           "sequence, and which buffered layers a token reads through the routers.",
       .progress_unit = "sequences",
       .examples = "lime-metrics attention\n"
                   "lime-metrics attention llama.h5 lime.h5 --label LLaMA LIMe --compare first\n"
                   "lime-metrics attention lime.h5 --sequence 3 --layer 2 --head 0,1 "
                   "--checkpoint data/aet-lime -o attention.json\n"
                   "lime-figure attention.json -o attention.pdf",
       .prepare = prepare_attention});
}

}  // namespace lime
