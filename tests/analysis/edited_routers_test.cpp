// SPDX-License-Identifier: Apache-2.0
#include "analysis/router/edited_routers.h"

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

bool names(const RouterEdit& edit, std::int64_t layer, std::int64_t head, std::int64_t column) {
  return edit.layer.value_or(layer) == layer && edit.head.value_or(head) == head &&
         edit.source.value_or(column / 2) == column / 2 &&
         edit.source_head.value_or(column % 2) == column % 2;
}

Routers edited_routers(Routers routers, const std::vector<RouterEdit>& edits) {
  for (std::int64_t layer = 1; layer < routers.num_layers(); ++layer) {
    MatrixD& weights = routers.weights[static_cast<std::size_t>(layer)];
    weights.array() *= edit_scales(RouteScales(edits), layer, weights.rows()).array();
  }
  return routers;
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
    const MatrixD scales = edit_scales(RouteScales(edits), layer, 2);
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t column = 0; column < 2 * (layer + 1); ++column) {
        double scale = 1.0;
        for (const RouterEdit& edit : edits) {
          if (names(edit, layer, head, column)) scale *= edit.scale;
        }
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
          count += names(edit, layer, head, column) ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(num_edited_weights(edit, 4, 2), count);
  }
}

/// Incrementally updated state must equal the state computed from scratch.
void expect_whole(const EditedRouters& edited) {
  const Routers whole = edited_routers(edited.trained().routers(), edited.edits());
  const MatrixD values = router_layer_values(whole, RouterQuantity::kSigned);
  const std::int64_t heads = whole.num_key_value_heads;
  for (std::int64_t layer = 0; layer < whole.num_layers(); ++layer) {
    const auto at = static_cast<std::size_t>(layer);
    const MatrixD scales = edit_scales(RouteScales(edited.edits()), layer, heads);
    EXPECT_EQ(edited.scales(layer), scales);
    for (std::int64_t source = 0; source <= layer; ++source) {
      // Sums of 4 weights below 20, at worst in another order.
      EXPECT_NEAR(edited.layer_values()(layer, source), values(layer, source), 1e-12);
      const auto block = scales.middleCols(source * heads, heads).array();
      const RouteState state = (block == 0.0).all()   ? RouteState::kOff
                               : (block == 1.0).all() ? RouteState::kOriginal
                                                      : RouteState::kScaled;
      EXPECT_EQ(edited.state(layer, source), state) << layer << " " << source;
      EXPECT_EQ(edited.weight(layer, 1, source, 0), whole.weights[at](1, source * heads));
    }
  }
}

TEST(EditedRoutersTest, AreKeptUpToDateEditByEdit) {
  Routers routers = Routers::identity(4, 2);
  for (std::size_t layer = 1; layer < 4; ++layer) {
    for (Eigen::Index i = 0; i < routers.weights[layer].size(); ++i) {
      routers.weights[layer].data()[i] = 1.0 + 0.7 * static_cast<double>(i);
    }
  }
  const auto trained = std::make_shared<const CheckpointRouters>(routers);
  EditedRouters edited(trained);
  expect_whole(edited);
  std::vector<RouterEdit> edits;
  for (const RouterEdit& edit : some_edits()) {
    edits.push_back(edit);
    edited.set_edits(edits);
    expect_whole(edited);
  }
  edits[1].scale = 0.0;
  edited.set_edits(edits);
  expect_whole(edited);
  edits.erase(edits.begin() + 1);
  edited.set_edits(edits);
  expect_whole(edited);
  edits.insert(edits.begin(), {.layer = 3, .head = {}, .source = 1, .source_head = {}, .scale = 2});
  edited.set_edits(edits);
  expect_whole(edited);
  // Equal edits, one of which is removed.
  edited.set_edits({edits[0], edits[0]});
  expect_whole(edited);
  edited.set_edits({edits[0]});
  expect_whole(edited);
  edited.set_edits({});
  EXPECT_EQ(edited.layer_values().row(3), trained->layer_values(RouterQuantity::kSigned).row(3))
      << "what is taken back is as it was, to the bit";
}

}  // namespace
}  // namespace lime
