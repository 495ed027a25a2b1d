// SPDX-License-Identifier: Apache-2.0
#include "analysis/attention/attention_analysis.h"
#include "commands.h"

namespace lime {

void add_attention_command(MetricCommands& commands) {
  commands.add<AttentionOptions>(
      {.name = "attention",
       .description =
           "Attention patterns per layer and head.\n"
           "Summaries over all sequences: entropy, "
           "distance, and the fraction of attention on the first, the previous and the query "
           "token. With --sequence: the whole pattern of one sequence; with --query also the "
           "buffered layers that a token reads through the routers.",
       .progress_unit = "sequences",
       .examples = "lime-metrics attention\n"
                   "lime-metrics attention llama.h5 lime.h5 --label LLaMA LIMe --compare first\n"
                   "lime-metrics attention lime.h5 --sequence 3 --layer 2 --head 0,1 "
                   "--checkpoint data/aet-lime -o attention.json\n"
                   "lime-figure attention.json -o attention.pdf",
       .prepare = prepare_attention});
}

}  // namespace lime
