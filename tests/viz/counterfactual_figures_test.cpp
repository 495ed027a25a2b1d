// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "viz/figure_refusal.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::figure_refusal;
using ::testing::HasSubstr;

TEST(CounterfactualFiguresTest, ChangesNumberLayersAsTheAxes) {
  FigureSource source = testing::sample_counterfactual(4);
  for (ResultRow& row : source.results.rows) {
    if (row.has(col::kRouter) && row.cell(col::kRouter) == "unsigned")
      row.set(col::kRouter, "cut-0");
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source},
                                    {.kind = "counterfactual-change", .layer_base = 1});
  EXPECT_THAT(figure.note, HasSubstr("mean over layers from 2 on"));
  EXPECT_EQ(std::get<BarPanel>(figure.panels.at(0).content).groups.at(2), "cut-1");
}

TEST(CounterfactualFiguresTest, HasACurvePerRouterAndOneOfThePlainTransformer) {
  const std::vector<FigureSource> sources = {testing::sample_counterfactual(4)};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[1].y.label, "effective rank");
  const auto& panel = std::get<CurvePanel>(figure.panels[0].content);
  ASSERT_EQ(panel.curves.size(), 6U);
  EXPECT_EQ(panel.curves[1].label, "identity");
  EXPECT_EQ(panel.curves[1].x, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(panel.curves[1].y[1], 2.2);
  EXPECT_EQ(panel.curves[4].style.colour, kMutedColour);  // random, a control
  EXPECT_EQ(panel.curves[5].label, "LLaMA");
  ASSERT_EQ(panel.references.size(), 1U);
  EXPECT_EQ(panel.references[0].label, "ceiling");
  const Figure some = make_figure(sources, {.measure = {"entropy"}, .router = {"trained"}});
  EXPECT_EQ(std::get<CurvePanel>(some.panels.at(0).content).curves.size(), 2U);
  EXPECT_THAT(
      figure_refusal(sources, {.router = {"best"}}),
      HasSubstr("no router 'best' (their routers: trained, identity, last-2, unsigned, random)"));
}

TEST(CounterfactualFiguresTest, ChangesHaveABarPerRouter) {
  const std::vector<FigureSource> sources = {testing::sample_counterfactual(4)};
  const Figure figure = make_figure(sources, {.kind = "counterfactual-change"});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& bars = std::get<BarPanel>(figure.panels[0].content);
  EXPECT_EQ(bars.groups, (std::vector<std::string>{"identity", "last-2", "unsigned", "random"}));
  EXPECT_DOUBLE_EQ(bars.series.at(0).values[2], -0.3);
  EXPECT_DOUBLE_EQ(bars.series.at(0).low[2], -0.34);
}

TEST(CounterfactualFiguresTest, EntropyHasAPanelPerPresetAndOrder) {
  FigureSource source = testing::sample_counterfactual(3);
  source.results.options["preset"] = "lime-code";
  for (ResultRow row : std::vector<ResultRow>(source.results.rows)) {
    if (row.cell(col::kQuantity) != "entropy") continue;
    row.set(col::kAlpha, 2.0);
    source.results.rows.push_back(row);
  }
  FigureSource raw = source;
  raw.results.options["preset"] = "raw";
  for (const char* const kind : {"counterfactual", "counterfactual-change", "counterfactual-gap"}) {
    SCOPED_TRACE(kind);
    const Figure figure = make_figure(std::vector<FigureSource>{source}, {.kind = kind});
    ASSERT_EQ(figure.panels.size(), 3U);
    EXPECT_EQ(figure.panels[0].title, "\xCE\xB1 = 0.5");
    EXPECT_EQ(figure.panels[1].title, "\xCE\xB1 = 2");
    EXPECT_EQ(figure.panels[2].title, "");
    EXPECT_THAT(figure.note, HasSubstr("; site: values; entropy: preset lime-code"));
    const Figure both = make_figure(std::vector<FigureSource>{source, raw}, {.kind = kind});
    ASSERT_EQ(both.panels.size(), 6U);
    EXPECT_EQ(both.panels[3].title, "raw, \xCE\xB1 = 2");
    EXPECT_EQ(both.panels[5].title, "raw") << "an effective rank has no order";
    EXPECT_THAT(figure_refusal({source, source}, {.kind = kind}), HasSubstr(" of LIMe"));
    EXPECT_THAT(figure_refusal({source, source}, {.kind = kind}), HasSubstr(" is duplicated"));
  }
}

TEST(CounterfactualFiguresTest, TheGapIsShownWithItsParts) {
  const std::vector<FigureSource> sources = {testing::sample_counterfactual(4)};
  const Figure figure = make_figure(sources, {.kind = "counterfactual-gap"});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& curves = std::get<CurvePanel>(figure.panels[0].content).curves;
  ASSERT_EQ(curves.size(), 3U);
  for (std::size_t l = 0; l < 4; ++l) {
    EXPECT_NEAR(curves[0].y[l], curves[1].y[l] + curves[2].y[l], 1e-12);
  }
  FigureSource alone = sources.front();
  std::erase_if(alone.results.rows, [](const ResultRow& row) { return row.has(col::kPart); });
  EXPECT_THAT(figure_refusal({alone}, {.kind = "counterfactual-gap"}), HasSubstr("with --against"));
}

}  // namespace
}  // namespace lime
