// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "viz/figure_refusal.h"
#include "viz/recipes/model_colours.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::figure_refusal;
using ::testing::HasSubstr;
using testing::sample_entropy;
using testing::sample_router;

TEST(FigureOptionsTest, RefusesOptionsThatTheFigureDoesNotRead) {
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.head = {7}, .router = {"nonsense"}}),
              ::testing::StartsWith("figure: entropy does not accept --head, --router (supported: "
                                    "--kind, --site, --label, --layer-base"));
  EXPECT_THAT(figure_refusal({sample_router()}, {.kind = "router-mean", .layer = {1}}),
              HasSubstr("router-mean does not accept --layer (supported: --weighting, "));
  EXPECT_THAT(figure_refusal({testing::sample_separability()}, {.over = TrainingAxis::kFlops}),
              HasSubstr("separability does not accept --over"));
  EXPECT_THAT(figure_refusal({testing::sample_cost()}, {.x_limits = {0.0, 1.0}}),
              HasSubstr("x_limits: cost is a table"));
  EXPECT_THAT(
      figure_refusal({testing::sample_attention_heads()}, {.measure = {"entropy", "distance"}}),
      HasSubstr("measure: attention-heads shows a single measure, got entropy,distance"));
  // If the default figure is empty, the next one may accept the option.
  EXPECT_EQ(figure_refusal({testing::sample_attention_heads()}, {.measure = {"first_share"}}), "");
}

/// Options that all differ from their defaults.
FigureOptions all_changed() {
  return {.kind = "x",
          .site = {"x"},
          .label = {"x, y"},
          .layer = {1, 2},
          .head = {1},
          .measure = {"x"},
          .router = {"x"},
          .weighting = {"keys - none"},
          .by = BlimpGroups::kTask,
          .over = TrainingAxis::kTokens,
          .layer_base = 1,
          .x_limits = {0.1, 2.5},
          .y_limits = {-1.0, 1e-9},
          .log_x = true,
          .log_y = true,
          .colors = {2, 1},
          .columns = 3,
          .mixed_texts = true};
}

TEST(FigureOptionsTest, ColoursModelsInTheOrderOfTheLegend) {
  FigureOptions options;
  const Figure usual = make_figure(std::vector{sample_entropy()}, options);
  const auto styles = [](const Figure& figure) {
    std::vector<SeriesStyle> found;
    for (const Curve& curve : std::get<CurvePanel>(figure.panels.front().content).curves) {
      found.push_back(curve.style);
    }
    return found;
  };
  const std::size_t num_models = colours_in_order(usual.panels).size();
  ASSERT_GE(num_models, 2U);
  options.colors.assign(num_models, 5);
  options.colors.front() = 3;
  options.colors.back() = 3;
  const std::vector<SeriesStyle> given =
      styles(make_figure(std::vector{sample_entropy()}, options));
  EXPECT_EQ(given.front().colour, 2U);
  EXPECT_EQ(given.back().colour, 2U);
  EXPECT_EQ(given.front().pattern, LinePattern::kSolid);
  EXPECT_NE(given.back().pattern, LinePattern::kSolid) << "models of one colour differ in dashes";
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.colors = {8}}),
              HasSubstr("colors: must be from 1 to 7, got 8"));
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.colors = {1}}),
              HasSubstr("expected a colour for each of "));
}

TEST(FigureOptionsTest, EveryOptionIsReadBySomeFigure) {
  const std::vector<std::string> special = options_unread_by({}, all_changed());
  ASSERT_EQ(special.size(), 7U);
  for (const std::string& option : special) {
    EXPECT_TRUE(std::any_of(all_recipes().begin(), all_recipes().end(), [&](const Recipe& recipe) {
      const auto& read = recipe.options;
      return std::find(read.begin(), read.end(), option) != read.end();
    })) << option;
  }
}

TEST(FigureOptionsTest, AFigureIsGivenTheOptionsThatItReadsAndNoOthers) {
  const Json given = options_to_json(all_changed());
  const Json defaults = options_to_json(FigureOptions{});
  for (const auto& [name, value] : defaults.items()) {
    ASSERT_NE(given.at(name), value) << "all_changed() must change " << name;
  }
  for (const Recipe& recipe : all_recipes()) {
    Json expected = given;
    for (const std::string& option : options_unread_by(recipe, all_changed())) {
      expected[option] = defaults.at(option);
    }
    EXPECT_EQ(options_to_json(options_read_by(recipe, all_changed())), expected) << recipe.name;
    EXPECT_EQ(options_to_json(options_read_by(recipe, {})), defaults) << recipe.name;
  }
}

TEST(FigureOptionsTest, LayersAreChosenAsTheAxesNumberThem) {
  const std::vector<FigureSource> sources = {sample_router(4)};
  const FigureOptions options = {.kind = "router-heads", .layer = {2}, .layer_base = 1};
  EXPECT_EQ(make_figure(sources, options).panels.at(0).title, "layer 2");
  EXPECT_THAT(figure_refusal(sources, {.kind = "router-heads", .layer = {1}, .layer_base = 1}),
              HasSubstr("layer: the results contain no layer 1 (their layers: 2, 3, 4)"));
  EXPECT_THAT(figure_refusal(sources, {.kind = "router-heads", .layer = {0}}),
              HasSubstr("no layer 0 (their layers: 1, 2, 3)"));
}

TEST(FigureOptionsTest, SaysWhatThereIsOfWhatWasAskedFor) {
  EXPECT_EQ(figure_refusal({sample_entropy()}, {.site = {"value"}}),
            "site: the results contain no site 'value' (available: values, hidden)");
  EXPECT_EQ(figure_refusal({sample_entropy()}, {.label = {"Lime"}}),
            "label: the results contain no label 'Lime' (available: LLaMA, LIMe)");
  EXPECT_EQ(figure_refusal({sample_entropy()}, {.kind = "entropi"}),
            "kind: unknown figure 'entropi'; did you mean 'entropy'?");
}

TEST(FigureOptionsTest, LimitsAreThoseAskedFor) {
  const Figure figure = make_figure(std::vector<FigureSource>{sample_entropy()},
                                    {.x_limits = {1.0, 2.0}, .y_limits = {0.0, 4.0}});
  EXPECT_EQ(figure.panels.at(1).x.max, 2.0);
  EXPECT_EQ(figure.panels.at(1).y.min, 0.0);
}

TEST(FigureOptionsTest, LogarithmicAxesLeaveOutWhatIsNotAboveZeroAndSaySo) {
  const std::vector<FigureSource> sources = {testing::sample_comparison(6)};
  const FigureOptions options = {.kind = "comparison", .log_y = true};
  EXPECT_THAT(make_figure(sources, options).note, HasSubstr("values <= 0 are omitted"));
  EXPECT_THAT(make_figure(sources, {.log_y = true}).note, ::testing::Not(HasSubstr("omitted")));
  FigureSource negative = sources.front();
  for (ResultRow& row : negative.results.rows) row.set(col::kMean, -1.0);
  EXPECT_THAT(figure_refusal({negative}, {.log_y = true}), HasSubstr("log_y: needs values > 0"));
  EXPECT_THAT(figure_refusal({sample_router()}, {.log_x = true}), HasSubstr("only line plots"));
}

}  // namespace
}  // namespace lime
