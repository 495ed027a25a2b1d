// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/collapse_figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "store/results/columns.h"
#include "viz/figure_file.h"
#include "viz/figure_pgfplots.h"
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
                                 {col::kLastLayer, 1},
                                 {col::kVerdict, "none"}});
  source.results.rows.push_back({{col::kLabel, "model"},
                                 {col::kSite, "hidden"},
                                 {col::kLayer, 2},
                                 {col::kKind, "range"},
                                 {col::kLastLayer, 4},
                                 {col::kVerdict, "massive tokens"}});
  return source;
}

const Curve& first_curve(const Figure& figure, std::size_t panel) {
  return std::get<CurvePanel>(figure.panels.at(panel).content).curves.front();
}

TEST(CollapseFigureTest, DrawsEveryNameOfTheSharedLegendInItsOwnColour) {
  const Figure figure =
      make_figure(std::vector<FigureSource>{collapse_results({60, 65, 1, 1})}, {});
  std::map<std::size_t, std::string> names;
  for (const FigurePanel& panel : figure.panels) {
    for (const Curve& curve : std::get<CurvePanel>(panel.content).curves) {
      EXPECT_EQ(names.try_emplace(curve.style.colour, curve.label).first->second, curve.label);
    }
  }
  EXPECT_EQ(names.size(), 8U);
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

TEST(CollapseFigureTest, AChangeBetweenLayersWithoutACauseIsNoCliff) {
  const Figure figure =
      make_figure(std::vector<FigureSource>{collapse_results({20, 65, 60, 15})}, {});
  EXPECT_TRUE(first_curve(figure, 1).stars.empty());
}

TEST(CollapseFigureTest, AnUndecidedCauseIsNoCliff) {
  FigureSource source = collapse_results({60, 65, 1, 1});
  const auto stars = [&](const std::string& verdict, bool is_certain) {
    for (ResultRow& row : source.results.rows) {
      row.set(col::kVerdict, verdict).set(col::kCertain, is_certain);
    }
    return first_curve(make_figure(std::vector{source}, {}), 1).stars;
  };
  EXPECT_TRUE(stars("outlier dimensions (undecided)", false).empty());
  EXPECT_TRUE(stars("none", false).empty());
  EXPECT_FALSE(stars("massive tokens, outlier dimensions (undecided)", true).empty());
}

TEST(CollapseFigureTest, MarksRangesOfOtherCurves) {
  const Results results = collapse_results({60, 65, 1, 1, 5, 50}).results;
  Figure figure;
  figure.panels.push_back({.content = CurvePanel()});
  mark_collapse(figure, results, "model", "hidden", 1);
  const std::vector<RangeMark>& marks = std::get<CurvePanel>(figure.panels[0].content).ranges;
  ASSERT_EQ(marks.size(), 2U);  // not the range without a cause
  EXPECT_EQ(marks[0].label, "A");
  EXPECT_EQ(marks[0].name, "massive tokens");
  EXPECT_EQ(marks[0].whole_label(), "A: massive tokens");
  EXPECT_EQ(marks[0].low, 2.5);
  EXPECT_EQ(marks[0].high, 5.5);
  EXPECT_EQ(marks[1].label, "cliff");
  EXPECT_THAT(figure.note, HasSubstr("A: massive tokens"));
  EXPECT_THAT(figure.note,
              HasSubstr("cliff at layer 3, the participation ratio falls: massive tokens"));
  EXPECT_EQ(marks[1].low, 2.5);
  EXPECT_TRUE(marks[1].is_line());
  Figure other;
  other.panels.push_back({.content = CurvePanel()});
  mark_collapse(other, results, "model", "values", 1);
  EXPECT_TRUE(std::get<CurvePanel>(other.panels[0].content).ranges.empty());
}

TEST(CollapseFigureTest, WritesMarksToTextFiles) {
  Figure figure = make_figure(std::vector<FigureSource>{collapse_results({60, 65, 1, 1})}, {});
  std::get<CurvePanel>(figure.panels[1].content).ranges = {
      {.low = 1.5, .high = 3.5, .label = "massive_tokens"},
      {.low = 1.5, .high = 1.5, .label = "cliff"}};
  const std::string tex = figure_to_pgfplots(figure, {});
  EXPECT_THAT(tex,
              HasSubstr("\\fill[gray, fill opacity=0.12] ({axis cs:1.5,60}|-{rel axis cs:0,0}) "
                        "rectangle ({axis cs:3.5,60}|-{rel axis cs:0,1});"));
  EXPECT_THAT(tex, HasSubstr("{massive\\_tokens};"));
  EXPECT_THAT(tex, HasSubstr("\\draw[gray, dashed] ({axis cs:1.5,60}|-{rel axis cs:0,0}) -- "
                             "({axis cs:1.5,60}|-{rel axis cs:0,1});"));
  EXPECT_THAT(figure_to_csv(figure), HasSubstr("massive_tokens,3.5,"));
}

}  // namespace
}  // namespace lime
