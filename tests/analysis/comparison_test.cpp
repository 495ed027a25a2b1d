// SPDX-License-Identifier: Apache-2.0
#include "analysis/engine/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/counting_analysis.h"
#include "analysis/engine/run_analysis.h"
#include "core/errors.h"
#include "metrics/summary.h"
#include "support/refusal.h"

namespace lime {
namespace {

using testing::counting_analysis;
using ::testing::HasSubstr;

std::vector<ResultRow> rows_of_kind(const Results& results, const std::string& kind) {
  std::vector<ResultRow> rows;
  for (const ResultRow& row : results.rows) {
    if (row.text(col::kKind) == kind) rows.push_back(row);
  }
  return rows;
}

Report compare(const CompareOptions& options, int num_layers = 3, int threads = 1) {
  auto counting = counting_analysis(num_layers);
  counting.analysis.compare = options;
  return run_analysis(counting.analysis, {.threads = threads, .seed = 4});
}

std::string refusal(const Analysis& analysis) {
  return testing::refusal_of<InvalidArgument>([&] { run_analysis(analysis, {.threads = 1}); });
}

TEST(CompareOptionTest, GivesTheDifferenceOfEveryLayer) {
  const Report report = compare({.compare = ComparePairs::kFirst});
  const std::vector<ResultRow> rows = rows_of_kind(report.results, "comparison");
  ASSERT_EQ(rows.size(), 3u);
  for (int layer = 0; layer < 3; ++layer) {
    const ResultRow& row = rows[static_cast<std::size_t>(layer)];
    EXPECT_EQ(row.cell(col::kLabel), "b");
    EXPECT_EQ(row.cell(col::kBaseline), "a");
    EXPECT_EQ(row.cell(col::kLayer), layer);
    EXPECT_EQ(row.cell(col::kAlpha), 0.5);
    EXPECT_EQ(row.cell(col::kN), 20);
    // The units' samples differ by the layer index, all 20 equally.
    EXPECT_NEAR(row.number(col::kDifference), layer, 1e-12);
    EXPECT_NEAR(row.number(col::kCiLow), layer, 1e-12);
    EXPECT_EQ(row.number(col::kP), layer == 0 ? 1.0 : 1.0 / 10001.0);
    EXPECT_EQ(row.number(col::kPHolm), layer == 0 ? 1.0 : 3.0 / 10001.0);
  }
  const std::string text = format_report(report, ResultsFormat::kTable);
  EXPECT_THAT(text, HasSubstr("\nb - a: values, alpha 0.5, entropy (20 sequences)\n"));
  EXPECT_THAT(text, HasSubstr("layer  baseline   mean  difference        interval        p"));
}

TEST(CompareOptionTest, DoesNotDependOnThreads) {
  const CompareOptions options{.compare = ComparePairs::kAll, .summary = SummaryOver::kLayers};
  EXPECT_EQ(results_to_csv(compare(options, 5, 1).results),
            results_to_csv(compare(options, 5, 4).results));
}

TEST(CompareOptionTest, AllPairsAreComparedInOneDirection) {
  auto counting = counting_analysis(2);
  for (std::size_t i = 0; i < 2; ++i) {
    Unit third = counting.analysis.units[i];
    third.key.set(col::kLabel, "c");
    counting.analysis.units.push_back(std::move(third));
  }
  counting.analysis.compare.compare = ComparePairs::kAll;
  std::vector<std::string> pairs;
  for (const ResultRow& row :
       rows_of_kind(run_analysis(counting.analysis, {}).results, "comparison")) {
    if (row.cell(col::kLayer) == 0) {
      pairs.push_back(row.text(col::kLabel) + row.text(col::kBaseline));
    }
  }
  EXPECT_THAT(pairs, ::testing::ElementsAre("ba", "ca", "cb"));
}

TEST(CompareOptionTest, RefusesOtherItemsBeforeTheWork) {
  auto counting = counting_analysis(3);
  counting.analysis.compare.compare = ComparePairs::kFirst;
  counting.analysis.units[4].identity = "other sequences";
  EXPECT_EQ(refusal(counting.analysis),
            "compare: 'a' and 'b' contain different sequences, but the comparison is paired; "
            "capture both with the same text and tokenizer, and use the same options");
  EXPECT_EQ(*counting.runs, 0);
}

TEST(CompareOptionTest, RefusesOtherItemsOfMapsAndOfMeansOverLayersBeforeTheWork) {
  auto maps = counting_analysis(1);
  for (Unit& unit : maps.analysis.units) unit.key.set(col::kOtherLabel, unit.key.text(col::kLabel));
  maps.analysis.compare.compare = ComparePairs::kFirst;
  maps.analysis.units[1].identity = "other sequences";
  EXPECT_THAT(refusal(maps.analysis), HasSubstr("'a' and 'b' contain different sequences"));
  EXPECT_EQ(*maps.runs, 0);

  auto means = counting_analysis(1);
  means.analysis.compare = {.compare = ComparePairs::kFirst, .summary = SummaryOver::kLayers};
  means.analysis.units[1].key.set(col::kLayer, 7);
  means.analysis.units[1].identity = "other sequences";
  EXPECT_THAT(refusal(means.analysis), HasSubstr("'a' and 'b' contain different sequences"));
  EXPECT_EQ(*means.runs, 0);
}

TEST(CompareOptionTest, RefusesOtherItemsThatShowAfterTheWork) {
  auto counting = counting_analysis(1);
  counting.analysis.compare.compare = ComparePairs::kFirst;
  counting.analysis.units[1].measure = [](const UnitContext&) {
    UnitResult result;
    result.samples = {{.key = {{col::kAlpha, 0.5}},
                       .quantity = "entropy",
                       .items = "sequences",
                       .values = {1.0, 2.0}}};
    return result;
  };
  EXPECT_THAT(refusal(counting.analysis), HasSubstr("'a' and 'b' contain different sequences"));
}

TEST(CompareOptionTest, RefusesWhatCannotBeCompared) {
  auto counting = counting_analysis(2);
  counting.analysis.compare.compare = ComparePairs::kFirst;
  counting.analysis.units.resize(2);
  EXPECT_EQ(refusal(counting.analysis), "compare: expected at least two captures, got 1");

  counting = counting_analysis(1);
  counting.analysis.compare.compare = ComparePairs::kFirst;
  counting.analysis.units[1].key.set(col::kLayer, 7);
  EXPECT_EQ(refusal(counting.analysis), "compare: the captures have no site and layer in common");
  EXPECT_EQ(*counting.runs, 0);

  counting = counting_analysis(1);
  counting.analysis.compare.compare = ComparePairs::kFirst;
  for (Unit& unit : counting.analysis.units) {
    unit.measure = [](const UnitContext&) { return UnitResult{}; };
  }
  EXPECT_EQ(refusal(counting.analysis), "compare: this metric has no values per item to compare");
  counting.analysis.compare = {.summary = SummaryOver::kLayers};
  EXPECT_EQ(refusal(counting.analysis), "summary: this metric has no values per item to average");
}

TEST(SummaryOptionTest, IsTheMeanOverTheLayersWithBothIntervals) {
  const Report report = compare({.summary = SummaryOver::kLayers}, 4);
  const std::vector<ResultRow> rows = rows_of_kind(report.results, "layer_mean");
  ASSERT_EQ(rows.size(), 2u);
  std::vector<double> layer_means;
  std::vector<double> item_means(20, 0.0);
  const auto counting = counting_analysis(4);
  ThreadPool pool(1);
  for (std::size_t layer = 0; layer < 4; ++layer) {
    const UnitResult unit = counting.analysis.units[4 + layer].measure({pool, {}, {}});
    const std::vector<double>& values = unit.samples[0].values;
    layer_means.push_back(summarize(values).mean);
    for (std::size_t i = 0; i < 20; ++i) item_means[i] += values[i] / 4.0;
  }
  const Summary over_layers = summarize(layer_means, {.seed = 4});
  const Summary over_items = summarize(item_means, {.seed = 4});
  EXPECT_EQ(rows[1].cell(col::kLabel), "b");
  EXPECT_NEAR(rows[1].number(col::kMean), over_layers.mean, 1e-12);
  EXPECT_NEAR(rows[1].number(col::kMean), over_items.mean, 1e-12);
  EXPECT_NEAR(rows[1].number(col::kCiLow), over_layers.ci_low, 1e-12);
  EXPECT_NEAR(rows[1].number(col::kItemsCiHigh), over_items.ci_high, 1e-12);
  EXPECT_EQ(rows[1].cell(col::kLayers), 4);
  EXPECT_EQ(rows[1].cell(col::kN), 20);
}

TEST(SummaryOptionTest, StandsInPlaceOfTheLayersInTables) {
  const Report report =
      compare({.compare = ComparePairs::kFirst, .summary = SummaryOver::kLayers}, 3);
  EXPECT_EQ(report.results.rows.size(), 6u + 2u + 4u);
  const std::string text = format_report(report, ResultsFormat::kTable);
  EXPECT_THAT(text, HasSubstr("model   mean    std"));
  EXPECT_THAT(text, HasSubstr("\n mean "));  // of the comparison over the layers
  const std::string csv = format_report(report, ResultsFormat::kCsv);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 + 4);
  EXPECT_THAT(format_report(report, ResultsFormat::kLatex), HasSubstr("\\begin{tabular}{lrrrrrr}"));
}

}  // namespace
}  // namespace lime
