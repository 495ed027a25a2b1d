// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "viz/figure_legend.h"
#include "viz/figure_refusal.h"
#include "viz/recipes/recipe.h"
#include "viz/recipes/router_panels.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::figure_refusal;
using ::testing::HasSubstr;
using testing::sample_router;

TEST(HeatmapFiguresTest, TheMeanMapIsALowerTriangle) {
  const std::vector<FigureSource> sources = {sample_router(4)};
  const Figure figure = make_figure(sources, {});
  const auto& map = std::get<HeatmapPanel>(figure.panels.at(0).content);
  // Layer 0 has no other source.
  ASSERT_EQ(map.values.rows(), 3);
  // Row 0 is at the bottom: the last layer.
  EXPECT_DOUBLE_EQ(map.values(0, 3), 0.25);
  EXPECT_DOUBLE_EQ(map.values(2, 0), 0.5);
  EXPECT_TRUE(std::isnan(map.values(2, 2)));
}

TEST(HeatmapFiguresTest, SignedWeightsAreCentredAtZero) {
  const std::vector<FigureSource> sources = {sample_router(3)};
  const Figure figure = make_figure(sources, {.kind = "router-signed"});
  EXPECT_EQ(colour_range_of(figure), std::pair(-0.5, 0.5));
}

TEST(HeatmapFiguresTest, MeanMapsShowEveryWeightingThatIsThere) {
  const std::vector<FigureSource> sources = {testing::sample_weighted_router(3)};
  const Figure shares = make_figure(sources, {});
  ASSERT_EQ(shares.panels.size(), 2U);
  EXPECT_EQ(shares.panels[0].title, "|R|");
  EXPECT_EQ(shares.panels[1].title, "|R| \xC3\x97 rms of keys");
  EXPECT_NEAR(std::get<HeatmapPanel>(shares.panels[1].content).values(1, 0), 0.55, 1e-12);
  EXPECT_EQ(shares.colour_label, "fraction");
  const Figure change = make_figure(sources, {.weighting = {"keys - none"}});
  ASSERT_EQ(change.panels.size(), 1U);
  EXPECT_TRUE(std::get<HeatmapPanel>(change.panels[0].content).is_signed);
  EXPECT_EQ(colour_range_of(change), std::pair(-0.1, 0.1));
  EXPECT_THAT(figure_refusal(sources, {.weighting = {"none", "keys - none"}}),
              HasSubstr("fractions and differences need separate figures"));
  EXPECT_THAT(figure_refusal(sources, {.weighting = {"values"}}),
              HasSubstr("no 'values' (their weightings: none, keys, keys - none)"));
}

TEST(HeatmapFiguresTest, MapsPerHeadAreOfOneWeighting) {
  const std::vector<FigureSource> sources = {testing::sample_weighted_router(3)};
  const Figure bare = make_figure(sources, {.kind = "router-heads"});
  EXPECT_DOUBLE_EQ(std::get<HeatmapPanel>(bare.panels.at(0).content).values(0, 0), 0.5);
  const Figure keys = make_figure(sources, {.kind = "router-heads", .weighting = {"keys"}});
  EXPECT_DOUBLE_EQ(std::get<HeatmapPanel>(keys.panels.at(0).content).values(0, 0), 0.55);
  EXPECT_EQ(keys.colour_label, "fraction of |R| \xC3\x97 rms of keys");
  EXPECT_THAT(figure_refusal(sources, {.kind = "router-heads", .weighting = {"none", "keys"}}),
              HasSubstr("maps per head show a single weighting"));
}

TEST(HeatmapFiguresTest, QuantitiesOfRoutersNameTheirWeighting) {
  EXPECT_EQ(weighted_router_quantity("R", ""), "R");
  EXPECT_EQ(weighted_router_quantity("R", "none"), "R");
  EXPECT_EQ(weighted_router_quantity("R", "values"), "R \xC3\x97 rms of values");
  EXPECT_EQ(weighted_router_quantity("|R|", "keys - none"),
            "|R| \xC3\x97 rms of keys \xE2\x88\x92 |R|");
}

TEST(HeatmapFiguresTest, RoutersOfTwoModelsHaveMapsOfTheirOwn) {
  std::vector<FigureSource> sources = {sample_router(3), sample_router(4)};
  for (ResultRow& row : sources[1].results.rows) row.set(col::kLabel, "other");
  const Figure heads = make_figure(sources, {.kind = "router-heads"});
  ASSERT_EQ(heads.panels.size(), 5U);
  EXPECT_EQ(heads.panels[0].title, "LIMe, layer 1");
  EXPECT_EQ(heads.panels[4].title, "other, layer 3");
  const Figure weights = make_figure(sources, {.kind = "router-signed"});
  ASSERT_EQ(weights.panels.size(), 5U);
  EXPECT_EQ(weights.panels[2].title, "other");
  EXPECT_EQ(weights.panels[0].x.max, weights.panels[4].x.max);
}

TEST(HeatmapFiguresTest, EmbeddingsHaveAPanelPerModelAndLayerAndOneLegend) {
  const std::vector<FigureSource> sources = {testing::sample_tsne(9)};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 12U);
  EXPECT_EQ(figure.columns, 6);
  EXPECT_EQ(figure.panels[0].title, "LLaMA, layer 1");
  EXPECT_EQ(figure.panels[5].title, "LLaMA, layer 9");
  const std::vector<LegendEntry> legend = legend_of(figure);
  ASSERT_EQ(legend.size(), 3U);
  EXPECT_EQ(legend[0].label, "is");
  EXPECT_EQ(make_figure(sources, {.label = {"LIMe"}, .layer = {2, 4}}).panels.size(), 2U);
  EXPECT_THAT(figure_refusal(sources, {.layer = {9}}), HasSubstr("their layers: 0, 1"));
}

TEST(HeatmapFiguresTest, SimilarityHasAMapPerPairOfModels) {
  const std::vector<FigureSource> sources = {testing::sample_similarity(3)};
  const Figure figure = make_figure(sources, {});
  ASSERT_EQ(figure.panels.size(), 3U);
  EXPECT_EQ(figure.panels[2].x.label, "layer of LIMe");
  EXPECT_EQ(figure.panels[2].y.label, "layer of LLaMA");
  const auto& map = std::get<HeatmapPanel>(figure.panels[2].content);
  EXPECT_DOUBLE_EQ(map.values(2, 1), 0.8 * std::exp(-0.3));
  EXPECT_EQ(colour_range_of(figure), std::pair(0.0, 1.0));
  EXPECT_EQ(make_figure(sources, {.measure = {"procrustes"}}).colour_label, "Procrustes distance");
}

TEST(HeatmapFiguresTest, SweepsAreMapsWithCrossedCellsOrCurves) {
  FigureSource source;
  source.results.metric = "sweep";
  source.results.rows.push_back({{col::kLabel, "LIMe"}, {col::kPart, "original"}});
  for (int layer = 0; layer < 2; ++layer) {
    for (int head = 0; head < 3; ++head) {
      source.results.rows.push_back({{col::kLabel, "LIMe"},
                                     {col::kPart, "head"},
                                     {col::kLayer, layer},
                                     {col::kHead, head},
                                     {col::kEffect, 0.1 * head + layer},
                                     {col::kEffect.low, 0.1 * head + layer - 0.05},
                                     {col::kEffect.high, 2.0},
                                     {col::kAttribution, -1.0}});
    }
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 1U);
  const auto& map = std::get<HeatmapPanel>(figure.panels[0].content);
  EXPECT_DOUBLE_EQ(map.values(0, 2), 0.2) << "layer 0 is at the bottom, as in every heatmap";
  ASSERT_EQ(map.marks.size(), 1U);
  EXPECT_EQ(map.marks[0].row, 0);
  EXPECT_EQ(map.marks[0].col, 0);
  EXPECT_EQ(figure.panels[0].x.label, "head");
  EXPECT_EQ(figure.panels[0].x.ticks.front().label, "1") << "heads count like layers";
  for (ResultRow& row : source.results.rows) row.erase(col::kHead);
  source.results.rows.erase(source.results.rows.begin() + 5, source.results.rows.end());
  source.results.rows.erase(source.results.rows.begin() + 2, source.results.rows.begin() + 4);
  // First-order estimates far from the effects are drawn on request only.
  const Figure curves = make_figure(std::vector<FigureSource>{source}, {});
  EXPECT_EQ(std::get<CurvePanel>(curves.panels.at(0).content).curves.size(), 1U);
  EXPECT_THAT(curves.note, HasSubstr("first-order estimates are not drawn: mean error 300 % of"));
  const Figure both = make_figure(std::vector<FigureSource>{source}, {.measure = {"attribution"}});
  EXPECT_EQ(std::get<CurvePanel>(both.panels.at(0).content).curves.size(), 2U);
}

TEST(HeatmapFiguresTest, SweepsOfRoutesHaveNoRowForLayerZero) {
  FigureSource source;
  source.results.metric = "sweep";
  for (int layer = 1; layer < 4; ++layer) {
    for (int read = 0; read <= layer; ++read) {
      source.results.rows.push_back({{col::kLabel, "LIMe"},
                                     {col::kPart, "route"},
                                     {col::kLayer, layer},
                                     {col::kSource, read},
                                     {col::kEffect, 10.0 * layer + read}});
    }
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {.layer_base = 1});
  const auto& map = std::get<HeatmapPanel>(figure.panels.at(0).content);
  ASSERT_EQ(map.values.rows(), 3);
  EXPECT_DOUBLE_EQ(map.values(0, 1), 11.0) << "layer 1 is at the bottom";
  EXPECT_DOUBLE_EQ(map.values(2, 3), 33.0);
  EXPECT_EQ(figure.panels[0].y.ticks.front().label, "2");
  EXPECT_DOUBLE_EQ(figure.panels[0].y.ticks.front().at, 0.0);
}

TEST(HeatmapFiguresTest, TokensHaveAMapPerModel) {
  FigureSource source;
  source.results.metric = "tokens";
  for (const char* const label : {"LLaMA", "LIMe"}) {
    for (int layer = 0; layer < 2; ++layer) {
      for (int position = 0; position < 40; ++position) {
        const bool is_massive = layer == 1 && position == 2 && label == std::string("LIMe");
        source.results.rows.push_back(
            {{col::kLabel, label},
             {col::kSite, "hidden"},
             {col::kLayer, layer},
             {col::kPosition, position},
             {col::kText, std::string(1, static_cast<char>('a' + position % 26))},
             {col::kNorm, 1.0 + position % 3 + (is_massive ? 100.0 : 0.0)},
             {col::kEntropyContribution, 0.1 * position}});
        if (position < 39) source.results.rows.back().set(col::kNextCosine, -0.5);
      }
    }
  }
  const std::vector<FigureSource> sources = {source};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[0].title, "LLaMA");
  EXPECT_TRUE(figure.panels[0].x.hides_numbers) << "the tokens are below the last panel";
  EXPECT_EQ(figure.panels[1].x.ticks.at(1).label, "b");
  EXPECT_EQ(figure.panels[0].y.ticks.at(1).label, "2");
  const auto& map = std::get<HeatmapPanel>(figure.panels[0].content);
  EXPECT_TRUE(map.is_signed) << "whatever the signs of its values";
  EXPECT_EQ(figure.colour_range, std::pair(-0.1 * 39, 0.1 * 39)) << "no value is far above others";
  EXPECT_TRUE(map.marks.empty());
  EXPECT_DOUBLE_EQ(map.values(1, 2), 0.2);
  EXPECT_EQ(figure.colour_label, "entropy contribution (nats)");
  const Figure cosines = make_figure(sources, {.measure = {"next_cosine"}});
  EXPECT_TRUE(std::isnan(std::get<HeatmapPanel>(cosines.panels[0].content).values(0, 39)));
  EXPECT_TRUE(std::get<HeatmapPanel>(cosines.panels[0].content).is_signed);
  const Figure norms = make_figure(sources, {.measure = {"norm"}});
  EXPECT_EQ(norms.note,
            "site: hidden; 1 value beyond the colour scale is marked at a corner: up to 103 in "
            "magnitude");
  EXPECT_EQ(norms.colour_range, std::pair(0.0, 3.0)) << "one token is far above all others";
  const std::vector<HeatmapPanel::Mark>& marks =
      std::get<HeatmapPanel>(norms.panels[1].content).marks;
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(std::pair(marks[0].row, marks[0].col), std::pair(1, 2));
  EXPECT_FALSE(marks[0].is_crossed);
  EXPECT_THAT(
      figure_refusal(sources, {.measure = {"curvature"}}),
      HasSubstr("measure: tokens does not show 'curvature' (supported: norm, relative_norm, "
                "next_cosine, entropy_contribution, lens_probability, lens_rank, lens_kl)"));
}

TEST(HeatmapFiguresTest, AttentionOfASequenceHasAMapPerLayerAndHead) {
  const std::vector<FigureSource> sources = {testing::sample_attention(3)};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  EXPECT_EQ(figure.name, "attention");
  ASSERT_EQ(figure.panels.size(), 6U);
  EXPECT_EQ(figure.panels[1].title, "layer 1, head 2") << "heads count like layers";
  EXPECT_EQ(figure.panels[0].y.label, "query");
  EXPECT_EQ(figure.panels[0].y.ticks.at(1).label, "3");
  EXPECT_EQ(figure.panels[0].x.ticks.at(5).label, "27");
  ASSERT_TRUE(figure.panels[0].x.if_crowded) << "small panels say the positions instead";
  EXPECT_EQ(figure.panels[0].x.if_crowded->ticks.at(5).label, "5");
  const auto& map = std::get<HeatmapPanel>(figure.panels[1].content);
  EXPECT_DOUBLE_EQ(map.values(0, 3), 1.0 / 6.0) << "the last query is at the bottom";
  EXPECT_DOUBLE_EQ(map.values(4, 1), 0.5);
  EXPECT_TRUE(std::isnan(map.values(4, 2))) << "what comes is not seen";
  EXPECT_EQ(figure.colour_range, std::pair(1e-3, 1.0));
  EXPECT_TRUE(figure.logarithmic_colours) << "most weights are far below that of a sink";
  EXPECT_EQ(make_figure(sources, {.layer = {2}, .head = {0}}).panels.size(), 1U);
  EXPECT_THAT(figure_refusal(sources, {.head = {2}}),
              HasSubstr("head: the results contain no head 2 (their heads: 0, 1)"));
  EXPECT_THAT(figure_refusal(sources, {.layer = {3}}), HasSubstr("their layers: 0, 1, 2"));
}

TEST(HeatmapFiguresTest, AttentionOfManyHeadsLeavesLayersOutAndSaysSo) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_attention(40)}, {});
  EXPECT_EQ(figure.panels.size(), 64U);
  EXPECT_THAT(figure.note, HasSubstr(", 39 of 40"));
}

TEST(HeatmapFiguresTest, AttentionWithoutASequenceIsAMapOfItsHeads) {
  const std::vector<FigureSource> sources = {testing::sample_attention_heads(6, 4)};
  const Figure figure = make_figure(sources, {});
  EXPECT_EQ(figure.name, "attention-heads");
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[1].title, "LIMe");
  EXPECT_EQ(figure.colour_label, "entropy (nats)");
  EXPECT_DOUBLE_EQ(std::get<HeatmapPanel>(figure.panels[1].content).values(5, 3), 1.7);
  const Figure sinks = make_figure(sources, {.measure = {"first_share"}});
  EXPECT_EQ(sinks.colour_range, std::pair(0.0, 1.0));
  EXPECT_THAT(figure_refusal(sources, {.measure = {"norm"}}),
              HasSubstr("measure: attention-heads does not show 'norm' (supported: entropy, "
                        "effective_keys, distance, first_share, previous_share, own_share)"));
  EXPECT_THAT(figure_refusal(sources, {.kind = "attention"}), HasSubstr("with --sequence N"));
}

TEST(HeatmapFiguresTest, RoutedAttentionHasBufferedLayersAndKeys) {
  const std::vector<FigureSource> sources = {testing::sample_attention(2)};
  const Figure figure =
      make_figure(sources, {.kind = "attention-routed", .layer = {1}, .head = {0}});
  ASSERT_EQ(figure.panels.size(), 1U);
  const auto& map = std::get<HeatmapPanel>(figure.panels[0].content);
  EXPECT_EQ(map.values.rows(), 2);
  EXPECT_DOUBLE_EQ(map.values(1, 2), 4.0 / 35.0);
  EXPECT_EQ(map.values.cols(), 5) << "what comes after the query has no room";
  EXPECT_EQ(figure.note, "query: '=', position 4");
  EXPECT_THAT(figure_refusal({testing::sample_attention_heads()}, {.kind = "attention-routed"}),
              HasSubstr("--sequence N --query Q on a capture with routers"));
}

}  // namespace
}  // namespace lime
