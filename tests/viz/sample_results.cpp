// SPDX-License-Identifier: Apache-2.0
#include "viz/sample_results.h"

#include <cmath>

namespace lime::testing {

FigureSource sample_entropy(int layers) {
  FigureSource source{"entropy.json", {}};
  source.results.metric = "entropy";
  source.results.provenance["created_utc"] = "2026-11-21T04:10:33Z";
  for (const char* const label : {"LLaMA", "LIMe"}) {
    for (const char* const site : {"values", "hidden"}) {
      for (int l = 0; l < layers; ++l) {
        const double mean = (label[1] == 'L' ? 2.0 : 2.5) + 0.1 * std::sin(l);
        source.results.rows.push_back({{"label", label},
                                       {"site", site},
                                       {"layer", l},
                                       {"alpha", 0.5},
                                       {"mean", mean},
                                       {"ci_low", mean - 0.05},
                                       {"ci_high", mean + 0.05},
                                       {"ceiling", std::log(32.0)},
                                       {"unit", "nats"}});
      }
    }
  }
  return source;
}

FigureSource sample_router(int layers, int heads) {
  FigureSource source{"router.json", {}};
  source.results.metric = "router";
  auto& rows = source.results.rows;
  for (int l = 1; l < layers; ++l) {
    for (int j = 0; j <= l; ++j) {
      const double share = 1.0 / (l + 1);
      rows.push_back({{"kind", "mean_map"},
                      {"label", "LIMe"},
                      {"layer", l},
                      {"weighting", "none"},
                      {"source_layer", j},
                      {"weight", share}});
      for (int h = 0; h < heads; ++h) {
        rows.push_back({{"kind", "head_map"},
                        {"label", "LIMe"},
                        {"layer", l},
                        {"weighting", "none"},
                        {"head", h},
                        {"source_layer", j},
                        {"weight", share}});
        for (int k = 0; k < heads; ++k) {
          rows.push_back({{"kind", "weight"},
                          {"label", "LIMe"},
                          {"layer", l},
                          {"head", h},
                          {"source_layer", j},
                          {"source_head", k},
                          {"weight", h == k ? 0.5 : -0.25}});
        }
      }
    }
  }
  return source;
}

}  // namespace lime::testing
