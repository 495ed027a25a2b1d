// SPDX-License-Identifier: Apache-2.0
#include "analysis/similarity/similarity_analysis.h"
#include "commands.h"

namespace lime {

void add_similarity_command(MetricCommands& commands) {
  commands.add<SimilarityAnalysisOptions>(
      {.name = "similarity",
       .description = "Similarity of layers within one model or between two models, as heatmaps.\n"
                      "Linear CKA, biased and debiased, and the orthogonal Procrustes distance. "
                      "Two captures must contain the same tokens.",
       .progress_unit = "pairs of layers",
       .examples = "lime-metrics similarity --site hidden\n"
                   "lime-metrics similarity llama.h5 lime.h5 --maps between --site values\n"
                   "lime-metrics similarity --show procrustes --max-rows 8192 -o maps.json\n"
                   "lime-metrics similarity llama.h5 lime.h5 --jackknife 10 --compare first",
       .prepare = prepare_similarity});
}

}  // namespace lime
