// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "store/results/columns.h"
#include "viz/recipes/recipe.h"

namespace lime {
namespace {

using ::testing::HasSubstr;

/// Rows of six layers whose participation ratio is `ratios`, and a range.
FigureSource collapse_results(const std::vector<double>& ratios) {
  FigureSource source;
  source.path = "collapse.json";
  source.results.metric = "collapse";
  for (std::size_t layer = 0; layer < ratios.size(); ++layer) {
    const bool is_low = ratios[layer] < 10.0;
    ResultRow& row = source.results.rows.emplace_back();
    row.add({{col::kLabel, "model"},
             {col::kSite, "hidden"},
             {col::kLayer, layer},
             {col::kVerdict, is_low ? "massive tokens" : "none"},
             {col::kMassiveShare, is_low ? 0.98 : 0.0},
             {col::kDimensionShare, 0.1},
             {col::kCommonShare, 0.2},
             {col::kIntraclass, 0.05},
             {col::kParticipation, ratios[layer]},
             {col::kParticipationWithoutTokens, 60.0},
             {col::kParticipationWithoutDimensions, ratios[layer]},
             {col::kParticipationRest, 60.0},
             {col::kSequenceEntropy, 4.0},
             {col::kSequenceEntropyWithout, 4.5}});
  }
  source.results.rows.push_back({{col::kLabel, "model"},
                                 {col::kSite, "hidden"},
                                 {col::kLayer, 0},
                                 {col::kKind, "range"},
                                 {col::kVerdict, "none"}});
  return source;
}

const Curve& first_curve(const Figure& figure, std::size_t panel) {
  return std::get<CurvePanel>(figure.panels.at(panel).content).curves.front();
}

TEST(CollapseFigureTest, MarksTheCliffAndNamesItsCause) {
  const std::vector<FigureSource> sources = {collapse_results({60, 65, 1, 1, 5, 50})};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 3U);
  EXPECT_EQ(first_curve(figure, 1).stars, (std::vector<std::string>{"", "", "cliff", "", "", ""}));
  EXPECT_THAT(figure.note,
              HasSubstr("cliff at layer 3, the participation ratio falls: massive tokens"));
  EXPECT_TRUE(figure.panels[1].y.logarithmic);
}

TEST(CollapseFigureTest, MarksNothingWithoutACliff) {
  const Figure figure =
      make_figure(std::vector<FigureSource>{collapse_results({60, 65, 50, 40})}, {});
  EXPECT_TRUE(first_curve(figure, 1).stars.empty());
  EXPECT_EQ(figure.note.find("cliff"), std::string::npos);
}

}  // namespace
}  // namespace lime
