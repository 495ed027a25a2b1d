// SPDX-License-Identifier: Apache-2.0
#include "analysis/tsne/tsne_analysis.h"
#include "commands.h"

namespace lime {

void add_tsne_command(MetricCommands& commands) {
  commands.add<TsneAnalysisOptions>(
      {.name = "tsne",
       .description = "Embeds the representations in two dimensions with t-SNE.\n"
                      "Prints divergence and trustworthiness per layer; the coordinates are "
                      "written to NAME.embeddings.h5 (or .csv) next to the output.",
       .progress_unit = "iterations",
       .examples =
           "lime-metrics tsne words.h5 --layer 2,4,7,12,15 -o tsne.json\n"
           "lime-metrics tsne llama.h5 lime.h5 --class is,are,was,were --max-per-class 1668 "
           "-o tsne.json -o tsne.csv\n"
           "lime-metrics tsne numbers.h5 --class 1,2,3,4 --perplexity 15 -o near.json\n"
           "lime-metrics tsne words.h5 --align -o aligned.json\n"
           "lime-metrics tsne llama.h5 lime.h5 --compare first",
       .prepare = prepare_tsne});
}

}  // namespace lime
