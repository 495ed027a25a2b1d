// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/recipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "support/refusal.h"
#include "viz/figure_columns.h"
#include "viz/figure_file.h"
#include "viz/recipes/recipe.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using ::testing::HasSubstr;
using testing::sample_entropy;
using testing::sample_router;

std::string refusal(const std::vector<FigureSource>& sources, const FigureOptions& options = {}) {
  return testing::refusal_of<InvalidArgument>([&] { make_figure(sources, options); });
}

std::string format_refusal(const FigureSource& source, const std::string& kind) {
  return testing::refusal_of<FormatError>(
      [&] { make_figure(std::vector<FigureSource>{source}, {.kind = kind}); });
}

TEST(RecipesTest, EntropyHasAPanelPerSiteAndACurvePerModel) {
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

TEST(RecipesTest, MissingLayersLeaveAGap) {
  std::vector<FigureSource> sources = {sample_entropy(5)};
  std::erase_if(sources[0].results.rows, [](const Json& row) { return row["layer"] == 2; });
  const Figure figure = make_figure(sources, {});
  const auto& curve = std::get<CurvePanel>(figure.panels[0].content).curves[0];
  ASSERT_EQ(curve.x, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(std::isnan(curve.y[2]));
}

TEST(RecipesTest, ALayerBetweenGapsHasAnErrorBarForABand) {
  std::vector<FigureSource> sources = {sample_entropy(5)};
  std::erase_if(sources[0].results.rows, [](const Json& row) { return row["layer"] == 1; });
  const Figure figure = make_figure(sources, {});
  const Curve& curve = std::get<CurvePanel>(figure.panels[0].content).curves[0];
  EXPECT_EQ(lone_points(curve), (std::vector<std::size_t>{0}));
  EXPECT_THAT(figure.note, HasSubstr("; bands and error bars: 95 % bootstrap intervals"));
  EXPECT_THAT(figure_to_pgfplots(figure, {}), HasSubstr("(0,2) += (0,"));
  EXPECT_TRUE(lone_points(Curve{}).empty());
}

TEST(RecipesTest, NotesSayWhatBandsAndBarsAre) {
  const auto note_of = [](const FigureSource& source, const std::string& kind) {
    return make_figure(std::vector<FigureSource>{source}, {.kind = kind}).note;
  };
  FigureSource entropy = sample_entropy(4);
  entropy.results.options["confidence"] = 0.9;
  EXPECT_THAT(note_of(entropy, "entropy"), HasSubstr("; bands: 90 % bootstrap intervals"));
  EXPECT_THAT(note_of(sample_entropy(1), "entropy"),
              HasSubstr("; error bars: 95 % bootstrap intervals over sequences"));
  EXPECT_EQ(note_of(testing::sample_blimp(4), "blimp"), "site: hidden; bands: 95 % intervals");
  EXPECT_EQ(note_of(testing::sample_separability(4), "separability"),
            "site: hidden; bars: standard deviation over the folds");
  EXPECT_THAT(note_of(testing::sample_blimp(0), "blimp"), HasSubstr("error bars: 95 % intervals"));
  EXPECT_THAT(note_of(testing::sample_comparison(4), "comparison"),
              HasSubstr("; error bars: paired 95 % intervals; * p"));
  FigureSource geometry = testing::sample_geometry(4);
  EXPECT_EQ(note_of(geometry, "geometry"), "site: hidden") << "there are no intervals";
  for (Json& row : geometry.results.rows) {
    row["ci_low"] = row["ci_high"] = row["mean"];
  }
  EXPECT_EQ(note_of(geometry, "geometry"), "site: hidden; bands: 95 % intervals");
}

TEST(RecipesTest, TheNoteOfGeometryNamesTheMeasuresThatHaveBands) {
  FigureSource geometry = testing::sample_geometry(4);
  for (Json& row : geometry.results.rows) {
    if (row["measure"] != "effective_rank") row["ci_low"] = row["ci_high"] = row["mean"];
  }
  const auto note_of = [](const FigureSource& source) {
    return make_figure(std::vector<FigureSource>{source}, {}).note;
  };
  EXPECT_EQ(note_of(geometry),
            "site: hidden; bands: 95 % intervals of anisotropy (mean cosine), curvature (degrees); "
            "the others need --jackknife");
  geometry.results.options["jackknife"] = 10;
  EXPECT_THAT(note_of(geometry), HasSubstr("curvature (degrees); the others have none"));
}

TEST(RecipesTest, EntropyHasAPanelPerSiteAndOrder) {
  FigureSource source = sample_entropy(3);
  for (Json row : std::vector<Json>(source.results.rows)) {
    row["alpha"] = 2.0;
    row["mean"] = 1.0;
    source.results.rows.push_back(row);
    row["alpha"] = "inf";
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
  EXPECT_THAT(figure.note, ::testing::StartsWith("matrix-based entropy; bands: 95 %"));
  // Titles with the name of a line beside them leave no room for two panels side by side.
  EXPECT_EQ(with_fitting_columns(figure, {}).columns, 2);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "acl-column"}).columns, 1);
}

/// Entropies of one model as those of `preset`, with their order and unit.
FigureSource entropy_of(const std::string& preset, double alpha, const std::string& unit,
                        const std::string& label = "LIMe") {
  FigureSource source = sample_entropy(3);
  source.results.options["normalization"] = "maxEntropy";
  std::erase_if(source.results.rows, [](const Json& row) { return row["label"] != "LIMe"; });
  for (Json& row : source.results.rows) {
    row.update(
        {{"preset", preset}, {"alpha", alpha}, {"unit", unit}, {"label", label}, {"n", 100}});
  }
  return source;
}

TEST(RecipesTest, EntropiesOfDifferentPresetsShareNoPanel) {
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
  EXPECT_THAT(refusal({sources[1], sources[1]}), HasSubstr("layer 0 of LIMe comes twice"));
}

TEST(RecipesTest, TheNoteOfEntropySaysPresetOrderAndSequences) {
  FigureSource source = entropy_of("layer-by-layer", 1.0, "ratio");
  EXPECT_EQ(make_figure(std::vector<FigureSource>{source}, {}).note,
            "matrix-based entropy, preset layer-by-layer, \xCE\xB1 = 1, 100 sequences; bands: 95 % "
            "bootstrap intervals over sequences");
  source.results.rows.front()["n"] = 98;
  EXPECT_THAT(make_figure(std::vector<FigureSource>{source}, {}).note,
              HasSubstr(", 98 to 100 sequences; "));
}

TEST(RecipesTest, FiguresOfOneSiteNameIt) {
  for (const FigureSource& source : {sample_entropy(3), testing::sample_geometry(3),
                                     testing::sample_tsne(2), testing::sample_similarity(3)}) {
    const std::string& metric = source.results.metric;
    const bool has_more = metric == "entropy";
    const Figure all = make_figure(std::vector<FigureSource>{source}, {});
    EXPECT_EQ(all.note.find("site: ") == std::string::npos, has_more) << metric << ": " << all.note;
    const Figure one = make_figure(std::vector<FigureSource>{source}, {.site = {"hidden"}});
    EXPECT_THAT(one.note, ::testing::StartsWith("site: hidden")) << metric;
  }
  const Figure compared = make_figure(std::vector<FigureSource>{testing::sample_comparison(3)},
                                      {.kind = "comparison", .site = {"values"}});
  EXPECT_THAT(compared.note, ::testing::StartsWith("site: values; \xCE\xB1 = 0.5; LIMe"));
  const Figure routed =
      make_figure(std::vector<FigureSource>{testing::sample_counterfactual()}, {});
  EXPECT_THAT(routed.note, HasSubstr("; site: values; entropy: \xCE\xB1 = 0.5"));
}

TEST(RecipesTest, GeometryOfSeveralSitesSaysWhichItShows) {
  FigureSource source = testing::sample_geometry(3);
  for (Json row : std::vector<Json>(source.results.rows)) {
    row["site"] = "values";
    source.results.rows.push_back(row);
  }
  EXPECT_EQ(make_figure(std::vector<FigureSource>{source}, {}).note,
            "site: hidden (--site shows others)");
}

TEST(RecipesTest, EveryMethodOfSeparabilityIsHeldAgainstTheCommonestClass) {
  FigureSource source = testing::sample_separability(4);
  const std::vector<Json> rows = source.results.rows;
  for (Json row : rows) {
    row["method"] = "lime-code";
    row.erase("majority");
    source.results.rows.push_back(row);
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  ASSERT_EQ(figure.panels.size(), 2U);
  for (const FigurePanel& panel : figure.panels) {
    ASSERT_EQ(std::get<CurvePanel>(panel.content).references.size(), 1U);
    EXPECT_DOUBLE_EQ(std::get<CurvePanel>(panel.content).references[0].y, 0.25);
  }
}

TEST(RecipesTest, NarrowFiguresHaveFewerPanelsSideBySide) {
  FigureSource entropy = sample_entropy(4);
  for (Json row : std::vector<Json>(entropy.results.rows)) {
    row["site"] = "routed_" + row["site"].get<std::string>();
    entropy.results.rows.push_back(row);
  }
  std::erase_if(entropy.results.rows,
                [](const Json& row) { return row["site"] == "routed_hidden"; });
  const std::vector<FigureSource> sources = {entropy};
  const Figure figure = make_figure(sources, {});
  ASSERT_EQ(figure.columns, 3);
  EXPECT_EQ(with_fitting_columns(figure, {}).columns, 3);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "100"}).columns, 2);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "acl-column"}).columns, 1);
  EXPECT_EQ(with_fitting_columns(figure, {.size = "77x40"}).columns, 3) << "the height is fixed";
  FigureSource geometry = testing::sample_geometry(4);
  for (Json row : std::vector<Json>(geometry.results.rows)) {
    row["site"] = "values";
    geometry.results.rows.push_back(row);
  }
  const Figure many =
      make_figure(std::vector<FigureSource>{geometry}, {.site = {"hidden", "values"}});
  ASSERT_EQ(many.panels.size(), 6U);
  EXPECT_EQ(with_fitting_columns(many, {.size = "acl-column"}).columns, 2);
  const Figure chosen = make_figure(sources, {.columns = 3});
  EXPECT_EQ(with_fitting_columns(chosen, {.size = "acl-column"}).columns, 3);
}

TEST(RecipesTest, LabelsStayAtTheEdgesOfANarrowSheet) {
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

TEST(RecipesTest, StepsAreRound) {
  EXPECT_EQ(round_step(512, 10), 100);
  EXPECT_EQ(round_step(20, 4), 5);
}

TEST(RecipesTest, ABlimpTableSaysOfWhatItIsAndWhatItsSpreadIs) {
  FigureSource source = testing::sample_blimp(4);
  source.results.options["folds"] = 5;
  source.results.options["confidence"] = 0.9;
  for (Json& row : source.results.rows) row.update(Json{{"tasks", 67}, {"pairs", 67000}});
  const auto table_of = [&](const std::vector<int>& layer, std::optional<BlimpGroups> by) {
    return make_figure(std::vector<FigureSource>{source},
                       {.kind = "blimp-table", .layer = layer, .by = by, .layer_base = 1});
  };
  const auto first_cell = [](const Figure& figure) {
    return std::get<TablePanel>(figure.panels.at(0).content).rows.at(0).at(1);
  };
  const Figure all = table_of({}, {});
  // 0.58 and 0, 2, 4, 6 per cent over the layers, whose deviation is the root of 5.
  EXPECT_EQ(first_cell(all), "61.0 \xC2\xB1 2.2");
  EXPECT_EQ(
      all.note,
      "probes, layers 1-4, 67 tasks, 67,000 pairs, 5 folds; means \xC2\xB1 standard deviation "
      "over the layers");
  EXPECT_THAT(figure_to_pgfplots(all, {}), HasSubstr("61.0 $\\pm$ 2.2"));
  EXPECT_THAT(table_of({1, 3}, {}).note, HasSubstr("layers 1, 3, "));
  const Figure one = table_of({2}, {});
  EXPECT_EQ(first_cell(one), "60.0 [56.0, 63.0]");
  EXPECT_THAT(one.note, HasSubstr("layer 2, 67 tasks, 67,000 pairs, 5 folds; [ ]: 90 % intervals"));
  for (Json& row : source.results.rows) {
    if (row["level"] != "linguistics_term") continue;
    row.update(Json{{"level", "task"}, {"std", 0.013}, {"ci_low", nullptr}, {"ci_high", nullptr}});
  }
  const Figure tasks = table_of({2}, BlimpGroups::kTask);
  EXPECT_EQ(first_cell(tasks), "60.0 \xC2\xB1 1.3");
  EXPECT_THAT(tasks.note, HasSubstr("\xC2\xB1: standard deviation over the folds"));
  const FigureSource zero_shot = testing::sample_blimp(0);
  EXPECT_EQ(make_figure(std::vector<FigureSource>{zero_shot}, {.kind = "blimp-table"}).note,
            "zero-shot; [ ]: 95 % intervals");
}

TEST(RecipesTest, ATableOfOneGroupDoesNotSayItTwice) {
  FigureSource source = testing::sample_blimp(0);
  std::erase_if(source.results.rows,
                [](const Json& row) { return row["level"] != "all" && row["name"] != "syntax"; });
  for (Json& row : source.results.rows) row["mean"] = row["ci_low"] = row["ci_high"] = 0.5;
  const Figure figure = make_figure(std::vector<FigureSource>{source},
                                    {.kind = "blimp-table", .by = BlimpGroups::kField});
  EXPECT_EQ(std::get<TablePanel>(figure.panels.at(0).content).rows.size(), 1U);
}

TEST(RecipesTest, TheMeanMapIsALowerTriangle) {
  const std::vector<FigureSource> sources = {sample_router(4)};
  const Figure figure = make_figure(sources, {});
  const auto& map = std::get<MapPanel>(figure.panels.at(0).content);
  // Layer 0 has nothing to choose from.
  ASSERT_EQ(map.values.rows(), 3);
  // Row 0 is drawn at the bottom: the last layer.
  EXPECT_DOUBLE_EQ(map.values(0, 3), 0.25);
  EXPECT_DOUBLE_EQ(map.values(2, 0), 0.5);
  EXPECT_TRUE(std::isnan(map.values(2, 2)));
}

TEST(RecipesTest, SignedWeightsAreCentredAtZero) {
  const std::vector<FigureSource> sources = {sample_router(3)};
  const Figure figure = make_figure(sources, {.kind = "router-signed"});
  EXPECT_EQ(colour_range_of(figure), std::pair(-0.5, 0.5));
}

TEST(RecipesTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(refusal({sample_entropy()}, {.kind = "router-mean"}),
              HasSubstr("does not show results of entropy; fitting: entropy"));
  EXPECT_THAT(refusal({sample_entropy(), sample_router()}), HasSubstr("of one metric"));
  FigureSource empty = sample_entropy();
  empty.results.rows.clear();
  EXPECT_THAT(refusal({empty}), HasSubstr("holds no rows"));
  EXPECT_THAT(refusal({sample_entropy()}, {.site = {"keys"}}), HasSubstr("values, hidden"));
  FigureSource unknown = sample_entropy();
  unknown.results.metric = "weather";
  EXPECT_THAT(refusal({unknown}),
              HasSubstr("there are figures of attention, blimp, cost, counterfactual, entropy"));
  EXPECT_THAT(refusal({sample_entropy()}, {.layer_base = 2}), HasSubstr("must be 0 or 1"));
  EXPECT_THAT(refusal({sample_entropy()}, {.y_limits = {3.0}}), HasSubstr("two numbers"));
  EXPECT_THAT(refusal({sample_entropy(), sample_entropy()}), HasSubstr("comes twice"));
}

TEST(RecipesTest, RefusesOptionsThatTheFigureDoesNotRead) {
  EXPECT_THAT(refusal({sample_entropy()}, {.head = {7}, .router = {"nonsense"}}),
              ::testing::StartsWith("figure: entropy has no --head, --router; it has --kind, "
                                    "--site, --label, --layer-base"));
  EXPECT_THAT(refusal({sample_router()}, {.kind = "router-mean", .layer = {1}}),
              HasSubstr("router-mean has no --layer; it has --weighting, "));
  EXPECT_THAT(refusal({testing::sample_separability()}, {.over = TrainingAxis::kFlops}),
              HasSubstr("separability has no --over"));
  EXPECT_THAT(refusal({testing::sample_cost()}, {.x_limits = {0.0, 1.0}}),
              HasSubstr("x_limits: cost is a table"));
  EXPECT_THAT(refusal({testing::sample_attention_heads()}, {.measure = {"entropy", "distance"}}),
              HasSubstr("measure: attention-heads shows one of them, got entropy,distance"));
  // Where the usual figure has nothing to show, the next one may have the option.
  EXPECT_EQ(refusal({testing::sample_attention_heads()}, {.measure = {"first_share"}}), "");
}

/// Options of which each differs from its default.
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
          .columns = 3,
          .mixed_texts = true};
}

TEST(RecipesTest, EveryOptionIsReadBySomeFigure) {
  const std::vector<std::string> special = options_unread_by({}, all_changed());
  ASSERT_EQ(special.size(), 7U);
  for (const std::string& option : special) {
    EXPECT_TRUE(std::any_of(all_recipes().begin(), all_recipes().end(), [&](const Recipe& recipe) {
      const auto& read = recipe.options;
      return std::find(read.begin(), read.end(), option) != read.end();
    })) << option;
  }
}

TEST(RecipesTest, AFigureIsGivenTheOptionsThatItReadsAndNoOthers) {
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

TEST(RecipesTest, LayersAreChosenAsTheAxesNumberThem) {
  const std::vector<FigureSource> sources = {sample_router(4)};
  const FigureOptions options = {.kind = "router-heads", .layer = {2}, .layer_base = 1};
  EXPECT_EQ(make_figure(sources, options).panels.at(0).title, "layer 2");
  EXPECT_THAT(refusal(sources, {.kind = "router-heads", .layer = {1}, .layer_base = 1}),
              HasSubstr("layer: the results have no layer 1; there are layers 2, 3, 4"));
  EXPECT_THAT(refusal(sources, {.kind = "router-heads", .layer = {0}}),
              HasSubstr("no layer 0; there are layers 1, 2, 3"));
}

TEST(RecipesTest, SaysWhatThereIsOfWhatWasAskedFor) {
  EXPECT_EQ(refusal({sample_entropy()}, {.site = {"value"}}),
            "site: the results have no site 'value'; there are values, hidden");
  EXPECT_EQ(refusal({sample_entropy()}, {.label = {"Lime"}}),
            "label: the results have no label 'Lime'; there are LLaMA, LIMe");
  EXPECT_EQ(refusal({sample_entropy()}, {.kind = "entropi"}),
            "kind: there is no figure 'entropi'; did you mean 'entropy'?");
}

TEST(RecipesTest, CostSaysOverHowManyTokensEachRowIs) {
  FigureSource source = testing::sample_cost();
  source.results.rows.back()["sequence_length"] = 512;
  EXPECT_THAT(make_figure(std::vector<FigureSource>{source}, {}).note,
              HasSubstr("over as many tokens as the row says"));
}

TEST(RecipesTest, CounterfactualChangesNumberLayersAsTheAxes) {
  FigureSource source = testing::sample_counterfactual(4);
  for (Json& row : source.results.rows) {
    if (row.contains("router") && row["router"] == "unsigned") row["router"] = "cut-0";
  }
  const Figure figure = make_figure(std::vector<FigureSource>{source},
                                    {.kind = "counterfactual-change", .layer_base = 1});
  EXPECT_THAT(figure.note, HasSubstr("mean over layers from 2 on"));
  EXPECT_EQ(std::get<BarPanel>(figure.panels.at(0).content).groups.at(2), "cut-1");
}

TEST(RecipesTest, RefusesIndicesThatNoMapHas) {
  for (const Json& value : {Json(-1000000), Json(9999), Json(1e308), Json("nan"), Json(nullptr),
                            Json(0.5), Json("x"), Json(true)}) {
    FigureSource router = sample_router(4);
    for (Json& row : router.results.rows) row["source_layer"] = value;
    for (const char* const kind : {"router-mean", "router-heads", "router-signed"}) {
      EXPECT_THAT(format_refusal(router, kind), HasSubstr("figure: 'router.json': 'source_layer'"))
          << kind << value;
    }
  }
  FigureSource router = sample_router(4);
  router.results.rows.back()["source_layer"] = -1000000;
  EXPECT_EQ(format_refusal(router, "router-signed"),
            "figure: 'router.json': 'source_layer' must be a whole number from 0 to 3, got "
            "-1000000");
}

TEST(RecipesTest, NoFigureBelievesAnIndexOfAFile) {
  for (const FigureSource& whole : testing::sample_sources()) {
    for (const char* const key : {"layer", "head", "source_layer", "source_head", "other_layer",
                                  "query", "key", "position"}) {
      for (const Json& value :
           {Json(-1), Json(2147483648.0), Json(9999), Json("nan"), Json(nullptr), Json(1.5)}) {
        FigureSource spoilt = whole;
        for (Json& row : spoilt.results.rows) {
          if (row.contains(key)) row[key] = value;
        }
        for (const Recipe* const recipe : recipes_of(whole.results.metric)) {
          try {
            make_figure(std::vector<FigureSource>{spoilt}, {.kind = recipe->name});
          } catch (const Error& error) {
            EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("\n")));
          }
        }
      }
    }
  }
}

TEST(RecipesTest, RowsWithoutALabelMakeNoFigure) {
  FigureSource nameless = sample_router(4);
  for (Json& row : nameless.results.rows) row.erase("label");
  EXPECT_THAT(refusal({nameless}, {.kind = "router-heads"}),
              HasSubstr("no row has all that router-heads shows, with a label"));
}

TEST(RecipesTest, RefusesAMapThatItsRowsCannotFill) {
  FigureSource few = sample_router(4);
  for (Json& row : few.results.rows) row["layer"] = 9999;
  EXPECT_THAT(format_refusal(few, "router-mean"),
              HasSubstr("a map of 9999 x 10000 cells has more than 9 rows"));
}

TEST(RecipesTest, SeparabilityHasBarsControlsAndTheCommonestClass) {
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
  EXPECT_EQ(legend[2].look.colour, kMutedColour);
  EXPECT_EQ(legend[3].label, "commonest class");
}

TEST(RecipesTest, ComparisonHasStarsWhereTheCorrectedPValueSaysSo) {
  const std::vector<FigureSource> sources = {testing::sample_comparison(4)};
  const Figure figure = make_figure(sources, {.kind = "comparison"});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& panel = std::get<CurvePanel>(figure.panels[0].content);
  ASSERT_EQ(panel.curves.size(), 1U);
  EXPECT_EQ(panel.curves[0].stars, (std::vector<std::string>{"***", "", "*", "***"}));
  EXPECT_DOUBLE_EQ(panel.curves[0].y[0], 0.4);
  EXPECT_TRUE(panel.references.at(0).is_zero);
  EXPECT_THAT(figure.note, HasSubstr("Holm"));
  EXPECT_THAT(refusal({sample_entropy()}, {.kind = "comparison"}), HasSubstr("with --compare"));
}

TEST(RecipesTest, ComparisonsOfDifferentPresetsShareNoPanel) {
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

TEST(RecipesTest, ComparedResultsStillShowTheirCurves) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_comparison(4)}, {});
  EXPECT_EQ(std::get<CurvePanel>(figure.panels.at(0).content).curves.size(), 2U);
}

TEST(RecipesTest, MeanMapsShowEveryWeightingThatIsThere) {
  const std::vector<FigureSource> sources = {testing::sample_weighted_router(3)};
  const Figure shares = make_figure(sources, {});
  ASSERT_EQ(shares.panels.size(), 2U);
  EXPECT_EQ(shares.panels[0].title, "|R|");
  EXPECT_EQ(shares.panels[1].title, "|R| \xC3\x97 rms of keys");
  EXPECT_NEAR(std::get<MapPanel>(shares.panels[1].content).values(1, 0), 0.55, 1e-12);
  EXPECT_EQ(shares.colour_label, "share");
  const Figure change = make_figure(sources, {.weighting = {"keys - none"}});
  ASSERT_EQ(change.panels.size(), 1U);
  EXPECT_TRUE(std::get<MapPanel>(change.panels[0].content).is_signed);
  EXPECT_EQ(colour_range_of(change), std::pair(-0.1, 0.1));
  EXPECT_THAT(refusal(sources, {.weighting = {"none", "keys - none"}}),
              HasSubstr("shares and differences need a figure each"));
  EXPECT_THAT(refusal(sources, {.weighting = {"values"}}),
              HasSubstr("no 'values', there are none, keys, keys - none"));
}

TEST(RecipesTest, MapsPerHeadAreOfOneWeighting) {
  const std::vector<FigureSource> sources = {testing::sample_weighted_router(3)};
  const Figure bare = make_figure(sources, {.kind = "router-heads"});
  EXPECT_DOUBLE_EQ(std::get<MapPanel>(bare.panels.at(0).content).values(0, 0), 0.5);
  const Figure keys = make_figure(sources, {.kind = "router-heads", .weighting = {"keys"}});
  EXPECT_DOUBLE_EQ(std::get<MapPanel>(keys.panels.at(0).content).values(0, 0), 0.55);
  EXPECT_EQ(keys.colour_label, "share of |R| \xC3\x97 rms of keys");
  EXPECT_THAT(refusal(sources, {.kind = "router-heads", .weighting = {"none", "keys"}}),
              HasSubstr("maps per head show one of them"));
}

TEST(RecipesTest, RoutersOfTwoModelsHaveMapsOfTheirOwn) {
  std::vector<FigureSource> sources = {sample_router(3), sample_router(4)};
  for (Json& row : sources[1].results.rows) row["label"] = "other";
  const Figure heads = make_figure(sources, {.kind = "router-heads"});
  ASSERT_EQ(heads.panels.size(), 5U);
  EXPECT_EQ(heads.panels[0].title, "LIMe, layer 1");
  EXPECT_EQ(heads.panels[4].title, "other, layer 3");
  const Figure weights = make_figure(sources, {.kind = "router-signed"});
  ASSERT_EQ(weights.panels.size(), 5U);
  EXPECT_EQ(weights.panels[2].title, "other");
  EXPECT_EQ(weights.panels[0].x.max, weights.panels[4].x.max);
}

TEST(RecipesTest, CounterfactualHasACurvePerRouterAndOneOfThePlainTransformer) {
  const std::vector<FigureSource> sources = {testing::sample_counterfactual(4)};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[1].y.label, "effective rank");
  const auto& panel = std::get<CurvePanel>(figure.panels[0].content);
  ASSERT_EQ(panel.curves.size(), 6U);
  EXPECT_EQ(panel.curves[1].label, "identity");
  EXPECT_EQ(panel.curves[1].x, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(panel.curves[1].y[1], 2.2);
  EXPECT_EQ(panel.curves[4].look.colour, kMutedColour);  // random, a control
  EXPECT_EQ(panel.curves[5].label, "LLaMA");
  ASSERT_EQ(panel.references.size(), 1U);
  EXPECT_EQ(panel.references[0].label, "ceiling");
  const Figure some = make_figure(sources, {.measure = {"entropy"}, .router = {"trained"}});
  EXPECT_EQ(std::get<CurvePanel>(some.panels.at(0).content).curves.size(), 2U);
  EXPECT_THAT(refusal(sources, {.router = {"best"}}),
              HasSubstr("no 'best'; there are trained, identity, last-2, unsigned, random"));
}

TEST(RecipesTest, CounterfactualChangesHaveABarPerRouter) {
  const std::vector<FigureSource> sources = {testing::sample_counterfactual(4)};
  const Figure figure = make_figure(sources, {.kind = "counterfactual-change"});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& bars = std::get<BarPanel>(figure.panels[0].content);
  EXPECT_EQ(bars.groups, (std::vector<std::string>{"identity", "last-2", "unsigned", "random"}));
  EXPECT_DOUBLE_EQ(bars.series.at(0).values[2], -0.3);
  EXPECT_DOUBLE_EQ(bars.series.at(0).low[2], -0.34);
}

TEST(RecipesTest, CounterfactualEntropyHasAPanelPerPresetAndOrder) {
  FigureSource source = testing::sample_counterfactual(3);
  source.results.options["preset"] = "lime-code";
  for (Json row : std::vector<Json>(source.results.rows)) {
    if (row["quantity"] != "entropy") continue;
    row["alpha"] = 2.0;
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
    EXPECT_THAT(refusal({source, source}, {.kind = kind}), HasSubstr(" of LIMe"));
    EXPECT_THAT(refusal({source, source}, {.kind = kind}), HasSubstr(" comes twice"));
  }
}

TEST(RecipesTest, TheGapIsShownWithItsParts) {
  const std::vector<FigureSource> sources = {testing::sample_counterfactual(4)};
  const Figure figure = make_figure(sources, {.kind = "counterfactual-gap"});
  ASSERT_EQ(figure.panels.size(), 2U);
  const auto& curves = std::get<CurvePanel>(figure.panels[0].content).curves;
  ASSERT_EQ(curves.size(), 3U);
  for (std::size_t l = 0; l < 4; ++l) {
    EXPECT_NEAR(curves[0].y[l], curves[1].y[l] + curves[2].y[l], 1e-12);
  }
  FigureSource alone = sources.front();
  std::erase_if(alone.results.rows, [](const Json& row) { return row.contains("part"); });
  EXPECT_THAT(refusal({alone}, {.kind = "counterfactual-gap"}), HasSubstr("with --against"));
}

TEST(RecipesTest, CloudsHaveAPanelPerModelAndLayerAndOneLegend) {
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
  EXPECT_THAT(refusal(sources, {.layer = {9}}), HasSubstr("there are layers 0, 1"));
}

TEST(RecipesTest, GeometryShowsTheUsualMeasuresOrThoseAskedFor) {
  const std::vector<FigureSource> sources = {testing::sample_geometry(4)};
  const Figure usual = make_figure(sources, {});
  ASSERT_EQ(usual.panels.size(), 3U);
  EXPECT_EQ(usual.panels[2].y.label, "curvature (degrees)");
  const Figure asked = make_figure(sources, {.measure = {"rankme"}});
  ASSERT_EQ(asked.panels.size(), 1U);
  EXPECT_EQ(asked.panels[0].y.label, "RankMe");
  EXPECT_THAT(refusal(sources, {.measure = {"size"}}),
              HasSubstr("no 'size'; there are effective_rank, anisotropy, curvature, rankme"));
}

TEST(RecipesTest, SimilarityHasAMapPerPairOfModels) {
  const std::vector<FigureSource> sources = {testing::sample_similarity(3)};
  const Figure figure = make_figure(sources, {});
  ASSERT_EQ(figure.panels.size(), 3U);
  EXPECT_EQ(figure.panels[2].x.label, "layer of LIMe");
  EXPECT_EQ(figure.panels[2].y.label, "layer of LLaMA");
  const auto& map = std::get<MapPanel>(figure.panels[2].content);
  EXPECT_DOUBLE_EQ(map.values(2, 1), 0.8 * std::exp(-0.3));
  EXPECT_EQ(colour_range_of(figure), std::pair(0.0, 1.0));
  EXPECT_EQ(make_figure(sources, {.measure = {"procrustes"}}).colour_label, "Procrustes distance");
}

TEST(RecipesTest, TokensHaveAMapPerModel) {
  FigureSource source;
  source.results.metric = "tokens";
  for (const char* const label : {"LLaMA", "LIMe"}) {
    for (int layer = 0; layer < 2; ++layer) {
      for (int position = 0; position < 40; ++position) {
        const bool is_massive = layer == 1 && position == 2 && label == std::string("LIMe");
        source.results.rows.push_back(
            {{"label", label},
             {"site", "hidden"},
             {"layer", layer},
             {"position", position},
             {"text", std::string(1, static_cast<char>('a' + position % 26))},
             {"norm", 1.0 + position % 3 + (is_massive ? 100.0 : 0.0)},
             {"next_cosine", position == 39 ? Json(nullptr) : Json(-0.5)},
             {"entropy_contribution", 0.1 * position}});
      }
    }
  }
  const std::vector<FigureSource> sources = {source};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[0].title, "LLaMA");
  EXPECT_EQ(figure.panels[0].x.ticks.at(1).label, "b");
  EXPECT_EQ(figure.panels[0].y.ticks.at(1).label, "2");
  const auto& map = std::get<MapPanel>(figure.panels[0].content);
  EXPECT_TRUE(map.is_signed);
  EXPECT_DOUBLE_EQ(map.values(1, 2), 0.2);
  EXPECT_EQ(figure.colour_label, "contribution (nats)");
  const Figure cosines = make_figure(sources, {.measure = {"next_cosine"}});
  EXPECT_TRUE(std::isnan(std::get<MapPanel>(cosines.panels[0].content).values(0, 39)));
  const Figure norms = make_figure(sources, {.measure = {"norm"}});
  EXPECT_EQ(norms.note, "site: hidden; norms above the scale have its last colour");
  EXPECT_EQ(norms.colour_range, std::pair(0.0, 3.0)) << "one token is far above all others";
  EXPECT_THAT(refusal(sources, {.measure = {"curvature"}}),
              HasSubstr("measure: tokens have norm, relative_norm, next_cosine, "
                        "entropy_contribution, got 'curvature'"));
}

TEST(RecipesTest, AttentionOfASequenceHasAMapPerLayerAndHead) {
  const std::vector<FigureSource> sources = {testing::sample_attention(3)};
  const Figure figure = make_figure(sources, {.layer_base = 1});
  EXPECT_EQ(figure.name, "attention");
  ASSERT_EQ(figure.panels.size(), 6U);
  EXPECT_EQ(figure.panels[1].title, "layer 1, head 1");
  EXPECT_EQ(figure.panels[0].y.label, "query");
  EXPECT_EQ(figure.panels[0].y.ticks.at(1).label, "3");
  EXPECT_EQ(figure.panels[0].x.ticks.at(5).label, "27");
  ASSERT_TRUE(figure.panels[0].x.if_crowded) << "small panels say the positions instead";
  EXPECT_EQ(figure.panels[0].x.if_crowded->ticks.at(5).label, "5");
  const auto& map = std::get<MapPanel>(figure.panels[1].content);
  EXPECT_DOUBLE_EQ(map.values(0, 3), 1.0 / 6.0) << "the last query is at the bottom";
  EXPECT_DOUBLE_EQ(map.values(4, 1), 0.5);
  EXPECT_TRUE(std::isnan(map.values(4, 2))) << "what comes is not seen";
  EXPECT_EQ(figure.colour_range, std::pair(0.0, 1.0));
  EXPECT_EQ(make_figure(sources, {.layer = {2}, .head = {0}}).panels.size(), 1U);
  EXPECT_THAT(refusal(sources, {.head = {2}}),
              HasSubstr("head: the results have no head 2; there are 0, 1"));
  EXPECT_THAT(refusal(sources, {.layer = {3}}), HasSubstr("there are layers 0, 1, 2"));
}

TEST(RecipesTest, AttentionOfManyHeadsLeavesLayersOutAndSaysSo) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_attention(40)}, {});
  EXPECT_EQ(figure.panels.size(), 64U);
  EXPECT_THAT(figure.note, HasSubstr(", 39 of 40; --layer shows others"));
}

TEST(RecipesTest, AttentionWithoutASequenceIsAMapOfItsHeads) {
  const std::vector<FigureSource> sources = {testing::sample_attention_heads(6, 4)};
  const Figure figure = make_figure(sources, {});
  EXPECT_EQ(figure.name, "attention-heads");
  ASSERT_EQ(figure.panels.size(), 2U);
  EXPECT_EQ(figure.panels[1].title, "LIMe");
  EXPECT_EQ(figure.colour_label, "entropy (nats)");
  EXPECT_DOUBLE_EQ(std::get<MapPanel>(figure.panels[1].content).values(5, 3), 1.7);
  const Figure sinks = make_figure(sources, {.measure = {"first_share"}});
  EXPECT_EQ(sinks.colour_range, std::pair(0.0, 1.0));
  EXPECT_THAT(refusal(sources, {.measure = {"norm"}}),
              HasSubstr("measure: attention has entropy, effective_keys, distance, first_share, "
                        "previous_share, own_share, got 'norm'"));
  EXPECT_THAT(refusal(sources, {.kind = "attention"}), HasSubstr("with --sequence N"));
}

TEST(RecipesTest, RoutedAttentionHasBufferedLayersAndKeys) {
  const std::vector<FigureSource> sources = {testing::sample_attention(2)};
  const Figure figure =
      make_figure(sources, {.kind = "attention-routed", .layer = {1}, .head = {0}});
  ASSERT_EQ(figure.panels.size(), 1U);
  const auto& map = std::get<MapPanel>(figure.panels[0].content);
  EXPECT_EQ(map.values.rows(), 2);
  EXPECT_DOUBLE_EQ(map.values(1, 2), 4.0 / 35.0);
  EXPECT_EQ(map.values.cols(), 5) << "what comes after the query has no room";
  EXPECT_EQ(figure.note, "query: '=', position 4");
  EXPECT_THAT(refusal({testing::sample_attention_heads()}, {.kind = "attention-routed"}),
              HasSubstr("--sequence N --query Q on a capture with routers"));
}

TEST(RecipesTest, BlimpIsCurvesBarsOrATable) {
  const Figure curves = make_figure(std::vector<FigureSource>{testing::sample_blimp(4)}, {});
  const auto& panel = std::get<CurvePanel>(curves.panels.at(0).content);
  EXPECT_DOUBLE_EQ(panel.curves.at(1).y[0], 0.77);
  EXPECT_EQ(panel.references.at(0).label, "chance");
  const Figure fields =
      make_figure(std::vector<FigureSource>{testing::sample_blimp(4)}, {.by = BlimpGroups::kField});
  EXPECT_EQ(fields.panels.size(), 2U);
  const Figure bars = make_figure(std::vector<FigureSource>{testing::sample_blimp(0)}, {});
  EXPECT_EQ(
      std::get<BarPanel>(bars.panels.at(0).content).groups,
      (std::vector<std::string>{"mean over tasks", "island effects", "determiner noun agreement"}));
  const Figure table =
      make_figure(std::vector<FigureSource>{testing::sample_blimp(0)}, {.kind = "blimp-table"});
  const auto& cells = std::get<TablePanel>(table.panels.at(0).content);
  EXPECT_EQ(cells.head, (std::vector<std::string>{"accuracy in %", "LLaMA", "LIMe"}));
  EXPECT_EQ(cells.rows.back(), (std::vector<std::string>{"mean over tasks", "72.0 [68.0, 75.0]",
                                                         "77.0 [73.0, 80.0]"}));
  EXPECT_THAT(refusal({testing::sample_blimp(0)}, {.by = BlimpGroups::kTask}),
              HasSubstr("no rows by task; there are all, field, linguistics_term"));
}

TEST(RecipesTest, ZeroShotBarsHaveStarsWhereTheModelsWereCompared) {
  FigureSource source = testing::sample_blimp(0);
  source.results.rows.push_back({{"kind", "comparison"},
                                 {"label", "LIMe"},
                                 {"baseline", "LLaMA"},
                                 {"quantity", "accuracy"},
                                 {"p_holm", 0.004}});
  const Figure figure = make_figure(std::vector<FigureSource>{source}, {});
  const auto& bars = std::get<BarPanel>(figure.panels.at(0).content);
  EXPECT_TRUE(bars.series.at(0).stars.empty());
  EXPECT_EQ(bars.series.at(1).stars, (std::vector<std::string>{"**", "", ""}));
  EXPECT_THAT(figure.note, HasSubstr("difference to LLaMA over all pairs"));
}

TEST(RecipesTest, LossRunsOverStepsTokensOrFlops) {
  const std::vector<FigureSource> sources = {testing::sample_training("LLaMA"),
                                             testing::sample_training("LIMe")};
  const Figure steps = make_figure(sources, {});
  const auto& curves = std::get<CurvePanel>(steps.panels.at(0).content).curves;
  ASSERT_EQ(curves.size(), 4U);
  EXPECT_TRUE(curves[0].look.is_faint);
  EXPECT_EQ(curves[2].label, "LLaMA");
  EXPECT_EQ(curves[2].x.front(), 40.0);
  EXPECT_EQ(legend_of(steps).size(), 2U);
  const Figure flops = make_figure(sources, {.over = TrainingAxis::kFlops, .log_x = true});
  EXPECT_EQ(std::get<CurvePanel>(flops.panels.at(0).content).curves[2].x.front(), 2.4e11);
  EXPECT_EQ(flops.panels[0].x.label, "training FLOPs (6 N tokens)");
  EXPECT_TRUE(flops.panels[0].x.logarithmic);
}

TEST(RecipesTest, CostIsATableWithoutColumnsThatSayNothing) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_cost()}, {});
  const auto& table = std::get<TablePanel>(figure.panels.at(0).content);
  EXPECT_EQ(table.head, (std::vector<std::string>{"decoder", "parameters", "of them routers",
                                                  "MACs", "of them mixing", "KV cache"}));
  EXPECT_EQ(table.rows.at(1), (std::vector<std::string>{"LIMe", "1.07608 B", "8,640", "2.7638 T",
                                                        "0.08 %", "128 MiB"}));
}

TEST(RecipesTest, RefusesDifferentTextsInOneFigure) {
  FigureSource first = sample_entropy();
  first.results.inputs = {{"llama.h5", "1", "LLaMA", "aaaa"}};
  FigureSource second = first;
  second.results.inputs = {{"lime.h5", "2", "LIMe", "bbbb"}};
  std::erase_if(first.results.rows, [](const Json& row) { return row["label"] == "LIMe"; });
  std::erase_if(second.results.rows, [](const Json& row) { return row["label"] == "LLaMA"; });
  EXPECT_THAT(refusal({first, second}),
              HasSubstr("must be of one text, 'llama.h5' (LLaMA) and 'lime.h5' (LIMe)"));
  EXPECT_EQ(refusal({first, second}, {.mixed_texts = true}), "");
  second.results.inputs[0].text_sha256 = "aaaa";
  EXPECT_EQ(refusal({first, second}), "");
}

TEST(RecipesTest, ManyLayersHaveRoundTicks) {
  const Figure map = make_figure(std::vector<FigureSource>{sample_router(128, 1)}, {});
  const std::vector<AxisTick>& ticks = map.panels.at(0).x.ticks;
  ASSERT_EQ(ticks.size(), 7U);
  EXPECT_EQ(ticks[1].label, "20");
  const Figure heads =
      make_figure(std::vector<FigureSource>{sample_router(20, 2)}, {.kind = "router-heads"});
  // Labels stand at the edges of the sheet only.
  EXPECT_EQ(heads.panels.at(0).x.label, "");
  EXPECT_EQ(heads.panels.at(0).y.label, "head");
  EXPECT_EQ(heads.panels.at(1).y.label, "");
  EXPECT_EQ(heads.panels.back().x.label, "buffered layer");
}

TEST(RecipesTest, OneLayerHasBarsForABand) {
  const Figure figure = make_figure(std::vector<FigureSource>{sample_entropy(1)}, {});
  const auto& panel = std::get<CurvePanel>(figure.panels.at(0).content);
  EXPECT_EQ(panel.curves.at(0).spread, Curve::Spread::kBars);
}

TEST(RecipesTest, LimitsAreThoseAskedFor) {
  const Figure figure = make_figure(std::vector<FigureSource>{sample_entropy()},
                                    {.x_limits = {1.0, 2.0}, .y_limits = {0.0, 4.0}});
  EXPECT_EQ(figure.panels.at(1).x.max, 2.0);
  EXPECT_EQ(figure.panels.at(1).y.min, 0.0);
}

TEST(RecipesTest, LatexSaysWhatLettersMeanToIt) {
  const Figure figure =
      make_figure(std::vector<FigureSource>{testing::sample_comparison()}, {.kind = "comparison"});
  const std::string tex = figure_to_pgfplots(figure, {});
  EXPECT_THAT(tex, HasSubstr("ylabel={$\\Delta$ entropy (nats)}"));
  EXPECT_THAT(
      tex, HasSubstr("LIMe $-$ LLaMA; error bars: paired 95 \\% intervals; * p \\textless{} 0.05"));
  EXPECT_THAT(tex, HasSubstr("{***}"));
  // LaTeX knows no letters beyond ASCII unless told.
  EXPECT_TRUE(std::all_of(tex.begin(), tex.end(), [](char c) { return c > 0; }));
}

TEST(RecipesTest, LatexLeavesAGapWhereALayerIsMissing) {
  std::vector<FigureSource> sources = {sample_entropy(5)};
  std::erase_if(sources[0].results.rows, [](const Json& row) { return row["layer"] == 2; });
  EXPECT_THAT(figure_to_pgfplots(make_figure(sources, {}), {}), HasSubstr("(2,nan)"));
}

TEST(RecipesTest, LogarithmicAxesLeaveOutWhatIsNotAboveZeroAndSaySo) {
  const std::vector<FigureSource> sources = {testing::sample_comparison(6)};
  const FigureOptions options = {.kind = "comparison", .log_y = true};
  EXPECT_THAT(make_figure(sources, options).note, HasSubstr("not above 0 are left out"));
  EXPECT_THAT(make_figure(sources, {.log_y = true}).note, ::testing::Not(HasSubstr("left out")));
  FigureSource negative = sources.front();
  for (Json& row : negative.results.rows) row["mean"] = -1.0;
  EXPECT_THAT(refusal({negative}, {.log_y = true}), HasSubstr("log_y: needs values > 0"));
  EXPECT_THAT(refusal({sample_router()}, {.log_x = true}), HasSubstr("only figures of curves"));
}

TEST(RecipesTest, CsvHoldsWhatIsDrawn) {
  const std::vector<FigureSource> sources = {sample_entropy(2)};
  const std::string csv = figure_to_csv(make_figure(sources, {}));
  EXPECT_THAT(csv, HasSubstr("panel,title,series,x,y,low,high\n0,values,LLaMA,0,2,1.95,2.05\n"));
  Figure two_lines = make_figure(sources, {});
  two_lines.panels.front().title = "all\rvalues";
  EXPECT_THAT(figure_to_csv(two_lines), HasSubstr("\n0,\"all\rvalues\",LLaMA,0,"));
}

}  // namespace
}  // namespace lime
