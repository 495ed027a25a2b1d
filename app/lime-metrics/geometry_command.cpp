// SPDX-License-Identifier: Apache-2.0
#include "analysis/geometry/geometry_analysis.h"
#include "commands.h"

namespace lime {

void add_geometry_command(MetricCommands& commands) {
  commands.add<GeometryAnalysisOptions>(
      {.name = "geometry",
       .description = "Geometry of the representations per layer: ranks, similarity, curvature, "
                      "massive activations, intrinsic dimension.\n"
                      "Ranks: effective rank, RankMe, participation ratio, stable and numerical "
                      "rank. Similarity: anisotropy, rank-one residual. Intrinsic dimension: "
                      "TwoNN, maximum likelihood.",
       .progress_unit = "sequences",
       .examples = "lime-metrics geometry --layer all\n"
                   "lime-metrics geometry llama.h5 lime.h5 --site hidden --compare first\n"
                   "lime-metrics geometry --measure rank --ranks both --rankme stable-pretraining\n"
                   "lime-metrics geometry --measure dimension --neighbor-rows 20000 --k 10\n"
                   "lime-metrics geometry --measure lidar -o lidar.json",
       .prepare = prepare_geometry});
}

}  // namespace lime
