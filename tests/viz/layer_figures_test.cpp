// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "viz/figure.h"
#include "viz/figure_file.h"
#include "viz/figure_legend.h"
#include "viz/figure_pgfplots.h"
#include "viz/figure_refusal.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::figure_refusal;
using ::testing::HasSubstr;
using testing::sample_entropy;

TEST(LayerFiguresTest, EntropyHasAPanelPerSiteAndACurvePerModel) {
  const std::vector<FigureSource> sources = {sample_entropy(5)};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& curves = std::get<CurvePanel>(figure.panels[0].content);
  ASSERT_EQ(curves.curves.size(), 2U);
  EXPECT_EQ(curves.curves[1].label, "LIMe");
  EXPECT_EQ(curves.curves[1].x, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_DOUBLE_EQ(curves.curves[1].y[0], 2.5);
  EXPECT_DOUBLE_EQ(curves.curves[1].low[0], 2.45);
  ASSERT_EQ(curves.references.size(), 1U);
  EXPECT_DOUBLE_EQ(curves.references[0].y, std::log(32.0));
  EXPECT_EQ(legend_of(figure).size(), 2U);
}

TEST(LayerFiguresTest, MissingLayersLeaveAGap) {
  std::vector<FigureSource> sources = {sample_entropy(5)};
  std::erase_if(sources[0].results.rows,
                [](const ResultRow& row) { return row.cell(col::kLayer) == 2; });
  const Figure figure = make_figure(sources, {});
  const auto& curve = std::get<CurvePanel>(figure.panels[0].content).curves[0];
  ASSERT_EQ(curve.x, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(std::isnan(curve.y[2]));
}

TEST(LayerFiguresTest, ALayerBetweenGapsHasAnErrorBarForABand) {
  std::vector<FigureSource> sources = {sample_entropy(5)};
  std::erase_if(sources[0].results.rows,
                [](const ResultRow& row) { return row.cell(col::kLayer) == 1; });
  const Figure figure = make_figure(sources, {});
  const Curve& curve = std::get<CurvePanel>(figure.panels[0].content).curves[0];
  EXPECT_EQ(lone_points(curve), (std::vector<std::size_t>{0}));
  EXPECT_THAT(figure.note, HasSubstr("; bands and error bars: 95% bootstrap intervals"));
  EXPECT_THAT(figure_to_pgfplots(figure, {}), HasSubstr("(0,2) += (0,"));
  EXPECT_TRUE(lone_points(Curve{}).empty());
}

TEST(LayerFiguresTest, TheNoteOfGeometryNamesTheMeasuresThatHaveBands) {
  FigureSource geometry = testing::sample_geometry(4);
  for (ResultRow& row : geometry.results.rows) {
    if (row.cell(col::kMeasure) != "effective_rank")
      row.set(col::kCiLow, row.number(col::kMean)).set(col::kCiHigh, row.number(col::kMean));
  }
  const auto note_of = [](const FigureSource& source) {
    return make_figure(std::vector<FigureSource>{source}, {}).note;
  };
  EXPECT_EQ(note_of(geometry),
            "site: hidden; bands: 95% intervals of anisotropy (mean cosine), curvature (degrees)");
}

TEST(LayerFiguresTest, OperandsHaveACurvePerModelWithIntervals) {
  const std::vector<FigureSource> sources = {testing::sample_training("LLaMA"),
                                             testing::sample_training("LIMe")};
  const Figure figure = make_figure(sources, {.kind = "operands"});
  ASSERT_EQ(figure.panels.size(), 1U);
  const std::vector<Curve>& curves = std::get<CurvePanel>(figure.panels[0].content).curves;
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_THAT(curves[0].x, ::testing::ElementsAre(4.0, 5.0, 6.0));
  EXPECT_EQ(curves[1].label, "LIMe");
  EXPECT_EQ(curves[1].spread, Curve::Spread::kBars);
  EXPECT_DOUBLE_EQ(curves[1].high[2], curves[1].y[2] + 0.02);
}

TEST(LayerFiguresTest, OperandsNeedAnEvaluation) {
  FigureSource source = testing::sample_training("LLaMA");
  std::erase_if(source.results.rows, [](const ResultRow& row) { return row.has(kOperands); });
  EXPECT_EQ(testing::figure_refusal({source}, {.kind = "operands"}),
            "figure: the training log contains no accuracy per number of operands; use a finished "
            "run of lime-train --task aet");
  EXPECT_EQ(make_figure(std::vector<FigureSource>{source}, {}).name, "loss");
}

TEST(LayerFiguresTest, EntropyHasAPanelPerSiteAndOrder) {
  FigureSource source = sample_entropy(3);
  for (ResultRow row : std::vector<ResultRow>(source.results.rows)) {
    row.set(col::kAlpha, 2.0);
    row.set(col::kMean, 1.0);
    source.results.rows.push_back(row);
    row.set(col::kAlpha, std::numeric_limits<double>::infinity());
    source.results.rows.push_back(row);
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  ASSERT_EQ(figure.panels.size(), 6U);
  EXPECT_EQ(figure.columns, 2) << "a row per order";
  EXPECT_EQ(figure.panels[0].title, "values, \xCE\xB1 = 0.5");
  EXPECT_EQ(figure.panels[3].title, "hidden, \xCE\xB1 = 2");
  EXPECT_EQ(figure.panels[5].title, "hidden, \xCE\xB1 = \xE2\x88\x9E");
  EXPECT_DOUBLE_EQ(std::get<CurvePanel>(figure.panels[0].content).curves.at(0).y[0], 2.0);
  EXPECT_DOUBLE_EQ(std::get<CurvePanel>(figure.panels[3].content).curves.at(1).y[0], 1.0);
  EXPECT_THAT(figure.note, ::testing::StartsWith("matrix-based entropy; bands: 95%"));
  // Titles with the name of a line next to them leave no room for two panels side by side.
  EXPECT_EQ(with_fitting_columns(figure, {}).columns, 2);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "acl-column"}).columns, 1);
}

/// Entropies of one model for `preset`, with its order and unit.
FigureSource entropy_of(const std::string& preset, double alpha, const std::string& unit,
                        const std::string& label = "LIMe") {
  FigureSource source = sample_entropy(3);
  source.results.options["normalization"] = "maxEntropy";
  std::erase_if(source.results.rows,
                [](const ResultRow& row) { return row.cell(col::kLabel) != "LIMe"; });
  for (ResultRow& row : source.results.rows) {
    row.add({{col::kPreset, preset},
             {col::kAlpha, alpha},
             {col::kUnit, unit},
             {col::kLabel, label},
             {col::kN, 100}});
  }
  return source;
}

TEST(LayerFiguresTest, EntropiesOfDifferentPresetsShareNoPanel) {
  const std::vector<FigureSource> sources = {entropy_of("lime-code", 0.5, "nats"),
                                             entropy_of("seq-vcr", 1.0, "nats"),
                                             entropy_of("layer-by-layer", 1.0, "ratio", "other")};
  const Figure figure = make_figure(sources, {.site = {"values"}});
  ASSERT_EQ(figure.panels.size(), 3U);
  EXPECT_EQ(figure.panels[0].title, "lime-code, \xCE\xB1 = 0.5");
  EXPECT_EQ(figure.panels[1].title, "seq-vcr, \xCE\xB1 = 1");
  EXPECT_EQ(figure.panels[2].title, "layer-by-layer, \xCE\xB1 = 1");
  EXPECT_EQ(figure.panels[1].y.label, "entropy (nats)");
  EXPECT_EQ(figure.panels[2].y.label, "entropy (ratio)");
  for (const FigurePanel& panel : figure.panels) {
    EXPECT_EQ(std::get<CurvePanel>(panel.content).curves.size(), 1U);
  }
  EXPECT_THAT(figure.note,
              ::testing::StartsWith("site: values; matrix-based entropy, 100 sequences; bands"));
  FigureSource by_tokens = sources[2];
  by_tokens.results.options["normalization"] = "logN";
  EXPECT_EQ(make_figure(std::vector<FigureSource>{sources[2], by_tokens}, {}).panels.at(2).title,
            "values, layer-by-layer logN");
  EXPECT_THAT(figure_refusal({sources[1], sources[1]}), HasSubstr("layer 0 of LIMe is duplicated"));
}

TEST(LayerFiguresTest, TheNoteOfEntropySaysPresetOrderAndSequences) {
  FigureSource source = entropy_of("layer-by-layer", 1.0, "ratio");
  EXPECT_EQ(make_figure(std::vector<FigureSource>{source}, {}).note,
            "matrix-based entropy, preset layer-by-layer, \xCE\xB1 = 1, 100 sequences; bands: 95% "
            "bootstrap intervals over sequences");
  source.results.rows.front().set(col::kN, 98);
  EXPECT_THAT(make_figure(std::vector<FigureSource>{source}, {}).note,
              HasSubstr(", 98 to 100 sequences; "));
}

TEST(LayerFiguresTest, GeometryOfSeveralSitesSaysWhichItShows) {
  FigureSource source = testing::sample_geometry(3);
  for (ResultRow row : std::vector<ResultRow>(source.results.rows)) {
    row.set(col::kSite, "values");
    source.results.rows.push_back(row);
  }
  EXPECT_EQ(make_figure(std::vector<FigureSource>{source}, {}).note, "site: hidden");
}

TEST(LayerFiguresTest, EveryMethodOfSeparabilityIsHeldAgainstTheCommonestClass) {
  FigureSource source = testing::sample_separability(4);
  const std::vector<ResultRow> rows = source.results.rows;
  for (ResultRow row : rows) {
    row.set(col::kMethod, "lime-code");
    row.erase(col::kMajority);
    source.results.rows.push_back(row);
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  ASSERT_EQ(figure.panels.size(), 2U);
  for (const FigurePanel& panel : figure.panels) {
    ASSERT_EQ(std::get<CurvePanel>(panel.content).references.size(), 1U);
    EXPECT_DOUBLE_EQ(std::get<CurvePanel>(panel.content).references[0].y, 0.25);
  }
}

TEST(LayerFiguresTest, SeparabilityHasBarsControlsAndTheCommonestClass) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_separability(4)}, {});
  const auto& panel = std::get<CurvePanel>(figure.panels.at(0).content);
  ASSERT_EQ(panel.curves.size(), 4U);
  EXPECT_EQ(panel.curves[0].spread, Curve::Spread::kBars);
  EXPECT_NEAR(panel.curves[0].y[1], 0.87, 1e-12);
  EXPECT_NEAR(panel.curves[0].high[1], 0.89, 1e-12);
  EXPECT_EQ(panel.curves[3].label, "LIMe, shuffled labels");
  ASSERT_EQ(panel.references.size(), 1U);
  EXPECT_DOUBLE_EQ(panel.references[0].y, 0.25);
  // Models, and one grey entry for the control of both.
  const std::vector<LegendEntry> legend = legend_of(figure);
  ASSERT_EQ(legend.size(), 4U);
  EXPECT_EQ(legend[2].label, "shuffled labels");
  EXPECT_EQ(legend[2].style.colour, kMutedColour);
  EXPECT_EQ(legend[3].label, "majority baseline");
}

TEST(LayerFiguresTest, ComparisonHasStarsWhereTheCorrectedPValueSaysSo) {
  const std::vector<FigureSource> sources = {testing::sample_comparison(4)};
  const Figure figure = make_figure(sources, {.kind = "comparison"});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& panel = std::get<CurvePanel>(figure.panels[0].content);
  ASSERT_EQ(panel.curves.size(), 1U);
  EXPECT_EQ(panel.curves[0].stars, (std::vector<std::string>{"***", "", "*", "***"}));
  EXPECT_DOUBLE_EQ(panel.curves[0].y[0], 0.4);
  EXPECT_TRUE(panel.references.at(0).is_zero);
  EXPECT_THAT(figure.note, HasSubstr("Holm"));
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.kind = "comparison"}),
              HasSubstr("with --compare"));
}

TEST(LayerFiguresTest, ComparisonsOfDifferentPresetsShareNoPanel) {
  std::vector<FigureSource> sources = {testing::sample_comparison(3),
                                       testing::sample_comparison(3)};
  sources[0].results.options["preset"] = "lime-code";
  sources[1].results.options["preset"] = "raw";
  const Figure figure = make_figure(sources, {.kind = "comparison", .site = {"values"}});
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[0].y.label, "\xCE\x94 entropy (nats), lime-code");
  EXPECT_EQ(figure.panels[1].y.label, "\xCE\x94 entropy (nats), raw");
  const Figure one = make_figure(std::vector<FigureSource>{sources[1]}, {.kind = "comparison"});
  EXPECT_THAT(one.note, ::testing::StartsWith("preset raw, \xCE\xB1 = 0.5; LIMe"));
}

TEST(LayerFiguresTest, GeometryShowsTheUsualMeasuresOrThoseAskedFor) {
  const std::vector<FigureSource> sources = {testing::sample_geometry(4)};
  const Figure usual = make_figure(sources, {});
  ASSERT_EQ(usual.panels.size(), 3U);
  EXPECT_EQ(usual.panels[2].y.label, "curvature (degrees)");
  const Figure asked = make_figure(sources, {.measure = {"rankme"}});
  ASSERT_EQ(asked.panels.size(), 1U);
  EXPECT_EQ(asked.panels[0].y.label, "RankMe");
  EXPECT_THAT(
      figure_refusal(sources, {.measure = {"size"}}),
      HasSubstr("no 'size' (their measures: effective_rank, anisotropy, curvature, rankme)"));
}

TEST(LayerFiguresTest, LossRunsOverStepsTokensOrFlops) {
  const std::vector<FigureSource> sources = {testing::sample_training("LLaMA"),
                                             testing::sample_training("LIMe")};
  const Figure steps = make_figure(sources, {});
  const auto& curves = std::get<CurvePanel>(steps.panels.at(0).content).curves;
  ASSERT_EQ(curves.size(), 4U);
  EXPECT_TRUE(curves[0].style.is_faint);
  EXPECT_EQ(curves[2].label, "LLaMA");
  EXPECT_EQ(curves[2].x.front(), 40.0);
  EXPECT_EQ(legend_of(steps).size(), 2U);
  const Figure flops = make_figure(sources, {.over = TrainingAxis::kFlops, .log_x = true});
  EXPECT_EQ(std::get<CurvePanel>(flops.panels.at(0).content).curves[2].x.front(), 2.4e11);
  EXPECT_EQ(flops.panels[0].x.label, "training FLOPs (6 N tokens)");
  EXPECT_TRUE(flops.panels[0].x.logarithmic);
}

TEST(LayerFiguresTest, LensAndProbeOfAModelHaveItsColour) {
  const Figure figure =
      make_figure(std::vector<FigureSource>{testing::sample_choices()}, {.kind = "choices-layers"});
  ASSERT_EQ(figure.panels.size(), 7);
  const auto& curves = std::get<CurvePanel>(figure.panels.front().content).curves;
  ASSERT_EQ(curves.size(), 4);
  EXPECT_EQ(curves[1].label, "LLaMA, probe");
  EXPECT_EQ(curves[1].style.colour, curves[0].style.colour);
  EXPECT_EQ(curves[1].style.pattern, LinePattern::kDashed);
  EXPECT_EQ(curves[2].label, "LIMe, logit lens");
  EXPECT_NE(curves[2].style.colour, curves[0].style.colour);
}

TEST(LayerFiguresTest, OneLayerHasBarsForABand) {
  const Figure figure = make_figure(std::vector<FigureSource>{sample_entropy(1)}, {});
  const auto& panel = std::get<CurvePanel>(figure.panels.at(0).content);
  EXPECT_EQ(panel.curves.at(0).spread, Curve::Spread::kBars);
}

}  // namespace
}  // namespace lime
