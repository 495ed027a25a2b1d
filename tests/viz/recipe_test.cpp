// SPDX-License-Identifier: Apache-2.0
#include "viz/recipes/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "viz/figure_refusal.h"
#include "viz/sample_results.h"

namespace lime {
namespace {

using testing::figure_refusal;
using ::testing::HasSubstr;
using testing::sample_entropy;
using testing::sample_router;

TEST(RecipeTest, NotesSayWhatBandsAndBarsAre) {
  const auto note_of = [](const FigureSource& source, const std::string& kind) {
    return make_figure(std::vector<FigureSource>{source}, {.kind = kind}).note;
  };
  FigureSource entropy = sample_entropy(4);
  entropy.results.options["confidence"] = 0.9;
  EXPECT_THAT(note_of(entropy, "entropy"), HasSubstr("; bands: 90% bootstrap intervals"));
  EXPECT_THAT(note_of(sample_entropy(1), "entropy"),
              HasSubstr("; error bars: 95% bootstrap intervals over sequences"));
  EXPECT_EQ(note_of(testing::sample_blimp(4), "blimp"), "site: hidden; bands: 95% intervals");
  EXPECT_EQ(note_of(testing::sample_separability(4), "separability"),
            "site: hidden; bars: standard deviation over folds");
  EXPECT_THAT(note_of(testing::sample_blimp(0), "blimp"), HasSubstr("error bars: 95% intervals"));
  EXPECT_THAT(note_of(testing::sample_comparison(4), "comparison"),
              HasSubstr("; error bars: paired 95% intervals; * p"));
  FigureSource geometry = testing::sample_geometry(4);
  EXPECT_EQ(note_of(geometry, "geometry"), "site: hidden") << "there are no intervals";
  for (ResultRow& row : geometry.results.rows) {
    row.set(col::kCiLow, row.number(col::kMean)).set(col::kCiHigh, row.number(col::kMean));
  }
  EXPECT_EQ(note_of(geometry, "geometry"), "site: hidden; bands: 95% intervals");
}

TEST(RecipeTest, FiguresOfOneSiteNameIt) {
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

TEST(RecipeTest, RefusesWhatDoesNotFit) {
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.kind = "router-mean"}),
              HasSubstr("does not show results of entropy (supported: entropy"));
  EXPECT_THAT(figure_refusal({sample_entropy(), sample_router()}), HasSubstr("of the same metric"));
  FigureSource empty = sample_entropy();
  empty.results.rows.clear();
  EXPECT_THAT(figure_refusal({empty}), HasSubstr("contains no rows"));
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.site = {"keys"}}), HasSubstr("values, hidden"));
  FigureSource unknown = sample_entropy();
  unknown.results.metric = "weather";
  EXPECT_THAT(
      figure_refusal({unknown}),
      HasSubstr("(supported: attention, audit, blimp, choices, collapse, cost, counterfactual, "
                "entropy"));
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.layer_base = 2}), HasSubstr("must be 0 or 1"));
  EXPECT_THAT(figure_refusal({sample_entropy()}, {.y_limits = {3.0}}), HasSubstr("two numbers"));
  EXPECT_THAT(figure_refusal({sample_entropy(), sample_entropy()}), HasSubstr("is duplicated"));
}

TEST(RecipeTest, RowsWithoutALabelMakeNoFigure) {
  FigureSource nameless = sample_router(4);
  for (ResultRow& row : nameless.results.rows) row.erase(col::kLabel);
  EXPECT_THAT(figure_refusal({nameless}, {.kind = "router-heads"}),
              HasSubstr("no row has a label and all values that router-heads shows"));
}

TEST(RecipeTest, ComparedResultsStillShowTheirCurves) {
  const Figure figure = make_figure(std::vector<FigureSource>{testing::sample_comparison(4)}, {});
  EXPECT_EQ(std::get<CurvePanel>(figure.panels.at(0).content).curves.size(), 2U);
}

TEST(RecipeTest, RefusesDifferentTextsInOneFigure) {
  FigureSource first = sample_entropy();
  first.results.inputs = {{"llama.h5", "1", "LLaMA", "aaaa"}};
  FigureSource second = first;
  second.results.inputs = {{"lime.h5", "2", "LIMe", "bbbb"}};
  std::erase_if(first.results.rows,
                [](const ResultRow& row) { return row.cell(col::kLabel) == "LIMe"; });
  std::erase_if(second.results.rows,
                [](const ResultRow& row) { return row.cell(col::kLabel) == "LLaMA"; });
  EXPECT_THAT(figure_refusal({first, second}),
              HasSubstr("must be from the same text, 'llama.h5' (LLaMA) and 'lime.h5' (LIMe)"));
  EXPECT_EQ(figure_refusal({first, second}, {.mixed_texts = true}), "");
  second.results.inputs[0].text_sha256 = "aaaa";
  EXPECT_EQ(figure_refusal({first, second}), "");
}

}  // namespace
}  // namespace lime
