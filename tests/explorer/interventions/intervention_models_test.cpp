// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <cmath>

#include "analysis/router/edited_routers.h"
#include "core/errors.h"
#include "core/json.h"
#include "explorer/interventions/intervention_edits.h"
#include "explorer/interventions/intervention_figures.h"
#include "explorer/interventions/intervention_routes.h"
#include "explorer/interventions/line_tokens.h"
#include "explorer/interventions/scored_lines.h"

namespace lime::explorer::testing {
namespace {

using Mode = QAbstractItemModelTester::FailureReportingMode;

const Selection kSelection{.layer = 2, .head = 1, .source_layer = 0, .source_head = 1};

/// Three layers of two heads; the weight of a route is 100 layer + 10 head + its column.
Routers someRouters() {
  Routers routers = Routers::identity(3, 2);
  for (int layer = 1; layer < 3; ++layer) {
    MatrixD& weights = routers.weights[static_cast<std::size_t>(layer)];
    for (int head = 0; head < 2; ++head) {
      for (int col = 0; col < weights.cols(); ++col) {
        weights(head, col) = 100.0 * layer + 10.0 * head + col;
      }
    }
  }
  return routers;
}

TEST(InterventionEditsTest, ScopesNameRoutesAroundTheSelection) {
  const auto text = [](RouteScope scope) { return routesText(routesOf(scope, kSelection), 1); };
  EXPECT_EQ(text(RouteScope::kWeight), "head 2 of layer 3 from head 2 of layer 1");
  EXPECT_EQ(text(RouteScope::kHeadSource), "head 2 of layer 3 from layer 1");
  EXPECT_EQ(text(RouteScope::kHead), "head 2 of layer 3 from all sources");
  EXPECT_EQ(text(RouteScope::kLayerSource), "layer 3 from layer 1");
  EXPECT_EQ(text(RouteScope::kLayer), "layer 3 from all sources");
  EXPECT_EQ(text(RouteScope::kSource), "every layer from layer 1");
  EXPECT_EQ(text(RouteScope::kSourceHead), "every layer from head 2 of layer 1");
}

TEST(InterventionEditsTest, OneEditPerSetOfRoutes) {
  RouterEdit routes = routesOf(RouteScope::kHead, kSelection);
  routes.scale = 0.5;
  std::vector<RouterEdit> edits = InterventionEdits::with({}, routes);
  ASSERT_EQ(edits.size(), 1U);
  routes.scale = 0.0;
  edits = InterventionEdits::with(edits, routes);
  ASSERT_EQ(edits.size(), 1U);
  EXPECT_EQ(edits[0].scale, 0.0);
  RouterEdit others = routesOf(RouteScope::kLayer, kSelection);
  others.scale = 2.0;
  edits = InterventionEdits::with(edits, others);
  EXPECT_EQ(edits.size(), 2U);
  routes.scale = 1.0;
  edits = InterventionEdits::with(edits, routes);
  ASSERT_EQ(edits.size(), 1U);
  EXPECT_TRUE(edits[0].names_same_as(others));
}

TEST(InterventionEditsTest, IsAModelWhoseScalesCanBeTyped) {
  InterventionEdits model;
  QAbstractItemModelTester tester(&model, Mode::Fatal);
  model.setShape(3, 2, 0);
  RouterEdit off = routesOf(RouteScope::kLayerSource, kSelection);
  off.scale = 0.0;
  RouterEdit all = routesOf(RouteScope::kSource, kSelection);
  all.scale = 1.5;
  model.setEdits({off, all});
  EXPECT_EQ(model.index(0, InterventionEdits::kScale).data(), "ablated");
  EXPECT_EQ(model.index(1, InterventionEdits::kScale).data(), "× 1.5");
  EXPECT_EQ(model.index(0, InterventionEdits::kWeights).data(), "4");
  EXPECT_EQ(model.index(1, InterventionEdits::kWeights).data(), "8");
  EXPECT_EQ(model.scaleOf(all), 1.5);
  EXPECT_EQ(model.scaleOf(routesOf(RouteScope::kHead, kSelection)), 1.0);
  QSignalSpy entered(&model, &InterventionEdits::scaleEntered);
  EXPECT_TRUE(model.setData(model.index(1, InterventionEdits::kScale), -2.0, Qt::EditRole));
  ASSERT_EQ(entered.count(), 1);
  EXPECT_EQ(entered.front().front().value<RouterEdit>().scale, -2.0);
  EXPECT_FALSE(model.setData(model.index(1, InterventionEdits::kScale), "much", Qt::EditRole));
  model.setEdits({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(InterventionFiguresTest, ShowEditedWeightsAndMarkThem) {
  EditedRouters subject(std::make_shared<const CheckpointRouters>(someRouters()));
  const RouterMap before = editedLayerMap(subject, 0);
  RouterEdit off = routesOf(RouteScope::kLayerSource, kSelection);
  off.scale = 0.0;
  RouterEdit half{.layer = 2, .head = 0, .source = 2, .source_head = 1, .scale = 0.5};
  subject.set_edits({off, half});

  const RouterMap layers = editedLayerMap(subject, 0);
  const auto& layer_panel = std::get<HeatmapPanel>(layers.figure.panels[0].content);
  ASSERT_EQ(layer_panel.marks.size(), 2U);
  EXPECT_TRUE(layer_panel.marks[0].is_crossed);
  EXPECT_EQ(layer_panel.marks[0].row, layers.rowOf(2));
  EXPECT_EQ(layer_panel.marks[0].col, 0);
  EXPECT_FALSE(layer_panel.marks[1].is_crossed);
  EXPECT_EQ(layer_panel.values(layers.rowOf(2), 0), 0.0);
  EXPECT_EQ(layers.figure.colour_range, before.figure.colour_range)
      << "an edit moves no other colour";

  const RouterMap weights = editedWeightMap(subject, 2, 0);
  const auto& panel = std::get<HeatmapPanel>(weights.figure.panels[0].content);
  EXPECT_EQ(panel.marks.size(), 5U);
  EXPECT_EQ(panel.values(weights.rowOf(0), 5), 0.5 * 205.0);
  EXPECT_EQ(panel.values(weights.rowOf(1), 1), 0.0);
  EXPECT_EQ(panel.col_borders, (std::vector<int>{2, 4}));
  EXPECT_TRUE(panel.shows_numbers);
  const EditedRouters wide(std::make_shared<const CheckpointRouters>(Routers::identity(4, 4)));
  EXPECT_FALSE(
      std::get<HeatmapPanel>(editedWeightMap(wide, 3, 0).figure.panels[0].content).shows_numbers)
      << "numbers would overlap";
  EXPECT_EQ(describeEditedWeight(subject, 0, 2, 0, 2, 1),
            "head 0 of layer 2 reads head 1 of layer 2: weight 102.5000, was 205.0000; original "
            "rank 1 of 6 sources");
  EXPECT_TRUE(describeEditedLayer(subject, 0, 1, 0).endsWith("original"));
}

QByteArray someOutput() {
  return R"({"prompt": "a b", "ids": [1, 2], "tokens": [
    {"id": 1, "token": "a", "log_probability": null, "entropy": 0.5, "next_tokens": [
      {"id": 2, "token": " b", "probability": 0.9, "log_probability": -0.105},
      {"id": 3, "token": " c", "probability": 0.06, "log_probability": -2.8}]},
    {"id": 2, "token": " b", "log_probability": -0.105, "entropy": 0.1, "next_tokens": [
      {"id": 4, "token": "\n", "probability": 0.5, "log_probability": -0.69}]}]})";
}

TEST(InterventionResultTest, ReadsWhatTheChildPrints) {
  const LineReading reading = parseReading(someOutput());
  ASSERT_EQ(reading.size(), 2U);
  EXPECT_FALSE(reading[0].log_probability);
  EXPECT_EQ(reading[0].next[0].token, " b");
  EXPECT_EQ(reading[1].log_probability, -0.105);
  EXPECT_THROW(parseReading("{}"), FormatError);
  EXPECT_THROW(parseReading("no JSON"), FormatError);
  EXPECT_THROW(parseReading(R"({"tokens": []})"), FormatError);
}

TEST(InterventionResultTest, ComparesWhatBothExpect) {
  const LineReading before = parseReading(someOutput());
  TokenReading after = before[0];
  after.next = {{3, " c", 0.7}, {5, " d", 0.2}};
  const std::vector<PredictionPair> pairs = comparePredictions(before[0], after, 5);
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[0].token, " b");
  EXPECT_FALSE(pairs[0].after) << "it is not among those that are listed";
  EXPECT_EQ(pairs[0].after_below, 0.2);
  EXPECT_EQ(pairs[1].token, " c");
  EXPECT_EQ(pairs[1].before, 0.06);
  EXPECT_EQ(comparePredictions(before[0], after, 2).size(), 2U);
  const Figure figure = nextTokensFigure(before[0], after, 5, 3);
  const auto& bars = std::get<BarPanel>(figure.panels[0].content);
  EXPECT_EQ(bars.groups[0], visibleToken(" b").toStdString());
  EXPECT_EQ(bars.series[1].stars[0], "< 20.0%");
}

TEST(InterventionTablesTest, TokensHaveTheColourOfTheirCost) {
  const LineReading before = parseReading(someOutput());
  LineReading after = before;
  after[1].log_probability = -3.0;
  std::vector<TextToken> tokens = scoredTokens(before, {});
  ASSERT_EQ(tokens.size(), 3U) << "two tokens and the place behind them";
  EXPECT_FALSE(tokens[1].ground.isValid());
  tokens = scoredTokens(before, after);
  EXPECT_TRUE(tokens[1].ground.isValid());
  EXPECT_TRUE(tokens[1].description.endsWith(
      "edited 4.98%; the edits change the loss of this token by +2.895 nats"))
      << tokens[1].description.toStdString();
  EXPECT_TRUE(tokens[0].description.contains("has no prediction"));
  EXPECT_TRUE(scoredTokens({}, {}).empty());
}

TEST(InterventionTablesTest, TheListOfTokensIsAModelWithTheirColours) {
  TokenText list(u"tokens"_s);
  QAbstractItemModelTester tester(list.model(), Mode::Fatal);
  list.setTokens({{.text = "a"}, {.text = "b", .ground = Qt::red, .description = "what b is"}});
  list.setCurrent(1);
  EXPECT_EQ(list.model()->index(1, 0).data(Qt::BackgroundRole).value<QColor>(), QColor(Qt::red));
  EXPECT_EQ(list.model()->index(1, 0).data(Qt::ToolTipRole), "what b is");
  list.setTokens({{.text = "a", .ground = Qt::blue}, {.text = "b"}});
  EXPECT_EQ(list.current(), 1) << "the texts stay";
  list.setTokens({{.text = "c"}});
  EXPECT_EQ(list.current(), -1);
}

TEST(InterventionTablesTest, LinesAreAModelThoseMostChangedFirst) {
  ScoredLines model;
  QAbstractItemModelTester tester(&model, Mode::Fatal);
  model.setScores({{.line = 0, .text = "one", .before = -1.0, .after = -1.5, .tokens = 5},
                   {.line = 1, .text = "two", .before = -4.0, .after = -2.0, .tokens = 2}});
  EXPECT_EQ(model.at(0).line, 1);
  EXPECT_EQ(model.rowOfLine(0), 1);
  EXPECT_EQ(model.rowOfLine(7), -1);
  EXPECT_EQ(model.index(0, ScoredLines::kLine).data(), "2");
  EXPECT_EQ(model.index(0, ScoredLines::kChange).data(), "-1.000");
  EXPECT_EQ(model.index(1, ScoredLines::kChange).data(), "+0.100");
  EXPECT_EQ(model.index(1, ScoredLines::kText).data(), "one");
  model.setScores({});
}

}  // namespace
}  // namespace lime::explorer::testing
