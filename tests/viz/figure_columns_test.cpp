// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "viz/figure.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::sample_entropy;
using testing::sample_router;

TEST(FigureColumnsTest, NarrowFiguresHaveFewerPanelsSideBySide) {
  FigureSource entropy = sample_entropy(4);
  for (ResultRow row : std::vector<ResultRow>(entropy.results.rows)) {
    row.set(col::kSite, "routed_" + row.text(col::kSite));
    entropy.results.rows.push_back(row);
  }
  std::erase_if(entropy.results.rows,
                [](const ResultRow& row) { return row.cell(col::kSite) == "routed_hidden"; });
  const std::vector<FigureSource> sources = {entropy};
  const Figure figure = make_figure(sources, {});
  ASSERT_EQ(figure.columns, 3);
  EXPECT_EQ(with_fitting_columns(figure, {}).columns, 3);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "100"}).columns, 2);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "acl-column"}).columns, 1);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "77x40"}).columns, 3) << "the height is fixed";
  FigureSource geometry = testing::sample_geometry(4);
  for (ResultRow row : std::vector<ResultRow>(geometry.results.rows)) {
    row.set(col::kSite, "values");
    geometry.results.rows.push_back(row);
  }
  const Figure many =
      make_figure(std::vector<FigureSource>{geometry}, {.site = {"hidden", "values"}});
  ASSERT_EQ(many.panels.size(), 6U);
  EXPECT_EQ(with_fitting_columns(many, {.size = "acl-column"}).columns, 2);
  const Figure chosen = make_figure(sources, {.columns = 3});
  EXPECT_EQ(with_fitting_columns(chosen, {.size = "acl-column"}).columns, 3);
}

TEST(FigureColumnsTest, LabelsStayAtTheEdgesOfANarrowSheet) {
  const Figure wide =
      make_figure(std::vector<FigureSource>{sample_router(24, 2)}, {.kind = "router-heads"});
  ASSERT_EQ(wide.columns, 5);
  const Figure narrow = with_fitting_columns(wide, {.size = "acl-column"});
  ASSERT_EQ(narrow.columns, 3);
  EXPECT_EQ(narrow.panels.at(3).y.label, "head");
  EXPECT_EQ(narrow.panels.at(5).y.label, "");
  EXPECT_EQ(narrow.panels.at(18).x.label, "");
  EXPECT_EQ(narrow.panels.at(20).x.label, "buffered layer");
}

TEST(FigureColumnsTest, StepsAreRound) {
  EXPECT_EQ(round_step(512, 10), 100);
  EXPECT_EQ(round_step(20, 4), 5);
}

TEST(FigureColumnsTest, ManyLayersHaveRoundTicks) {
  const Figure map = make_figure(std::vector<FigureSource>{sample_router(128, 1)}, {});
  const std::vector<AxisTick>& ticks = map.panels.at(0).x.ticks;
  ASSERT_EQ(ticks.size(), 7U);
  EXPECT_EQ(ticks[1].label, "20");
  const Figure heads =
      make_figure(std::vector<FigureSource>{sample_router(20, 2)}, {.kind = "router-heads"});
  // Labels are only at the outer edges.
  EXPECT_EQ(heads.panels.at(0).x.label, "");
  EXPECT_EQ(heads.panels.at(0).y.label, "head");
  EXPECT_EQ(heads.panels.at(1).y.label, "");
  EXPECT_EQ(heads.panels.back().x.label, "buffered layer");
}

}  // namespace
}  // namespace lime
