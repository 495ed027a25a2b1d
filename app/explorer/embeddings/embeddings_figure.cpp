// SPDX-License-Identifier: Apache-2.0
#include "explorer/embeddings/embeddings_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lime::explorer {
namespace {

constexpr int kBins = 8;  // of positions and sequences, in figures: more than groups have colours

}  // namespace

Figure embeddingsFigure(const EmbeddingSet& set, const EmbeddingGroups& groups,
                        const std::string& site, int layer, int layer_base) {
  Figure figure;
  figure.name = "embeddings";
  for (std::size_t m = 0; m < set.models.size(); ++m) {
    const MatrixF* const points = set.models[m].coordinates(site, layer);
    if (points == nullptr) continue;
    ScatterPanel embedding;
    for (Eigen::Index i = 0; i < points->rows(); ++i) {
      embedding.x.push_back((*points)(i, 0));
      embedding.y.push_back((*points)(i, 1));
    }
    embedding.class_names = groups.names;
    if (groups.names.empty()) {
      for (int bin = 0; bin < kBins; ++bin) {
        embedding.class_names.push_back(bin == 0           ? "first"
                                        : bin == kBins - 1 ? "last"
                                                           : fmt::format("{}/{}", bin + 1, kBins));
      }
      for (const double fraction : groups.fraction[m]) {
        embedding.classes.push_back(std::min(kBins - 1, static_cast<int>(kBins * fraction)));
      }
    } else {
      embedding.classes = groups.group[m];
    }
    FigurePanel panel;
    panel.title =
        set.models[m].label.toStdString() + ", layer " + std::to_string(layer + layer_base);
    panel.x = {.hides_numbers = true};
    panel.y = {.hides_numbers = true};
    panel.content = std::move(embedding);
    figure.panels.push_back(std::move(panel));
  }
  figure.columns = std::max(1, static_cast<int>(figure.panels.size()));
  figure.panel_aspect = 1.0;
  figure.is_wide = figure.columns >= 2;
  return figure;
}

}  // namespace lime::explorer
