// SPDX-License-Identifier: Apache-2.0
// Results of one model with and without some rows, and other curves over layers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "viz/figure_refusal.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::figure_refusal;
using ::testing::HasSubstr;

std::vector<std::string> curves_of(const FigurePanel& panel) {
  std::vector<std::string> labels;
  for (const Curve& curve : std::get<CurvePanel>(panel.content).curves) {
    labels.push_back(curve.label);
  }
  return labels;
}

TEST(RepeatedLabelsTest, ResultsWithAndWithoutMassiveTokensShareAPanel) {
  FigureSource all = testing::sample_entropy();
  FigureSource without = testing::sample_entropy();
  without.results.options["skip_massive"] = 4.0;
  without.results.options["skip_tokens"] = 1;
  const Figure figure = make_figure(std::vector<FigureSource>{all, without}, {.site = {"hidden"}});
  ASSERT_EQ(figure.panels.size(), 1U);
  EXPECT_THAT(curves_of(figure.panels[0]),
              ::testing::ElementsAre("LLaMA", "LIMe",
                                     "LLaMA, without the first token, without massive tokens",
                                     "LIMe, without the first token, without massive tokens"));
  // One file alone keeps its labels, and the same options twice are refused as before.
  EXPECT_THAT(
      curves_of(make_figure(std::vector<FigureSource>{without}, {.site = {"hidden"}}).panels.at(0)),
      ::testing::ElementsAre("LLaMA", "LIMe"));
  EXPECT_THAT(figure_refusal({without, without}), HasSubstr("is duplicated"));
}

FigureSource changes_between_layers() {
  FigureSource source;
  source.results.metric = "similarity";
  for (const std::string site : {"hidden", "hook_resid_pre"}) {
    for (int layer = 0; layer < 4; ++layer) {
      for (int other = layer + 1; other < 4; ++other) {
        source.results.rows.push_back(
            {{col::kLabel, "LLaMA"},
             {col::kOtherLabel, "LLaMA"},
             {col::kSite, site},
             {col::kLayer, layer},
             {col::kOtherLayer, other},
             {col::kInfluence, (site == "hidden" ? 0.1 : 0.5) * (other - layer) + 0.01 * layer},
             {col::kInfluence.low, 0.0},
             {col::kInfluence.high, 1.0}});
      }
    }
  }
  return source;
}

TEST(InfluenceFigureTest, HasAPointPerBlockAndBeginsWithBlockZero) {
  FigureSource source = changes_between_layers();
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {.kind = "influence"});
  ASSERT_EQ(figure.panels.size(), 1U);
  const Curve& curve = std::get<CurvePanel>(figure.panels[0].content).curves.at(0);
  EXPECT_EQ(curve.x, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_THAT(curve.y, ::testing::ElementsAre(0.5, 0.1, ::testing::DoubleNear(0.11, 1e-12),
                                              ::testing::DoubleNear(0.12, 1e-12)))
      << "block 0 from its input";
  EXPECT_EQ(figure.panels[0].x.label, "block");
  EXPECT_THAT(figure.note, ::testing::Not(HasSubstr("block 0")));
  std::erase_if(source.results.rows,
                [](const ResultRow& row) { return row.text(col::kSite) != "hidden"; });
  const Figure outputs = make_figure(std::vector<FigureSource>{source}, {.kind = "influence"});
  EXPECT_EQ(std::get<CurvePanel>(outputs.panels[0].content).curves.at(0).x,
            (std::vector<double>{1, 2, 3}));
  EXPECT_THAT(outputs.note, HasSubstr("block 0 needs the site hook_resid_pre"));
}

TEST(AttentionLayersFigureTest, ShowsTheSinkRate) {
  FigureSource source;
  source.results.metric = "attention";
  for (int layer = 0; layer < 3; ++layer) {
    source.results.rows.push_back({{col::kLabel, "LLaMA"},
                                   {col::kKind, "layer"},
                                   {col::kLayer, layer},
                                   {col::kMeasure, "sink_rate"},
                                   {col::kMean, 0.25 * layer}});
  }
  const Figure figure =
      make_figure(std::vector<FigureSource>{source}, {.kind = "attention-layers"});
  EXPECT_EQ(std::get<CurvePanel>(figure.panels.at(0).content).curves.at(0).y,
            (std::vector<double>{0.0, 0.25, 0.5}));
  EXPECT_THAT(figure.note, HasSubstr("more than 0.3 of their attention on the first token"));
}

TEST(LensFigureTest, OneLayerDoesNotFlattenTheOthers) {
  FigureSource source;
  source.results.metric = "lens";
  for (int layer = 0; layer < 6; ++layer) {
    source.results.rows.push_back({{col::kLabel, "LLaMA"},
                                   {col::kSite, "logit_lens"},
                                   {col::kLayer, layer},
                                   {col::kMeasure, "kl_to_final"},
                                   {col::kOver, "sequences"},
                                   {col::kMean, layer == 2 ? 110.0 : 6.0 - layer}});
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {.layer_base = 1});
  ASSERT_TRUE(figure.panels.at(0).y.max);
  EXPECT_NEAR(*figure.panels[0].y.max, 6.9, 1e-12);
  EXPECT_THAT(figure.note,
              HasSubstr("KL to the final layer (nats) of layer 3 is 110, beyond the axis"));
  const Figure whole = make_figure(std::vector<FigureSource>{source}, {.y_limits = {0.0, 120.0}});
  EXPECT_EQ(whole.panels.at(0).y.max, 120.0);
}

TEST(SeparabilityFigureTest, BarsOfADeviationEndAtOne) {
  FigureSource source = testing::sample_separability(2);
  for (ResultRow& row : source.results.rows) row.set(col::kMean, 0.99).set(col::kStd, 0.05);
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  const Curve& curve = std::get<CurvePanel>(figure.panels.at(0).content).curves.at(0);
  EXPECT_EQ(curve.high, (std::vector<double>{1.0, 1.0}));
  EXPECT_NEAR(curve.low[0], 0.94, 1e-12);
}

}  // namespace
}  // namespace lime
