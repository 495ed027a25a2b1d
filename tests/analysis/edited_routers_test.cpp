// SPDX-License-Identifier: Apache-2.0
#include "analysis/edited_routers.h"

#include <gtest/gtest.h>

namespace lime {
namespace {

/// Edits of every kind, some of which share routes.
std::vector<RouterEdit> some_edits() {
  return {{.layer = 2, .head = {}, .source = {}, .source_head = {}, .scale = 0.5},
          {.layer = {}, .head = {}, .source = 0, .source_head = {}, .scale = 3.0},
          {.layer = 3, .head = 1, .source = 2, .source_head = 0, .scale = 0.0},
          {.layer = {}, .head = 0, .source = {}, .source_head = 1, .scale = -1.0},
          {.layer = 1, .head = {}, .source = 3, .source_head = {}, .scale = 7.0}};
}

TEST(EditedRoutersTest, ScaleEveryWeightByTheProductOfTheEditsThatNameIt) {
  const std::vector<RouterEdit> edits = some_edits();
  Routers routers = Routers::identity(4, 2);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    for (Eigen::Index i = 0; i < routers.weights[layer].size(); ++i) {
      routers.weights[layer].data()[i] = 1.0 + static_cast<double>(i);
    }
  }
  const Routers edited = edited_routers(routers, edits);
  EXPECT_EQ(edited.weights[0], routers.weights[0]) << "layer 0 has no router";
  for (std::int64_t layer = 1; layer < 4; ++layer) {
    const MatrixD scales = edit_scales(edits, layer, 2);
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t column = 0; column < 2 * (layer + 1); ++column) {
        const double scale = edited_scale(edits, layer, head, column / 2, column % 2);
        EXPECT_EQ(scales(head, column), scale);
        const auto at = static_cast<std::size_t>(layer);
        EXPECT_EQ(edited.weights[at](head, column), scale * routers.weights[at](head, column));
      }
    }
  }
}

TEST(EditedRoutersTest, CountTheWeightsOfAnEdit) {
  for (const RouterEdit& edit : some_edits()) {
    std::int64_t count = 0;
    for (std::int64_t layer = 1; layer < 4; ++layer) {
      for (std::int64_t head = 0; head < 2; ++head) {
        for (std::int64_t column = 0; column < 2 * (layer + 1); ++column) {
          count += edit.names(layer, head, column / 2, column % 2) ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(num_edited_weights(edit, 4, 2), count);
  }
}

}  // namespace
}  // namespace lime
