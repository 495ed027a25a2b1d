// SPDX-License-Identifier: Apache-2.0
#include "analysis/tokens/tokens_analysis.h"
#include "commands.h"

namespace lime {

void add_tokens_command(MetricCommands& commands) {
  commands.add<TokensOptions>(
      {.name = "tokens",
       .description = "Statistics of each token of one sequence per layer.\n"
                      "Norm, cosine with the "
                      "next token, and contribution to the sequence's entropy: how much the "
                      "entropy falls if the token is omitted.",
       .progress_unit = "layers",
       .examples = "lime-metrics tokens --sequence 3 --site hidden\n"
                   "lime-metrics tokens llama.h5 lime.h5 --label LLaMA LIMe --sequence 3 "
                   "--checkpoint data/aet-lime -o tokens.json\n"
                   "lime-figure tokens.json --measure next_cosine -o tokens.pdf",
       .prepare = prepare_tokens});
}

}  // namespace lime
