// SPDX-License-Identifier: Apache-2.0
#include "analysis/tokens_analysis.h"
#include "commands.h"

namespace lime {

void add_tokens_command(MetricCommands& commands) {
  commands.add<TokensOptions>(
      {.name = "tokens",
       .description =
           "One sequence token by token and layer by layer: norm, cosine with the next token, and "
           "by how much the sequence's entropy falls where the token is left out.",
       .progress_unit = "layers",
       .examples = "lime-metrics tokens --sequence 3 --site hidden\n"
                   "lime-metrics tokens llama.h5 lime.h5 --label LLaMA LIMe --sequence 3 "
                   "--checkpoint data/aet-lime -o tokens.json\n"
                   "lime-figure tokens.json --measure next_cosine -o tokens.pdf",
       .prepare = prepare_tokens});
}

}  // namespace lime
